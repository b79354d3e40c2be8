"""The native engine: ALFWorld's text games in plain Python, equal to the original to the character.

Each command is a method that checks only its own conditions; `admissible` lists all commands on request. `world`
holds what commands cannot change. Comments mark the oddities of the original, which are reproduced on purpose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from langgraph_reflexion.envs.alfworld.engine import Game
from langgraph_reflexion.envs.alfworld.pddl import Fact
from langgraph_reflexion.envs.alfworld.world import TREATMENTS, World, listing

NOTHING = "Nothing happens."


class NativeEngine:
    """A live game; see `Engine`. Engines of one world may run in many threads, but each only in one at a time.

    Attributes:
        world: The unchanging part of the game, shared by its engines.
        won: Whether the goal holds now. It can be lost again.

    Raises:
        EnvironmentUnavailable: The native engine cannot play this game.
    """

    # Everything but the facts and `_removed` is an index of the facts.
    __slots__ = ("_facts", "_held", "_inside", "_place", "_removed", "won", "world")

    def __init__(self, game: Game | World) -> None:
        self.world = game if isinstance(game, World) else World.of(game)
        self.won: bool
        self.reset()

    def reset(self) -> str:
        world = self.world
        self._facts = set(world.start)
        self._removed: set[tuple[str, str]] = set()
        self._place = world.start_place
        inside: dict[str, list[str]] = {}
        held: list[str] = []
        for fact in self._facts:
            if fact[0] == "inreceptacle":
                inside.setdefault(fact[2], []).append(fact[1])
            elif fact[0] == "holds":
                held.append(fact[2])
        self._inside = {receptacle: world.sorted(things) for receptacle, things in inside.items()}
        self._held = world.sorted(held)
        self.won = world.goal.holds(self._facts)
        return world.opening

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

    def _change(self, true: tuple[Fact, ...], false: tuple[Fact, ...] = ()) -> None:
        """Make facts false, then others true."""
        self._facts.difference_update(false)
        self._facts.update(true)
        relevant = self.world.goal_facts
        if not (relevant.isdisjoint(true) and relevant.isdisjoint(false)):
            self.won = self.world.goal.holds(self._facts)

    def _receptacles_here(self) -> tuple[str, ...]:
        return self.world.receptacles_at.get(self._place, ())

    def _receptacle_here(self, name: str) -> str | None:
        """Return the receptacle of a name if the agent is at it."""
        receptacle = self.world.ids.get(name)
        return receptacle if receptacle in self._receptacles_here() else None

    def _holding(self, name: str) -> str | None:
        thing = self.world.ids.get(name)
        return thing if thing in self._held else None

    def _accessible(self, receptacle: str) -> bool:
        return receptacle not in self.world.openable or ("opened", receptacle) in self._facts

    def _lies_here(self, thing: str) -> bool:
        return ("objectatlocation", thing, self._place) in self._facts

    def _described(self, receptacle: str) -> str:
        names = self.world.names
        name = names[receptacle]
        if receptacle not in self.world.openable:
            how = f"On the {name}"
        elif ("opened", receptacle) in self._facts:
            how = f"The {name} is open. In it"
        else:
            return f"The {name} is closed."
        # A file may say that something contains itself, which is not listed.
        inside = self._inside.get(receptacle, ())
        contents = listing(["a " + names[thing] for thing in inside if thing != receptacle])
        return f"{how}, you see {contents}."

    # Each command returns its observation, or None if it is not possible now.

    def _look(self, verb: str, rest: str) -> str | None:
        if rest:
            return None
        world, here = self.world, self._receptacles_here()
        if not here:
            # Only the opening text lists the receptacles of the room; here the original lists those in its middle.
            return "You are in the middle of a room. Looking quickly around you, you see nothing."
        facing = listing(world.names[receptacle] for receptacle in here)
        # "Next to it" lies only what was taken from one receptacle here and set down in another one here; the
        # original takes everything else at a place to be in the receptacle there.
        order = world.order
        beside = sorted(
            ((thing, r) for thing, r in self._removed if r in here and thing != r and self._lies_here(thing)),
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
        return None if rest else self.world.variant.help

    def _go(self, verb: str, rest: str) -> str | None:
        world = self.world
        receptacle = world.ids.get(rest[3:]) if rest.startswith("to ") else None
        place = next((place for place in world.places.get(receptacle or "", ()) if place != self._place), None)
        if receptacle is None or place is None:
            return None
        self._change((("atlocation", world.agent, place),), (("atlocation", world.agent, self._place),))
        self._place = place
        reached = world.names[place if world.variant.arrive_at_place else receptacle]
        return f"You arrive at {reached}. {self._described(receptacle)}"

    def _open(self, verb: str, rest: str) -> str | None:
        receptacle = self._receptacle_here(rest)
        if receptacle is None or self._accessible(receptacle):
            return None
        self._change((("opened", receptacle),))
        return f"You open the {rest}. {self._described(receptacle)}"

    def _close(self, verb: str, rest: str) -> str | None:
        receptacle = self._receptacle_here(rest)
        if receptacle not in self.world.openable or ("opened", receptacle) not in self._facts:
            return None
        self._change((), (("opened", receptacle),))
        return f"You close the {rest}."

    def _examine(self, verb: str, rest: str) -> str | None:
        if receptacle := self._receptacle_here(rest):
            return self._described(receptacle)
        # The original means to allow visible objects, too, but a slip in its rules prevents it.
        thing = self._holding(rest)
        return self._closely(thing) if thing else None

    def _closely(self, thing: str) -> str:
        world, facts = self.world, self._facts
        name = world.names[thing]
        if thing in world.containers:
            within = listing(f"a {world.names[one]}" for one in world.contents.get(thing, ()))
            return f"This is a normal {name}. In it, you see {within}."
        clean, sliced = ("isclean", thing) in facts, ("issliced", thing) in facts
        heat = "hot" if ("ishot", thing) in facts else "cool" if ("iscool", thing) in facts else ""
        if clean and heat:
            # Only an initial state can be clean, hot and cool at once, which is called hot.
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
        thing, receptacle = world.ids.get(name), self._receptacle_here(where)
        if thing is None or receptacle is None or ("holdsany", world.agent) in self._facts:
            return None
        inside = ("inreceptacle", thing, receptacle)
        if thing not in world.pickupable or inside not in self._facts or not self._accessible(receptacle):
            return None
        self._change(
            (("holds", world.agent, thing), ("holdsany", world.agent)),
            (inside, ("objectatlocation", thing, self._place)),
        )
        self._inside[receptacle] = tuple(one for one in self._inside[receptacle] if one != thing)
        self._held = world.sorted({*self._held, thing})
        self._removed.add((thing, receptacle))
        return f"You pick up the {name} from the {where}."

    def _put(self, verb: str, rest: str) -> str | None:
        world = self.world
        before, between = world.variant.put
        if not before.startswith(verb):
            return None
        name, _, where = rest.partition(between)
        thing, receptacle = self._holding(name), self._receptacle_here(where)
        if thing is None or receptacle is None:
            return None
        if not (self._accessible(receptacle) and world.fits(thing, receptacle)):
            return None
        self._change(
            (("inreceptacle", thing, receptacle), ("objectatlocation", thing, self._place)),
            (("holds", world.agent, thing), ("holdsany", world.agent)),
        )
        self._inside[receptacle] = world.sorted({*self._inside.get(receptacle, ()), thing})
        self._held = tuple(one for one in self._held if one != thing)
        self._removed.discard((thing, receptacle))
        return world.variant.put_text.format(o=name, r=where)

    def _treat(self, verb: str, rest: str) -> str | None:
        name, _, where = rest.partition(" with ")
        thing, tool = self._holding(name), self._receptacle_here(where)
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
        if not any(("inreceptacle", thing, receptacle) in self._facts for receptacle in self._receptacles_here()):
            return None
        on, toggled = ("ison", thing), ("istoggled", thing)
        if on in self._facts:
            self._change((toggled,), (on,))
        else:
            self._change((toggled, on))
        # A second use turns it off, but the original says the same.
        return f"You turn on the {rest}."

    def _slice(self, verb: str, rest: str) -> str | None:
        name, _, with_name = rest.partition(" with ")
        thing, blade = self.world.ids.get(name), self._holding(with_name)
        if thing not in self.world.sliceable or blade not in self.world.blades or not self._lies_here(thing):
            return None
        self._change((("issliced", thing),))
        return f"You sliced the {name} with the {with_name}."

    def _possible(self) -> Iterator[str]:
        world, names, facts, here = self.world, self.world.names, self._facts, self._receptacles_here()
        yield from ("look", "inventory")
        if world.variant.help is not None:
            yield "help"
        for receptacle, places in world.places.items():
            if places != (self._place,):
                yield f"go to {names[receptacle]}"
        free = ("holdsany", world.agent) not in facts
        before, between = world.variant.put
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
