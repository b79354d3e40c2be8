"""Memory map of a household, from observations: where things are, what is closed, what is held, what is unexplored.

A reset puts everything back, so that only the first position of each thing lasts into later trials. A thing stays
where it was first seen until the agent takes it, as nobody else moves anything.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langgraph_reflexion.envs.base import MemoryMap, ObservedStep

_NAME = r"[a-z]+ \d+"
_LISTED = re.compile(r"you see (?P<listed>[^.]*)\.")
_ON = re.compile(rf"On the (?P<place>{_NAME}), you see (?P<listed>[^.]*)\.")
_IN = re.compile(rf"[Tt]he (?P<place>{_NAME}) is open\. In it, you see (?P<listed>[^.]*)\.")
_CLOSED = re.compile(rf"[Tt]he (?P<place>{_NAME}) is closed\.")
_OPENS = re.compile(rf"You (?P<how>open|close) the (?P<place>{_NAME})\.")
_TAKES = re.compile(rf"You pick up the (?P<thing>{_NAME}) from the (?P<place>{_NAME})\.")
_PUTS = re.compile(rf"You (?:move|put) the (?P<thing>{_NAME}) (?:to|in/on) the (?P<place>{_NAME})\.")
_CHANGES = re.compile(rf"You (?P<how>clean|heat|cool|sliced|turn on) the (?P<thing>{_NAME})\b")
_CARRIES = re.compile(r"You are carrying: (?P<listed>[^.]*)\.")
_STATES = {"clean": "clean", "heat": "hot", "cool": "cool", "sliced": "sliced", "turn on": "used"}


@dataclass
class Household:
    """What observations have shown of a household.

    Attributes:
        places: The receptacles that the opening lists.
        lay: The first position of each thing.
        looked_into: The places whose first contents are known completely.
        shut: Whether a place was closed at first, for those that can be.
        moved: The current position of things that were taken: a place, or "" for the hand.
        opened: Whether a place is open now, for those opened or closed since the reset.
        states: What was done to things since the reset.
        at: The agent's place; "" if unknown.
    """

    places: list[str] = field(default_factory=list)
    lay: dict[str, str] = field(default_factory=dict)
    looked_into: list[str] = field(default_factory=list)
    shut: dict[str, bool] = field(default_factory=dict)
    moved: dict[str, str] = field(default_factory=dict)
    opened: dict[str, bool] = field(default_factory=dict)
    states: dict[str, list[str]] = field(default_factory=dict)
    at: str = ""

    def see(self, observation: str) -> None:
        """Update the map with one observation."""
        if opens := _OPENS.match(observation):
            place = opens["place"]
            is_open = opens["how"] == "open"
            self.opened[place] = is_open
            # What is opened for the first time was shut, and what is closed was not.
            self.shut.setdefault(place, is_open)
        elif takes := _TAKES.match(observation):
            thing = takes["thing"]
            if thing not in self.moved:
                self.lay[thing] = takes["place"]
            self.moved[thing] = ""
        elif puts := _PUTS.match(observation):
            self.moved[puts["thing"]] = puts["place"]
        elif changes := _CHANGES.match(observation):
            self._becomes(changes["thing"], _STATES[changes["how"]])
        elif carries := _CARRIES.match(observation):
            for thing in _names(carries["listed"]):
                self.moved[thing] = ""
        self._describe(observation)

    def inside(self, place: str) -> list[str]:
        """Return the things known to be at a place now."""
        there = []
        for thing, first in self.lay.items():
            if self.moved.get(thing, first) == place:
                there.append(thing)
        for thing, now in self.moved.items():
            if now == place and thing not in there:
                there.append(thing)
        return there

    def is_open(self, place: str) -> bool:
        """Return whether a place is open now, as far as known, or has no door."""
        was_shut = self.shut.get(place, False)
        return self.opened.get(place, not was_shut)

    @property
    def unopened(self) -> list[str]:
        """The places that were found closed, and never looked into."""
        return [place for place in self.shut if place not in self.looked_into and not self.is_open(place)]

    @property
    def unvisited(self) -> list[str]:
        """The places that the opening lists, and of which nothing else was seen."""
        return [place for place in self.places if place not in self.looked_into and place not in self.shut]

    @property
    def held(self) -> list[str]:
        return [thing for thing, place in self.moved.items() if not place]

    def _describe(self, observation: str) -> None:
        """Note what an observation says of receptacles and their contents."""
        for closed in _CLOSED.finditer(observation):
            self._stand_at(closed["place"], observation)
            self.shut.setdefault(closed["place"], True)
        for seen in _ON.finditer(observation):
            self._see_inside(seen["place"], _names(seen["listed"]), observation)
        for seen in _IN.finditer(observation):
            self._see_inside(seen["place"], _names(seen["listed"]), observation)
            self.shut.setdefault(seen["place"], False)

    def _see_inside(self, place: str, things: list[str], observation: str) -> None:
        """Note that a place holds these things and no others."""
        self._stand_at(place, observation)
        # What a person has written into an observation, or out of it, goes before what was known.
        for known in self.inside(place):
            if known not in things:
                self.lay.pop(known, None)
                self.moved.pop(known, None)
        for thing in things:
            if thing not in self.moved:
                self.lay[thing] = place
        if place not in self.looked_into:
            self.looked_into.append(place)

    def _stand_at(self, place: str, observation: str) -> None:
        # The place in its first words may be "loc 12", which is not a receptacle's name.
        if observation.startswith("You arrive at"):
            self.at = place

    def _becomes(self, thing: str, state: str) -> None:
        replaced = {state}
        # Hot and cool exclude each other.
        if state in ("hot", "cool"):
            replaced = {"hot", "cool"}
        states = [each for each in self.states.get(thing, []) if each not in replaced]
        states.append(state)
        self.states[thing] = states


def build_map(opening: str, steps: Sequence[ObservedStep], known: Mapping[str, Any]) -> MemoryMap:
    """Return the map of a trial; see `SupportsMemoryMap`."""
    house = seen_in(opening, steps, known)
    lasting = {"lay": house.lay, "looked_into": house.looked_into, "shut": house.shut}
    # Before the first step there is nothing to add to the opening.
    if not (house.looked_into or house.shut or house.lay or house.moved):
        return MemoryMap((), lasting)
    return MemoryMap(tuple(_render(house)), lasting)


def seen_in(opening: str, steps: Sequence[ObservedStep], known: Mapping[str, Any]) -> Household:
    """Return what a trial has shown of a household, beside what is known of it from earlier ones."""
    places: list[str] = []
    if listed := _LISTED.search(opening):
        places = _names(listed["listed"])
    house = Household(
        places=places,
        lay=dict(known.get("lay", {})),
        looked_into=list(known.get("looked_into", [])),
        shut=dict(known.get("shut", {})),
    )
    for step in steps:
        house.see(step["observation"])
    return house


def _render(house: Household) -> Iterable[str]:
    in_hand = ", ".join(_with_states(house, house.held)) or "nothing"
    yield f"In hand: {in_hand}."
    if house.at:
        yield f"You stand at: {house.at}."
    put = [f"{thing} at {place}" for thing, place in house.moved.items() if place]
    if put:
        yield f"Put there by you: {', '.join(put)}."
    changed = [thing for thing in house.states if thing not in house.held]
    if changed:
        yield f"Changed by you: {', '.join(_with_states(house, changed))}."
    yield from _render_places(house)
    if house.unopened:
        yield f"Closed and not looked into: {', '.join(house.unopened)}."
    if house.unvisited:
        yield f"Not looked at yet: {', '.join(house.unvisited)}."


def _render_places(house: Household) -> Iterable[str]:
    """Yield a line for each place that holds something, and one for all that are empty."""
    empty = []
    for place in _known_places(house):
        name = place
        if not house.is_open(place):
            name += " (closed)"
        things = house.inside(place)
        if things:
            more = ""
            if place not in house.looked_into:
                more = " (and perhaps more)"
            yield f"{name}: {', '.join(things)}{more}."
        elif place in house.looked_into:
            empty.append(name)
    if empty:
        yield f"Empty: {', '.join(empty)}."


def _known_places(house: Household) -> list[str]:
    """Return the places that were looked into or held something, in the order in which they became known."""
    places = house.looked_into.copy()
    for some in (house.lay, house.moved):
        for place in some.values():
            # The hand is not a place.
            if place and place not in places:
                places.append(place)
    return places


def _with_states(house: Household, things: Iterable[str]) -> list[str]:
    shown = []
    for thing in things:
        if thing in house.states:
            shown.append(f"{thing} ({', '.join(house.states[thing])})")
        else:
            shown.append(thing)
    return shown


def _names(listed: str) -> list[str]:
    return re.findall(_NAME, listed)
