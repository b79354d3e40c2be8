"""What belongs to a trial: its model or agent, of a list with one for each, and the steps that it goes on from."""

from collections.abc import Sequence
from typing import TypeVar

from langgraph_reflexion.state import ReflexionState, Step

T = TypeVar("T")


def of_trial(given: Sequence[T], trial: int) -> T:
    """Return the element of a trial, counted from 1."""
    place = min(trial, len(given)) - 1
    # A trial that has not begun is 0.
    return given[max(place, 0)]


def steps_so_far(state: ReflexionState) -> list[Step]:
    """Return the steps of the current trial, after those of the trials that it continues."""
    steps: list[Step] = []
    for trial in state.get("continued", []):
        steps += trial["steps"]
    return [*steps, *state["trajectory"]]
