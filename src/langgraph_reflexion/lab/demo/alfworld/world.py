"""Households, read from transcripts, and rooms in notes."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from langgraph_reflexion.lab.demo.prompt import Prompt, Turn

NAME = r"[a-z]+ \d+"
"""The names of places and things."""

_FACTS = re.compile(r"In the room with (?P<room>[^.:]*) I saw: (?P<facts>[^.]*)(?P<whole>\.(?! ?\.\.)|)")


@dataclass
class Household:
    """The household according to the transcript; `held` is what the model believes it holds."""

    places: list[str]
    at: str = ""
    held: str = ""
    contents: dict[str, list[str]] = field(default_factory=dict)
    closed: set[str] = field(default_factory=set)
    treated: set[str] = field(default_factory=set)
    put_down: dict[str, str] = field(default_factory=dict)
    lamp_lit: bool = False
    picked_up: dict[str, str] = field(default_factory=dict)

    def where(self, kind: str) -> list[tuple[str, str]]:
        """Return the things of a class that were seen, and their places, but for things put down on purpose."""
        return [
            (thing, place)
            for place, things in self.contents.items()
            for thing in things
            if class_of(thing) == kind and thing not in self.put_down
        ]


def read_world(prompt: Prompt) -> Household:
    """Read the transcript: observations, and the claims of its own thoughts."""
    world = Household(places_in(prompt.opening))
    for turn in prompt.turns:
        _read_turn(world, turn)
    return world


def _read_turn(world: Household, turn: Turn) -> None:
    seen = turn.observation
    if seen == "Nothing happens.":
        if turn.action.startswith(("go to ", "go_to ")) and turn.action[6:] in world.places:
            # Places that share a spot cannot be gone to from each other; one stands there already.
            world.at = turn.action[6:]
            world.contents.setdefault(world.at, [])
    elif seen.startswith("You arrive at"):
        world.at = turn.action[6:]
    if claimed := re.search(rf"\bI have ({NAME}) now\b", turn.thought):
        world.held = claimed[1]
    if taken := re.match(rf"You pick up the ({NAME}) from the ({NAME})", seen):
        world.held = taken[1]
        world.picked_up.setdefault(taken[1], taken[2])
        for things in world.contents.values():
            if taken[1] in things:
                things.remove(taken[1])
    elif put := re.match(rf"You (?:move|put) the ({NAME}) (?:to|in/on) the ({NAME})", seen):
        world.held = ""
        world.put_down[put[1]] = put[2]
    elif treated := re.match(rf"You (?:clean|heat|cool) the ({NAME}) using", seen):
        world.treated.add(treated[1])
    elif seen.startswith("You turn on the"):
        world.lamp_lit = True
    for place in re.findall(rf"\b[Tt]he ({NAME}) is closed", seen):
        world.closed.add(place)
    for place in re.findall(rf"\b[Tt]he ({NAME}) is open", seen):
        world.closed.discard(place)
    for where, open_place, things in re.findall(
        rf"(?:On the ({NAME})|[Tt]he ({NAME}) is open\. In it), you see ([^.]*)\.", seen
    ):
        world.contents[where or open_place] = re.findall(NAME, things)


def seen_at_first(world: Household) -> dict[str, list[str]]:
    """Return the classes of things seen at each place before anything was moved."""
    seen = {
        place: [class_of(thing) for thing in things if thing not in world.put_down]
        for place, things in world.contents.items()
    }
    for thing, place in world.picked_up.items():
        seen.setdefault(place, []).append(class_of(thing))
    return seen


def tell_room(places: Sequence[str], seen: Mapping[str, Sequence[str]]) -> str:
    """Describe the contents of a room, and the furniture that identifies it; empty for no contents."""
    things = {place: list(dict.fromkeys(found)) for place, found in seen.items()}
    facts = [f"{place} has {', '.join(found)}" for place, found in things.items() if found]
    empty = [place for place, found in things.items() if not found]
    facts += [f"{', '.join(empty)} had nothing"] if empty else []
    return f"In the room with {_furniture(places)} I saw: {'; '.join(facts)}." if facts else ""


def read_rooms(notes: Sequence[str], places: Sequence[str]) -> dict[str, set[str]]:
    """Return the classes of things by place that notes report of the room with this furniture."""
    things_at: dict[str, set[str]] = {}
    for match in (match for note in notes for match in _FACTS.finditer(note)):
        if match["room"] != _furniture(places):
            continue
        # A note that is too long to be quoted whole ends in the middle of a fact.
        for fact in match["facts"].split("; ")[: None if match["whole"] else -1]:
            where, has, things = fact.partition(" has ")
            for place in re.findall(NAME, where):
                things_at.setdefault(place, set()).update(things.split(", ") if has else ())
    return things_at


def _furniture(places: Sequence[str]) -> str:
    """Return the number of places of each class."""
    sorts = [class_of(place) for place in places]
    return ", ".join(f"{sorts.count(sort)} {sort}" for sort in dict.fromkeys(sorts))


def places_in(opening: str) -> list[str]:
    """Return the places that an opening lists."""
    listed = re.search(r"you see ([^.]*)\.", opening)
    return re.findall(NAME, listed[1]) if listed else []


def class_of(name: str) -> str:
    """Return a name without its number."""
    return name.rpartition(" ")[0]
