"""The native engine: ALFWorld's text games in plain Python, equal to the original to the character.

Comments mark the oddities of the original, which are reproduced on purpose.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from langgraph_reflexion.envs.alfworld.engine import NOTHING
from langgraph_reflexion.envs.alfworld.pddl import Fact
from langgraph_reflexion.envs.alfworld.releases import HELP
from langgraph_reflexion.envs.alfworld.world import TREATMENTS, World, listing

_BETWEEN = {"move": " to ", "put": " in/on "}


class NativeEngine:
    """A live game; see `Engine`. Engines of one world may run in many threads, but each only in one at a time."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.won: bool
        self.reset()

    def reset(self) -> str:
        self._facts = set(self.world.start)
        self._removed: set[tuple[str, str]] = set()
        self._change()
        return self.world.opening

    def step(self, command: str) -> str:
        """Carry out a command, matched to the letter except for blanks around it."""
        verb, _, rest = command.strip().partition(" ")
        method = _COMMANDS.get(verb)
        observation = method(self, verb, rest) if method else None
        return NOTHING if observation is None else observation

    def admissible(self) -> list[str]:
        return sorted(set(self._possible()))

    def close(self) -> None:
        """Do nothing: the engine holds no resources."""

    def _change(self, true: Collection[Fact] = (), false: Collection[Fact] = ()) -> None:
        """Make facts false, then others true."""
        self._facts.difference_update(false)
        self._facts.update(true)
        self._place = next(fact[2] for fact in self._facts if fact[0] == "atlocation")
        self._held = next((fact[2] for fact in self._facts if fact[0] == "holds"), None)
        self._here = self.world.receptacles_at.get(self._place, [])
        self.won = self.world.solved(self._facts)

    def _receptacle_here(self, name: str) -> str | None:
        receptacle = self.world.ids.get(name)
        return receptacle if receptacle in self._here else None

    def _holding(self, name: str) -> str | None:
        return self._held if self._held and self.world.ids.get(name) == self._held else None

    def _is(self, thing: str, what: str) -> bool:
        return (what, thing) in self._facts or thing in self.world.having.get(what, ())

    def _accessible(self, receptacle: str) -> bool:
        return not self._is(receptacle, "openable") or self._is(receptacle, "opened")

    def _inside(self, receptacle: str) -> list[str]:
        return sorted(fact[1] for fact in self._facts if fact[0] == "inreceptacle" and fact[2] == receptacle)

    def _lies_here(self, thing: str) -> bool:
        return ("objectatlocation", thing, self._place) in self._facts

    def _described(self, receptacle: str) -> str:
        name = self.world.names[receptacle]
        if not self._accessible(receptacle):
            return f"The {name} is closed."
        how = f"The {name} is open. In it" if self._is(receptacle, "openable") else f"On the {name}"
        return f"{how}, you see {self._listed(self._inside(receptacle))}."

    def _listed(self, things: Collection[str]) -> str:
        return listing(f"a {self.world.names[thing]}" for thing in things)

    # Each command returns its observation, or None if it is not possible now.

    def _look(self, verb: str, rest: str) -> str | None:
        if rest:
            return None
        if not self._here:
            # Only the opening text lists the receptacles of the room; here the original lists those in its middle.
            return "You are in the middle of a room. Looking quickly around you, you see nothing."
        facing = listing(self.world.names[receptacle] for receptacle in self._here)
        # "Next to it" lies only what was taken from one receptacle here and set down in another one here; the
        # original takes everything else at a place to be in the receptacle there.
        beside = [thing for thing, r in sorted(self._removed) if r in self._here and self._lies_here(thing)]
        return f"You are facing the {facing}. Next to it, you see {self._listed(beside)}."

    def _inventory(self, verb: str, rest: str) -> str | None:
        if rest:
            return None
        return f"You are carrying: {self._listed([self._held])}." if self._held else "You are not carrying anything."

    def _help(self, verb: str, rest: str) -> str | None:
        return HELP if not rest and self.world.release.syntax == "move" else None

    def _go(self, verb: str, rest: str) -> str | None:
        receptacle = self.world.ids.get(rest.removeprefix("to ")) if rest.startswith("to ") else None
        place = self.world.places.get(receptacle or "", self._place)
        if receptacle is None or place == self._place:
            return None
        self._change([("atlocation", self.world.agent, place)], [("atlocation", self.world.agent, self._place)])
        reached = receptacle if self.world.release.syntax == "move" else place
        return f"You arrive at {self.world.names[reached]}. {self._described(receptacle)}"

    def _open(self, verb: str, rest: str) -> str | None:
        receptacle = self._receptacle_here(rest)
        if receptacle is None or self._accessible(receptacle):
            return None
        self._change([("opened", receptacle)])
        return f"You open the {rest}. {self._described(receptacle)}"

    def _close(self, verb: str, rest: str) -> str | None:
        receptacle = self._receptacle_here(rest)
        if receptacle is None or not (self._is(receptacle, "openable") and self._is(receptacle, "opened")):
            return None
        self._change(false=[("opened", receptacle)])
        return f"You close the {rest}."

    def _examine(self, verb: str, rest: str) -> str | None:
        if receptacle := self._receptacle_here(rest):
            return self._described(receptacle)
        # The original means to allow visible objects, too, but a slip in its rules prevents it.
        thing = self._holding(rest)
        if thing is None:
            return None
        if self._is(thing, "isreceptacleobject"):
            return f"This is a normal {rest}. In it, you see {self._listed(self.world.contents.get(thing, []))}."
        sliced = "sliced " if self._is(thing, "issliced") else ""
        heat = "hot" if self._is(thing, "ishot") else "cool" if self._is(thing, "iscool") else ""
        states = " and ".join(filter(None, [heat, "clean" if self._is(thing, "isclean") else ""]))
        if states:
            return f"This is a {'cold' if states == 'cool' and not sliced else states} {sliced}{rest}."
        if self._is(thing, "istoggled"):
            return f"This {rest} is on."
        return f"This is a sliced {rest}." if sliced else f"There's nothing special about {rest}."

    def _take(self, verb: str, rest: str) -> str | None:
        name, _, where = rest.partition(" from ")
        thing, receptacle = self.world.ids.get(name), self._receptacle_here(where)
        if thing is None or receptacle is None or self._held or not self._is(thing, "pickupable"):
            return None
        inside = ("inreceptacle", thing, receptacle)
        if inside not in self._facts or not self._accessible(receptacle):
            return None
        agent = self.world.agent
        self._removed.add((thing, receptacle))
        self._change(
            [("holds", agent, thing), ("holdsany", agent)], [inside, ("objectatlocation", thing, self._place)]
        )
        return f"You pick up the {name} from the {where}."

    def _put(self, verb: str, rest: str) -> str | None:
        if verb != self.world.release.syntax:
            return None
        name, _, where = rest.partition(_BETWEEN[verb])
        thing, receptacle = self._holding(name), self._receptacle_here(where)
        if thing is None or receptacle is None:
            return None
        if not (self._accessible(receptacle) and self.world.fits(thing, receptacle)):
            return None
        agent = self.world.agent
        self._removed.discard((thing, receptacle))
        self._change(
            [("inreceptacle", thing, receptacle), ("objectatlocation", thing, self._place)],
            [("holds", agent, thing), ("holdsany", agent)],
        )
        return f"You {verb} the {name}{_BETWEEN[verb]}the {where}."

    def _treat(self, verb: str, rest: str) -> str | None:
        name, _, where = rest.partition(" with ")
        thing, tool = self._holding(name), self._receptacle_here(where)
        if thing is None or tool not in self.world.tools[verb] or not self._is(thing, TREATMENTS[verb]):
            return None
        if verb == "clean":
            self._change([("isclean", thing)])
        elif verb == "heat":
            self._change([("ishot", thing)], [("iscool", thing)])
        else:
            self._change([("iscool", thing)], [("ishot", thing)])
        return f"You {verb} the {name} using the {where}."

    def _use(self, verb: str, rest: str) -> str | None:
        thing = self.world.ids.get(rest, "")
        if not self._is(thing, "toggleable"):
            return None
        if not any(("inreceptacle", thing, receptacle) in self._facts for receptacle in self._here):
            return None
        # A second use turns it off, but the original says the same, and counts it as toggled.
        self._change([("istoggled", thing)])
        return f"You turn on the {rest}."

    def _slice(self, verb: str, rest: str) -> str | None:
        name, _, knife = rest.partition(" with ")
        thing, blade = self.world.ids.get(name, ""), self._holding(knife)
        if blade not in self.world.blades or not (self._is(thing, "sliceable") and self._lies_here(thing)):
            return None
        self._change([("issliced", thing)])
        return f"You sliced the {name} with the {knife}."

    def _possible(self) -> Iterator[str]:
        names, syntax, held = self.world.names, self.world.release.syntax, self._held
        yield from ("look", "inventory", "help") if syntax == "move" else ("look", "inventory")
        for receptacle, place in self.world.places.items():
            if place != self._place:
                yield f"go to {names[receptacle]}"
        if held:
            yield f"examine {names[held]}"
        if held in self.world.blades:
            for thing in filter(self._lies_here, self.world.having["sliceable"]):
                yield f"slice {names[thing]} with {names[held]}"
        for receptacle in self._here:
            where, inside = names[receptacle], self._inside(receptacle)
            yield f"examine {where}"
            if self._is(receptacle, "openable"):
                yield f"{'close' if self._is(receptacle, 'opened') else 'open'} {where}"
            yield from (f"use {names[thing]}" for thing in inside if self._is(thing, "toggleable"))
            if held is None:
                takeable = [thing for thing in inside if self._is(thing, "pickupable")]
                yield from (f"take {names[t]} from {where}" for t in takeable if self._accessible(receptacle))
                continue
            if self._accessible(receptacle) and self.world.fits(held, receptacle):
                yield f"{syntax} {names[held]}{_BETWEEN[syntax]}{where}"
            for command, property_ in TREATMENTS.items():
                if receptacle in self.world.tools[command] and self._is(held, property_):
                    yield f"{command} {names[held]} with {where}"


_COMMANDS: dict[str, Callable[[NativeEngine, str, str], str | None]] = {
    "look": NativeEngine._look,
    "inventory": NativeEngine._inventory,
    "help": NativeEngine._help,
    "go": NativeEngine._go,
    "open": NativeEngine._open,
    "close": NativeEngine._close,
    "examine": NativeEngine._examine,
    "take": NativeEngine._take,
    "move": NativeEngine._put,
    "put": NativeEngine._put,
    "clean": NativeEngine._treat,
    "heat": NativeEngine._treat,
    "cool": NativeEngine._treat,
    "use": NativeEngine._use,
    "slice": NativeEngine._slice,
}
