"""Answers that a check of code has rejected in a task: none of them has to be evaluated again."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from langgraph_reflexion.envs.base import Action, Environment, Task
from langgraph_reflexion.envs.protocols import SupportsFinalAnswer
from langgraph_reflexion.state import ReflexionState

HIGHER = (0.7, 1.0)
"""The temperatures at which a rejected answer is sampled again, one after the other; the model's own if that is
higher, and 1.0 if the model has none of its own."""


@dataclass(frozen=True)
class RejectedAnswers:
    """The rejected answers of a task, which the state keeps as digests (`rejected`).

    Args:
        environment: Says what an action hands in.
    """

    environment: Environment

    def has(self, state: ReflexionState, action: Action | None) -> bool:
        """Return whether an action hands in an answer that was rejected in an earlier trial."""
        if action is None:
            return False
        digest = self._digest(state["task"], action)
        return digest is not None and digest in state.get("rejected", [])

    def with_answer(self, state: ReflexionState, actions: Sequence[Action]) -> list[str]:
        """Return the rejected answers with the one that these actions have handed in, if they have."""
        rejected = list(state.get("rejected", []))
        for action in actions:
            digest = self._digest(state["task"], action)
            if digest is None:
                continue
            if digest not in rejected:
                rejected.append(digest)
            # A trial has one answer: the first.
            break
        return rejected

    def _digest(self, task: Task, action: Action) -> str | None:
        """Return what tells the answer of an action from others; None if it hands in none."""
        if not isinstance(self.environment, SupportsFinalAnswer):
            return None
        answer = self.environment.final_answer(task, action)
        if answer is None:
            return None
        return hashlib.blake2b(answer.encode("utf-8", "replace"), digest_size=8).hexdigest()
