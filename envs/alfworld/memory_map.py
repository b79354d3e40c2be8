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
            self.opened[opens["place"]] = opens["how"] == "open"
            self.shut.setdefault(opens["place"], self.opened[opens["place"]])
        elif takes := _TAKES.match(observation):
            if takes["thing"] not in self.moved:
                self.lay[takes["thing"]] = takes["place"]
            self.moved[takes["thing"]] = ""
        elif puts := _PUTS.match(observation):
            self.moved[puts["thing"]] = puts["place"]
        elif changes := _CHANGES.match(observation):
            self._becomes(changes["thing"], _STATES[changes["how"]])
        elif carries := _CARRIES.match(observation):
            self.moved |= dict.fromkeys(_names(carries["listed"]), "")
        self._describe(observation)

    def inside(self, place: str) -> list[str]:
        """Return the things known to be at a place now."""
        there = [thing for thing, first in self.lay.items() if self.moved.get(thing, first) == place]
        return [*there, *(thing for thing, now in self.moved.items() if now == place and thing not in there)]

    def is_open(self, place: str) -> bool:
        """Return whether a place is open now, as far as known, or has no door."""
        return self.opened.get(place, not self.shut.get(place, False))

    @property
    def held(self) -> list[str]:
        return [thing for thing, place in self.moved.items() if not place]

    def _describe(self, observation: str) -> None:
        for closed in _CLOSED.finditer(observation):
            self._stand_at(closed["place"], observation)
            self.shut.setdefault(closed["place"], True)
        for seen in (*_ON.finditer(observation), *_IN.finditer(observation)):
            place = seen["place"]
            self._stand_at(place, observation)
            if seen.re is _IN:
                self.shut.setdefault(place, False)
            things = _names(seen["listed"])
            # What a person has written into an observation, or out of it, goes before what was known.
            for gone in {*self.inside(place)} - {*things}:
                self.lay.pop(gone, None)
                self.moved.pop(gone, None)
            for thing in things:
                if thing not in self.moved:
                    self.lay[thing] = place
            if place not in self.looked_into:
                self.looked_into.append(place)

    def _stand_at(self, place: str, observation: str) -> None:
        if observation.startswith("You arrive at"):
            self.at = place

    def _becomes(self, thing: str, state: str) -> None:
        # Hot and cool exclude each other.
        kept = [each for each in self.states.get(thing, []) if {each, state} != {"hot", "cool"} and each != state]
        self.states[thing] = [*kept, state]


def build_map(opening: str, steps: Sequence[ObservedStep], known: Mapping[str, Any]) -> MemoryMap:
    """Return the map of a trial; see `Environment.memory_map`."""
    house = Household(
        places=_names(listed["listed"]) if (listed := _LISTED.search(opening)) else [],
        lay=dict(known.get("lay", {})),
        looked_into=list(known.get("looked_into", [])),
        shut=dict(known.get("shut", {})),
    )
    for step in steps:
        house.see(step["observation"])
    lasting = {"lay": house.lay, "looked_into": house.looked_into, "shut": house.shut}
    # Before the first step there is nothing to add to the opening.
    shown = house.looked_into or house.shut or house.lay or house.moved
    return MemoryMap(tuple(_render(house)) if shown else (), lasting)


def _render(house: Household) -> Iterable[str]:
    yield f"In hand: {', '.join(_with_states(house, house.held)) or 'nothing'}."
    if house.at:
        yield f"You stand at: {house.at}."
    put = [f"{thing} at {place}" for thing, place in house.moved.items() if place]
    if put:
        yield f"Put there by you: {', '.join(put)}."
    changed = [thing for thing in house.states if thing not in house.held]
    if changed:
        yield f"Changed by you: {', '.join(_with_states(house, changed))}."
    empty = []
    for place in dict.fromkeys([*house.looked_into, *house.lay.values(), *house.moved.values()]):
        things = house.inside(place) if place else []
        if things:
            more = "" if place in house.looked_into else " (and perhaps more)"
            yield f"{place}{_door(house, place)}: {', '.join(things)}{more}."
        elif place in house.looked_into:
            empty.append(f"{place}{_door(house, place)}")
    if empty:
        yield f"Empty: {', '.join(empty)}."
    closed = [place for place in house.shut if place not in house.looked_into and not house.is_open(place)]
    if closed:
        yield f"Closed and not looked into: {', '.join(closed)}."
    new = [place for place in house.places if place not in house.looked_into and place not in house.shut]
    if new:
        yield f"Not looked at yet: {', '.join(new)}."


def _door(house: Household, place: str) -> str:
    return "" if house.is_open(place) else " (closed)"


def _with_states(house: Household, things: Iterable[str]) -> list[str]:
    return [f"{thing} ({', '.join(house.states[thing])})" if thing in house.states else thing for thing in things]


def _names(listed: str) -> list[str]:
    return re.findall(_NAME, listed)
