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
        # What was taken from which receptacle and not put back there, for `look`.
        self._removed: set[tuple[str, str]] = set()
        self._change()
        return self.world.opening

    def step(self, command: str) -> str:
        """Carry out a command, matched to the letter except for blanks around it."""
        verb, _, rest = command.strip().partition(" ")
        method = _COMMANDS.get(verb)
        if method is None:
            return NOTHING
        observation = method(self, verb, rest)
        if observation is None:
            return NOTHING
        return observation

    def admissible(self) -> list[str]:
        commands = {"look", "inventory"}
        if self.world.release.syntax == "move":
            commands.add("help")
        commands.update(self._departures())
        if self._held:
            commands.update(self._with_held(self._held))
        for receptacle in self._here:
            commands.update(self._at(receptacle))
        return sorted(commands)

    def close(self) -> None:
        """Do nothing: the engine holds no resources."""

    def _change(self, true: Collection[Fact] = (), false: Collection[Fact] = ()) -> None:
        """Make facts false, then others true."""
        self._facts.difference_update(false)
        self._facts.update(true)
        # Found once for each change, as every command asks for them.
        self._held: str | None = None
        for fact in self._facts:
            if fact[0] == "atlocation":
                self._place = fact[2]
            elif fact[0] == "holds":
                self._held = fact[2]
        self._here = self.world.receptacles_at.get(self._place, [])
        self.won = self.world.solved(self._facts)

    def _receptacle_here(self, name: str) -> str | None:
        receptacle = self.world.ids.get(name)
        if receptacle in self._here:
            return receptacle
        return None

    def _holding(self, name: str) -> str | None:
        if self._held and self.world.ids.get(name) == self._held:
            return self._held
        return None

    def _is(self, thing: str, what: str) -> bool:
        if (what, thing) in self._facts:
            return True
        return thing in self.world.having.get(what, ())

    def _accessible(self, receptacle: str) -> bool:
        return not self._is(receptacle, "openable") or self._is(receptacle, "opened")

    def _inside(self, receptacle: str) -> list[str]:
        there = []
        for fact in self._facts:
            if fact[0] == "inreceptacle" and fact[2] == receptacle:
                there.append(fact[1])
        return sorted(there)

    def _lies_here(self, thing: str) -> bool:
        return ("objectatlocation", thing, self._place) in self._facts

    # What observations say of things.

    def _described(self, receptacle: str) -> str:
        name = self.world.names[receptacle]
        if not self._accessible(receptacle):
            return f"The {name} is closed."
        seen = self._listed(self._inside(receptacle))
        if self._is(receptacle, "openable"):
            return f"The {name} is open. In it, you see {seen}."
        return f"On the {name}, you see {seen}."

    def _appearance(self, thing: str, name: str) -> str:
        """Describe what is held."""
        if self._is(thing, "isreceptacleobject"):
            contents = self.world.contents.get(thing, [])
            return f"This is a normal {name}. In it, you see {self._listed(contents)}."
        states = []
        if self._is(thing, "ishot"):
            states.append("hot")
        elif self._is(thing, "iscool"):
            states.append("cool")
        if self._is(thing, "isclean"):
            states.append("clean")
        is_sliced = self._is(thing, "issliced")
        # The original has another word for a thing that is cool and nothing else.
        if states == ["cool"] and not is_sliced:
            return f"This is a cold {name}."
        called = name
        if is_sliced:
            called = f"sliced {name}"
        if states:
            return f"This is a {' and '.join(states)} {called}."
        if self._is(thing, "istoggled"):
            return f"This {name} is on."
        if is_sliced:
            return f"This is a {called}."
        return f"There's nothing special about {name}."

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
        beside = []
        for thing, receptacle in sorted(self._removed):
            if receptacle in self._here and self._lies_here(thing):
                beside.append(thing)
        return f"You are facing the {facing}. Next to it, you see {self._listed(beside)}."

    def _inventory(self, verb: str, rest: str) -> str | None:
        if rest:
            return None
        if not self._held:
            return "You are not carrying anything."
        return f"You are carrying: {self._listed([self._held])}."

    def _help(self, verb: str, rest: str) -> str | None:
        # The grammars with `put` know no `help`.
        if rest or self.world.release.syntax != "move":
            return None
        return HELP

    def _go(self, verb: str, rest: str) -> str | None:
        if not rest.startswith("to "):
            return None
        receptacle = self.world.ids.get(rest.removeprefix("to "))
        # Objects have a name, too, but no place of their own.
        if receptacle is None or receptacle not in self.world.places:
            return None
        place = self.world.places[receptacle]
        if place == self._place:
            return None
        agent = self.world.agent
        self._change(true=[("atlocation", agent, place)], false=[("atlocation", agent, self._place)])
        reached = receptacle
        # Their agents arrive at "loc 12".
        if self.world.release.syntax == "put":
            reached = place
        return f"You arrive at {self.world.names[reached]}. {self._described(receptacle)}"

    def _open(self, verb: str, rest: str) -> str | None:
        receptacle = self._receptacle_here(rest)
        if receptacle is None or self._accessible(receptacle):
            return None
        self._change(true=[("opened", receptacle)])
        return f"You open the {rest}. {self._described(receptacle)}"

    def _close(self, verb: str, rest: str) -> str | None:
        receptacle = self._receptacle_here(rest)
        if receptacle is None:
            return None
        if not self._is(receptacle, "openable") or not self._is(receptacle, "opened"):
            return None
        self._change(false=[("opened", receptacle)])
        return f"You close the {rest}."

    def _examine(self, verb: str, rest: str) -> str | None:
        receptacle = self._receptacle_here(rest)
        if receptacle:
            return self._described(receptacle)
        # The original means to allow visible objects, too, but a slip in its rules prevents it.
        thing = self._holding(rest)
        if thing is None:
            return None
        return self._appearance(thing, rest)

    def _take(self, verb: str, rest: str) -> str | None:
        name, _, where = rest.partition(" from ")
        thing = self.world.ids.get(name)
        receptacle = self._receptacle_here(where)
        if thing is None or receptacle is None:
            return None
        if self._held or not self._is(thing, "pickupable"):
            return None
        inside = ("inreceptacle", thing, receptacle)
        if inside not in self._facts or not self._accessible(receptacle):
            return None
        agent = self.world.agent
        self._removed.add((thing, receptacle))
        self._change(
            true=[("holds", agent, thing), ("holdsany", agent)],
            false=[inside, ("objectatlocation", thing, self._place)],
        )
        return f"You pick up the {name} from the {where}."

    def _put(self, verb: str, rest: str) -> str | None:
        if verb != self.world.release.syntax:
            return None
        name, _, where = rest.partition(_BETWEEN[verb])
        thing = self._holding(name)
        receptacle = self._receptacle_here(where)
        if thing is None or receptacle is None:
            return None
        if not self._accessible(receptacle) or not self.world.fits(thing, receptacle):
            return None
        agent = self.world.agent
        self._removed.discard((thing, receptacle))
        self._change(
            true=[("inreceptacle", thing, receptacle), ("objectatlocation", thing, self._place)],
            false=[("holds", agent, thing), ("holdsany", agent)],
        )
        return f"You {verb} the {name}{_BETWEEN[verb]}the {where}."

    def _treat(self, verb: str, rest: str) -> str | None:
        name, _, where = rest.partition(" with ")
        thing = self._holding(name)
        tool = self._receptacle_here(where)
        if thing is None or tool not in self.world.tools[verb]:
            return None
        if not self._is(thing, TREATMENTS[verb]):
            return None
        if verb == "clean":
            self._change(true=[("isclean", thing)])
        elif verb == "heat":
            self._change(true=[("ishot", thing)], false=[("iscool", thing)])
        else:
            self._change(true=[("iscool", thing)], false=[("ishot", thing)])
        return f"You {verb} the {name} using the {where}."

    def _use(self, verb: str, rest: str) -> str | None:
        thing = self.world.ids.get(rest)
        if thing is None or not self._is(thing, "toggleable"):
            return None
        if not any(("inreceptacle", thing, receptacle) in self._facts for receptacle in self._here):
            return None
        # A second use turns it off, but the original says the same, and counts it as toggled.
        self._change(true=[("istoggled", thing)])
        return f"You turn on the {rest}."

    def _slice(self, verb: str, rest: str) -> str | None:
        name, _, knife = rest.partition(" with ")
        thing = self.world.ids.get(name)
        if thing is None or self._holding(knife) not in self.world.blades:
            return None
        if not self._is(thing, "sliceable") or not self._lies_here(thing):
            return None
        self._change(true=[("issliced", thing)])
        return f"You sliced the {name} with the {knife}."

    # The commands that are possible now.

    def _departures(self) -> Iterator[str]:
        names = self.world.names
        for receptacle, place in self.world.places.items():
            if place != self._place:
                yield f"go to {names[receptacle]}"

    def _with_held(self, held: str) -> Iterator[str]:
        """Yield what can be done with the held thing wherever the agent is."""
        names = self.world.names
        yield f"examine {names[held]}"
        if held not in self.world.blades:
            return
        for thing in self.world.having["sliceable"]:
            if self._lies_here(thing):
                yield f"slice {names[thing]} with {names[held]}"

    def _at(self, receptacle: str) -> Iterator[str]:
        """Yield what can be done at a receptacle here."""
        names = self.world.names
        where = names[receptacle]
        yield f"examine {where}"
        if self._is(receptacle, "openable"):
            if self._is(receptacle, "opened"):
                yield f"close {where}"
            else:
                yield f"open {where}"
        inside = self._inside(receptacle)
        # Unlike `take`, `use` does not ask whether the receptacle is open.
        for thing in inside:
            if self._is(thing, "toggleable"):
                yield f"use {names[thing]}"
        if self._held:
            yield from self._with_held_at(receptacle, self._held)
        elif self._accessible(receptacle):
            for thing in inside:
                if self._is(thing, "pickupable"):
                    yield f"take {names[thing]} from {where}"

    def _with_held_at(self, receptacle: str, held: str) -> Iterator[str]:
        """Yield what can be done with the held thing at a receptacle here."""
        name, where = self.world.names[held], self.world.names[receptacle]
        if self._accessible(receptacle) and self.world.fits(held, receptacle):
            syntax = self.world.release.syntax
            yield f"{syntax} {name}{_BETWEEN[syntax]}{where}"
        for command, needed in TREATMENTS.items():
            if receptacle in self.world.tools[command] and self._is(held, needed):
                yield f"{command} {name} with {where}"


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
