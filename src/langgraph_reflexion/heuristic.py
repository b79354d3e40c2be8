"""The heuristic h of section 4.1 of the paper: when to stop a trial."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from langgraph_reflexion.state import Step, StopReason

HeuristicFunction = Callable[[Sequence[Step]], StopReason | None]
"""Trajectory in; out comes why the trial should stop, or None to go on."""


@dataclass(frozen=True)
class Heuristic:
    """The heuristic h of section 4.1 (preprint: section 2.2): too many cycles alike, or too many actions.

    A cycle may have any number of steps, as the preprint's "repetitive action cycles" may: doing A, B, A, B, ... is
    being caught in a loop as much as A, A, ... is.

    Attributes:
        max_actions: ε. More actions than this are *inefficient planning*: with 30, the 31st is the last one, and may
            still solve the task.
        max_cycles: Ω. More identical cycles than this in a row are a *hallucination*: with 3, the fourth time.
        max_period: How many steps a cycle may have at most; None for any number.
        compare_observations: Whether steps are alike only where their observations are, too.
        count_thoughts: Whether a thought alone counts as an action.
    """

    max_actions: int = 30
    max_cycles: int = 3
    max_period: int | None = None
    compare_observations: bool = True
    count_thoughts: bool = False

    def __call__(self, trajectory: Sequence[Step]) -> StopReason | None:
        """Why the trial should stop now, or None."""
        steps = [self._key(step) for step in trajectory if step["action"] is not None or self.count_thoughts]
        repeats = self.max_cycles + 1
        longest = len(steps) // repeats
        for period in range(1, min(longest, self.max_period or longest) + 1):
            last = steps[-period * repeats :]
            if last[period:] == last[:-period]:
                return "hallucination"
        return "inefficient planning" if len(steps) > self.max_actions else None

    def _key(self, step: Step) -> tuple[object, str]:
        action = step["action"]
        if action is None:
            done: object = step["thought"]
        else:
            done = (action["name"], action["args"]) if action["name"] else action["text"]
        return done, step["observation"] if self.compare_observations else ""
