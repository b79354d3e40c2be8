"""The native engine: ALFWorld's text games in plain Python, equal to the original to the character.

Here is what commands need and do, and what is said of it; `state` has what they change, `world` what they do
not. A command is looked up by its words, and only its own conditions are checked: listing all that is
possible is left to those who ask.

Where the original does something odd, the comment says so; it is done here in the same way on purpose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

from langgraph_reflexion.envs.alfworld.dialect import UnknownDialectError, dialect_of
from langgraph_reflexion.envs.alfworld.engine import Game
from langgraph_reflexion.envs.alfworld.pddl import UnreadableError
from langgraph_reflexion.envs.alfworld.state import State
from langgraph_reflexion.envs.alfworld.world import TREATMENTS, World, listing
from langgraph_reflexion.errors import EnvironmentUnavailable

__all__ = ["NativeEngine", "World", "unknown_dialect"]

NOTHING = "Nothing happens."


@lru_cache(256)
def unknown_dialect(game: Game) -> str | None:
    """Say where a game's rules or wording are not what the native engine knows; None where they are.

    Args:
        game: Any game. Those that come without a domain and a grammar use ALFWorld's own.

    Raises:
        EnvironmentUnavailable: its domain or its grammar cannot be read at all.
    """
    try:
        dialect_of(game)
    except UnknownDialectError as error:
        return str(error)
    except UnreadableError as error:
        raise EnvironmentUnavailable(f"{game.source or game.id} cannot be used: {error}") from error
    return None


class NativeEngine(State):
    """A live game. Not to be used by two threads at once; engines of one world in many threads are fine."""

    __slots__ = ()

    def reset(self) -> str:
        """Go back to the initial state; the opening text."""
        self._start()
        return self.world.opening

    def step(self, command: str) -> str:
        """Carry out a command.

        Args:
            command: One of the admissible commands, to the letter; only blanks around it are of no account.

        Returns:
            What is seen of it: "Nothing happens." where the command is not possible now.
        """
        verb, _, rest = command.strip().partition(" ")
        do = _COMMANDS.get(verb)
        seen = do(self, verb, rest) if do else None
        return NOTHING if seen is None else seen

    def admissible(self) -> list[str]:
        """The commands that are possible now, sorted."""
        return sorted(set(self._possible()))

    def close(self) -> None:
        """Nothing is held."""

    def _described(self, receptacle: str) -> str:
        names = self.world.names
        name = names[receptacle]
        if receptacle not in self.world.openable:
            how = f"On the {name}"
        elif ("opened", receptacle) in self._facts:
            how = f"The {name} is open. In it"
        else:
            return f"The {name} is closed."
        # What is in itself, which a file may say, is not listed.
        inside = self._inside.get(receptacle, ())
        contents = listing(["a " + names[thing] for thing in inside if thing != receptacle])
        return f"{how}, you see {contents}."

    # The commands: each gives what is seen of it, or None where it is not possible

    def _look(self, verb: str, rest: str) -> str | None:
        if rest:
            return None
        world, here = self.world, self._here()
        if not here:
            # The list of receptacles is only in the opening text: this one is of those in the middle of the
            # room.
            return "You are in the middle of a room. Looking quickly around you, you see nothing."
        facing = listing(world.names[receptacle] for receptacle in here)
        # What "lies next to it" was taken from a receptacle here and set down in another one here; otherwise,
        # the original takes everything at a place to be in the receptacle there.
        order = world.order
        beside = sorted(
            ((thing, r) for thing, r in self._taken_from if r in here and thing != r and self._lies_here(thing)),
            key=lambda pair: (order[pair[0]], order[pair[1]]),
        )
        found = listing(f"a {world.names[thing]}" for thing, _ in beside)
        return f"You are facing the {facing}. Next to it, you see {found}."

    def _inventory(self, verb: str, rest: str) -> str | None:
        if rest:
            return None
        if ("holdsany", self.world.agent) not in self._facts:
            return "You are not carrying anything."
        return f"You are carrying: {listing(f'a {self.world.names[thing]}' for thing in self._held)}."

    def _help(self, verb: str, rest: str) -> str | None:
        return None if rest else self.world.dialect.help

    def _go(self, verb: str, rest: str) -> str | None:
        world = self.world
        receptacle = world.ids.get(rest[3:]) if rest.startswith("to ") else None
        place = next((place for place in world.places.get(receptacle or "", ()) if place != self._at), None)
        if receptacle is None or place is None:
            return None
        self._change((("atlocation", world.agent, place),), (("atlocation", world.agent, self._at),))
        self._at = place
        reached = world.names[place if world.dialect.arrive_at_place else receptacle]
        return f"You arrive at {reached}. {self._described(receptacle)}"

    def _open(self, verb: str, rest: str) -> str | None:
        receptacle = self._reach(rest)
        if receptacle is None or self._accessible(receptacle):
            return None
        self._change((("opened", receptacle),))
        return f"You open the {rest}. {self._described(receptacle)}"

    def _close(self, verb: str, rest: str) -> str | None:
        receptacle = self._reach(rest)
        if receptacle not in self.world.openable or ("opened", receptacle) not in self._facts:
            return None
        self._change((), (("opened", receptacle),))
        return f"You close the {rest}."

    def _examine(self, verb: str, rest: str) -> str | None:
        if receptacle := self._reach(rest):
            return self._described(receptacle)
        # The original means to let visible objects be examined as well, but a slip in its rules prevents it.
        thing = self._holding(rest)
        return self._closely(thing) if thing else None

    def _closely(self, thing: str) -> str:
        world, facts = self.world, self._facts
        name = world.names[thing]
        if thing in world.containers:
            within = listing(f"a {world.names[one]}" for one in world.inside_objects.get(thing, ()))
            return f"This is a normal {name}. In it, you see {within}."
        clean, sliced = ("isclean", thing) in facts, ("issliced", thing) in facts
        heat = "hot" if ("ishot", thing) in facts else "cool" if ("iscool", thing) in facts else ""
        if clean and heat:
            # Clean, hot and cool at once, which only an initial state can be, is called hot.
            return f"This is a {heat} and clean {'sliced ' if sliced else ''}{name}."
        if sliced and (clean or heat):
            return f"This is a {'clean' if clean else heat} sliced {name}."
        if clean or heat:
            return f"This is a {'clean' if clean else {'hot': 'hot', 'cool': 'cold'}[heat]} {name}."
        if thing in world.toggleable and ("istoggled", thing) in facts:
            return f"This {name} is on."
        if sliced and thing in world.sliceable:
            return f"This is a sliced {name}."
        return f"There's nothing special about {name}."

    def _take(self, verb: str, rest: str) -> str | None:
        world = self.world
        name, _, where = rest.partition(" from ")
        thing, receptacle = world.ids.get(name), self._reach(where)
        if thing is None or receptacle is None or ("holdsany", world.agent) in self._facts:
            return None
        inside = ("inreceptacle", thing, receptacle)
        if thing not in world.pickupable or inside not in self._facts or not self._accessible(receptacle):
            return None
        self._change(
            (("holds", world.agent, thing), ("holdsany", world.agent)),
            (inside, ("objectatlocation", thing, self._at)),
        )
        self._inside[receptacle] = tuple(one for one in self._inside[receptacle] if one != thing)
        self._held = world.sorted({*self._held, thing})
        self._taken_from.add((thing, receptacle))
        return f"You pick up the {name} from the {where}."

    def _put(self, verb: str, rest: str) -> str | None:
        world = self.world
        before, between = world.dialect.put
        if not before.startswith(verb):
            return None
        name, _, where = rest.partition(between)
        thing, receptacle = self._holding(name), self._reach(where)
        if thing is None or receptacle is None:
            return None
        if not (self._accessible(receptacle) and world.fits(thing, receptacle)):
            return None
        self._change(
            (("inreceptacle", thing, receptacle), ("objectatlocation", thing, self._at)),
            (("holds", world.agent, thing), ("holdsany", world.agent)),
        )
        self._inside[receptacle] = world.sorted({*self._inside.get(receptacle, ()), thing})
        self._held = tuple(one for one in self._held if one != thing)
        self._taken_from.discard((thing, receptacle))
        return world.dialect.put_text.format(o=name, r=where)

    def _treat(self, verb: str, rest: str) -> str | None:
        name, _, where = rest.partition(" with ")
        thing, tool = self._holding(name), self._reach(where)
        if thing not in self.world.treatable[verb] or tool not in self.world.tools[verb]:
            return None
        if verb == "clean":
            self._change((("isclean", thing),))
        elif verb == "heat":
            self._change((("ishot", thing),), (("iscool", thing),))
        else:
            self._change((("iscool", thing),), (("ishot", thing),))
        return f"You {verb} the {name} using the {where}."

    def _use(self, verb: str, rest: str) -> str | None:
        thing = self.world.ids.get(rest)
        if thing not in self.world.toggleable:
            return None
        if not any(("inreceptacle", thing, receptacle) in self._facts for receptacle in self._here()):
            return None
        on, toggled = ("ison", thing), ("istoggled", thing)
        if on in self._facts:
            self._change((toggled,), (on,))
        else:
            self._change((toggled, on))
        # A second use turns it off, yet the original says the same.
        return f"You turn on the {rest}."

    def _slice(self, verb: str, rest: str) -> str | None:
        name, _, with_name = rest.partition(" with ")
        thing, blade = self.world.ids.get(name), self._holding(with_name)
        if thing not in self.world.sliceable or blade not in self.world.blades or not self._lies_here(thing):
            return None
        self._change((("issliced", thing),))
        return f"You sliced the {name} with the {with_name}."

    def _possible(self) -> Iterator[str]:
        world, names, facts, here = self.world, self.world.names, self._facts, self._here()
        yield from ("look", "inventory")
        if world.dialect.help is not None:
            yield "help"
        for receptacle, places in world.places.items():
            if places != (self._at,):
                yield f"go to {names[receptacle]}"
        free = ("holdsany", world.agent) not in facts
        before, between = world.dialect.put
        for receptacle in here:
            where = names[receptacle]
            yield f"examine {where}"
            if receptacle in world.openable:
                yield f"{'close' if ('opened', receptacle) in facts else 'open'} {where}"
            inside = self._inside.get(receptacle, ())
            for thing in inside:
                if thing in world.toggleable:
                    yield f"use {names[thing]}"
            if self._accessible(receptacle):
                if free:
                    for thing in inside:
                        if thing in world.pickupable:
                            yield f"take {names[thing]} from {where}"
                for thing in self._held:
                    if world.fits(thing, receptacle):
                        yield f"{before}{names[thing]}{between}{where}"
            for command in TREATMENTS:
                if receptacle in world.tools[command]:
                    for thing in self._held:
                        if thing in world.treatable[command]:
                            yield f"{command} {names[thing]} with {where}"
        for held in self._held:
            yield f"examine {names[held]}"
            if held in world.blades:
                for thing in world.sliceable:
                    if self._lies_here(thing):
                        yield f"slice {names[thing]} with {names[held]}"


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
