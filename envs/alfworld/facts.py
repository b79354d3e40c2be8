"""What is certain about a failed household task: what was never seen, picked up, visited or opened."""

import re
from collections.abc import Sequence

from langgraph_reflexion.envs.alfworld.engine import NOTHING
from langgraph_reflexion.envs.alfworld.memory_map import seen_in
from langgraph_reflexion.envs.base import ObservedStep
from langgraph_reflexion.support.text import listed

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


def missed_in(opening: str, steps: Sequence[ObservedStep]) -> list[str]:
    """Return which places were never visited or opened in a trial, and how many of its actions did nothing.

    Args:
        opening: The first observation, which lists the places.
        steps: The trial's steps.
    """
    facts: list[str] = []
    house = seen_in(opening, steps, {})
    if house.unvisited:
        facts.append(f"Never visited: {listed(house.unvisited)}.")
    if house.unopened:
        facts.append(f"Found closed, and never opened: {listed(house.unopened)}.")
    in_vain: list[str] = []
    for step in steps:
        action = step["action"]
        if action and step["observation"] == NOTHING:
            in_vain.append(action["text"])
    if in_vain:
        facts.append(f'"{NOTHING}" was the answer to {len(in_vain)} actions, such as "{in_vain[-1]}".')
    return facts
