"""The heuristic h of section 4.1 of the paper: when to stop a trial."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pydantic import PositiveInt

from langgraph_reflexion.envs.base import Action
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
        steps = self._compared(trajectory)
        if self._repeats(steps):
            return "hallucination"
        if len(steps) > self.max_actions:
            return "inefficient planning"
        return None

    def _compared(self, trajectory: Sequence[Step]) -> list[tuple[object, str]]:
        """Return the steps that count, each as what makes it identical to another."""
        steps = []
        for step in trajectory:
            action = step["action"]
            observation = ""
            if self.compare_observations:
                observation = step["observation"]
            if action is not None:
                steps.append((done_in(action), observation))
            elif self.count_thoughts:
                steps.append((step["thought"], observation))
        return steps

    def _repeats(self, steps: Sequence[object]) -> bool:
        """Return whether the last steps are more than `max_cycles` identical cycles."""
        cycles = self.max_cycles + 1
        longest = len(steps) // cycles
        if self.max_period is not None:
            longest = min(longest, self.max_period)
        for period in range(1, longest + 1):
            last = steps[-period * cycles :]
            # The cycles are identical if each step equals the one a period earlier.
            if last[period:] == last[:-period]:
                return True
        return False


def done_in(action: Action) -> object:
    """Return what tells an action from others: its name and arguments, or the text of an invalid one."""
    if action["name"]:
        return action["name"], action["args"]
    return action["text"]
