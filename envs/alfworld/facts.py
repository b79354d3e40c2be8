"""What is certain about a failed household task: whether the thing that it names was ever seen, and picked up."""

import re
from collections.abc import Sequence

from langgraph_reflexion.envs.base import ObservedStep

_THING = re.compile(
    r"\b(?:an?|the|some|two|at) (?:(?:clean|hot|warm|cool|cold|of|the|an?|pieces?) )*(?P<thing>[a-z]+)", re.IGNORECASE
)
"""The first thing that a goal names, such as the mug in "put a hot mug in the cabinet"."""


def facts_of(goal: str, steps: Sequence[ObservedStep]) -> list[str]:
    """Return what is certain about the thing that a goal names first; nothing if it names none.

    Args:
        goal: The goal, such as "put two mugs in the cabinet."
        steps: The trial's steps.
    """
    named = _THING.search(goal)
    if named is None:
        return []
    # Goals name two things now in the plural and now in the singular.
    thing = named["thing"].lower().removesuffix("s")
    # Things have numbers, as in "mug 1".
    one_of_them = rf"{re.escape(thing)}s? \d+"
    observations = [step["observation"] for step in steps]
    if not any(re.search(rf"\b{one_of_them}\b", text) for text in observations):
        return [f"No observation named any {thing}, which the goal needs."]
    if not any(re.match(rf"You pick up the {one_of_them}\b", text) for text in observations):
        return [f"At least one {thing} was seen, but none was picked up."]
    return []
