"""The heuristic h of section 4.1 of the paper: when to stop a trial."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pydantic import PositiveInt

from langgraph_reflexion.errors import checked
from langgraph_reflexion.state import Step, StopReason

HeuristicFunction = Callable[[Sequence[Step]], StopReason | None]
"""Takes the trajectory; returns why the trial should stop, or None."""


@checked
@dataclass(frozen=True)
class Heuristic:
    """The heuristic h of section 4.1 (preprint: section 2.2): too many identical cycles, or too many actions.

    Attributes:
        max_actions: ε. More actions are *inefficient planning*: with 30, the 31st is the last, and may yet succeed.
        max_cycles: Ω. More identical cycles in a row are a *hallucination*: with 3, the fourth time.
        max_period: The steps that a cycle may have, such as 2 for A, B, A, B, ...; None for any number.
        compare_observations: Whether steps are identical only if their observations are, too.
        count_thoughts: Whether a thought alone counts as an action. If so, thoughts may follow one another.
    """

    max_actions: PositiveInt = 30
    max_cycles: PositiveInt = 3
    max_period: PositiveInt | None = None
    compare_observations: bool = True
    count_thoughts: bool = False

    def __call__(self, trajectory: Sequence[Step]) -> StopReason | None:
        steps = [self._key(step) for step in trajectory if step["action"] is not None or self.count_thoughts]
        longest = len(steps) // (self.max_cycles + 1)
        for period in range(1, min(longest, self.max_period or longest) + 1):
            last = steps[-period * (self.max_cycles + 1) :]
            if last[period:] == last[:-period]:
                return "hallucination"
        return "inefficient planning" if len(steps) > self.max_actions else None

    def _key(self, step: Step) -> tuple[object, str]:
        done: object = step["thought"]
        if (action := step["action"]) is not None:
            done = (action["name"], action["args"]) if action["name"] else action["text"]
        return done, step["observation"] if self.compare_observations else ""
