"""Households, read from transcripts, and rooms in notes."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from langgraph_reflexion.lab.demo.prompt import ParsedPrompt, Turn

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
        found: list[tuple[str, str]] = []
        for place, things in self.contents.items():
            for thing in things:
                if class_of(thing) == kind and thing not in self.put_down:
                    found.append((thing, place))
        return found


def read_world(prompt: ParsedPrompt) -> Household:
    """Read the transcript: observations, and the claims of its own thoughts."""
    world = Household(places_in(prompt.opening))
    for turn in prompt.turns:
        _read_turn(world, turn)
    return world


def _read_turn(world: Household, turn: Turn) -> None:
    """Read one step into the household."""
    _read_place(world, turn)
    # What the model believes to hold comes before what the answer says of it.
    claimed = re.search(rf"\bI have ({NAME}) now\b", turn.thought)
    if claimed:
        world.held = claimed[1]
    _read_change(world, turn.observation)
    _read_contents(world, turn.observation)


def _read_place(world: Household, turn: Turn) -> None:
    """Read where the agent stands."""
    destination = turn.action[6:]
    if turn.observation.startswith("You arrive at"):
        world.at = destination
        return
    goes = turn.action.startswith(("go to ", "go_to "))
    if turn.observation == "Nothing happens." and goes and destination in world.places:
        # Places that share a spot cannot be gone to from each other; one stands there already.
        world.at = destination
        world.contents.setdefault(destination, [])


def _read_change(world: Household, seen: str) -> None:
    """Read what an action has changed."""
    taken = re.match(rf"You pick up the ({NAME}) from the ({NAME})", seen)
    if taken:
        _take(world, taken[1], taken[2])
    put = re.match(rf"You (?:move|put) the ({NAME}) (?:to|in/on) the ({NAME})", seen)
    if put:
        world.held = ""
        world.put_down[put[1]] = put[2]
    treated = re.match(rf"You (?:clean|heat|cool) the ({NAME}) using", seen)
    if treated:
        world.treated.add(treated[1])
    if seen.startswith("You turn on the"):
        world.lamp_lit = True


def _take(world: Household, thing: str, place: str) -> None:
    """Have a thing in hand instead of at its place."""
    world.held = thing
    world.picked_up.setdefault(thing, place)
    for things in world.contents.values():
        if thing in things:
            things.remove(thing)


def _read_contents(world: Household, seen: str) -> None:
    """Read which places are open, and what is in or on them."""
    closed = re.findall(rf"\b[Tt]he ({NAME}) is closed", seen)
    opened = re.findall(rf"\b[Tt]he ({NAME}) is open", seen)
    world.closed.update(closed)
    world.closed.difference_update(opened)
    on_or_in = rf"(?:On the ({NAME})|[Tt]he ({NAME}) is open\. In it), you see ([^.]*)\."
    for on, inside, things in re.findall(on_or_in, seen):
        place = on or inside
        world.contents[place] = re.findall(NAME, things)


def seen_at_first(world: Household) -> dict[str, list[str]]:
    """Return the classes of things seen at each place before anything was moved."""
    seen: dict[str, list[str]] = {}
    for place, things in world.contents.items():
        first = [thing for thing in things if thing not in world.put_down]
        seen[place] = [class_of(thing) for thing in first]
    for thing, place in world.picked_up.items():
        seen.setdefault(place, []).append(class_of(thing))
    return seen


def tell_room(places: Sequence[str], seen: Mapping[str, Sequence[str]]) -> str:
    """Describe the contents of a room, and the furniture that identifies it; empty for no contents."""
    facts = []
    empty = []
    for place, found in seen.items():
        things = ", ".join(dict.fromkeys(found))
        if things:
            facts.append(f"{place} has {things}")
        else:
            empty.append(place)
    if empty:
        places_without = ", ".join(empty)
        facts.append(f"{places_without} had nothing")
    if not facts:
        return ""
    told = "; ".join(facts)
    return f"In the room with {_furniture(places)} I saw: {told}."


def read_rooms(notes: Sequence[str], places: Sequence[str]) -> dict[str, set[str]]:
    """Return the classes of things by place that notes report of the room with this furniture."""
    room = _furniture(places)
    things_at: dict[str, set[str]] = {}
    for note in notes:
        for told in _FACTS.finditer(note):
            if told["room"] == room:
                _add_facts(things_at, told)
    return things_at


def _add_facts(things_at: dict[str, set[str]], told: re.Match[str]) -> None:
    """Add what a note says of a room to what is known of it."""
    facts = told["facts"].split("; ")
    if not told["whole"]:
        # A note that is too long to be quoted whole ends in the middle of a fact.
        facts.pop()
    for fact in facts:
        where, has, things = fact.partition(" has ")
        for place in re.findall(NAME, where):
            known = things_at.setdefault(place, set())
            if has:
                known.update(things.split(", "))


def _furniture(places: Sequence[str]) -> str:
    """Return the number of places of each class."""
    numbers = Counter(class_of(place) for place in places)
    return ", ".join(f"{number} {sort}" for sort, number in numbers.items())


def places_in(opening: str) -> list[str]:
    """Return the places that an opening lists."""
    listed = re.search(r"you see ([^.]*)\.", opening)
    if not listed:
        return []
    return re.findall(NAME, listed[1])


def class_of(name: str) -> str:
    """Return a name without its number."""
    return name.rpartition(" ")[0]
