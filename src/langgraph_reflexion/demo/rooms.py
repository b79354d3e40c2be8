"""What the demo model makes of a household: what it sees in this trial, and what notes say of a room like it.

A room is known again by its furniture, as the opening lists it. There are no other signs of it in the texts.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from langgraph_reflexion.demo.transcript import Prompt, Turn

NAME = r"[a-z]+ \d+"
"""What places and things are called."""

_FACTS = re.compile(r"In the room with (?P<room>[^.:]*) I saw: (?P<facts>[^.]*)(?P<whole>\.(?! ?\.\.)|)")


@dataclass
class World:
    """What the model makes of the transcript. `held` is what it thinks it holds."""

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
        """The things of a kind that were seen, and where: those that were put down on purpose excluded."""
        return [
            (thing, place)
            for place, things in self.contents.items()
            for thing in things
            if class_of(thing) == kind and thing not in self.put_down
        ]


def read_world(prompt: Prompt) -> World:
    """Read the transcript: what the observations say, and what its own thoughts claim."""
    world = World(places_in(prompt.opening))
    for turn in prompt.turns:
        _read_turn(world, turn)
    return world


def _read_turn(world: World, turn: Turn) -> None:
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
        _remove(world, taken[1])
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


def _remove(world: World, thing: str) -> None:
    for things in world.contents.values():
        if thing in things:
            things.remove(thing)


def seen_at_first(world: World) -> dict[str, list[str]]:
    """What lay where before anything was moved, as far as it was seen: the classes of things by place."""
    seen = {
        place: [class_of(thing) for thing in things if thing not in world.put_down]
        for place, things in world.contents.items()
    }
    for thing, place in world.picked_up.items():
        seen.setdefault(place, []).append(class_of(thing))
    return seen


def tell_room(places: Sequence[str], seen: Mapping[str, Sequence[str]]) -> str:
    """What was seen of a room, in a sentence that says which room it was; empty where nothing was.

    Args:
        places: Its places.
        seen: The classes of things by place.
    """
    things = {place: list(dict.fromkeys(found)) for place, found in seen.items()}
    facts = [f"{place} has {', '.join(found)}" for place, found in things.items() if found]
    empty = [place for place, found in things.items() if not found]
    facts += [f"{', '.join(empty)} had nothing"] if empty else []
    return f"In the room with {_furniture(places)} I saw: {'; '.join(facts)}." if facts else ""


def read_rooms(notes: Sequence[str], places: Sequence[str]) -> dict[str, set[str]]:
    """What notes say of the room with this furniture: the classes of things by place."""
    told: dict[str, set[str]] = {}
    for match in (match for note in notes for match in _FACTS.finditer(note)):
        if match["room"] != _furniture(places):
            continue
        # A note that is too long to be quoted whole ends in the middle of a fact.
        for fact in match["facts"].split("; ")[: None if match["whole"] else -1]:
            where, has, things = fact.partition(" has ")
            for place in re.findall(NAME, where):
                told.setdefault(place, set()).update(things.split(", ") if has else ())
    return told


def _furniture(places: Sequence[str]) -> str:
    """What a room is known by: how many there are of each sort of furniture."""
    sorts = [class_of(place) for place in places]
    return ", ".join(f"{sorts.count(sort)} {sort}" for sort in dict.fromkeys(sorts))


def places_in(opening: str) -> list[str]:
    """The places that an opening lists."""
    listed = re.search(r"you see ([^.]*)\.", opening)
    return re.findall(NAME, listed[1]) if listed else []


def class_of(name: str) -> str:
    """A name without its number."""
    return name.rpartition(" ")[0]
