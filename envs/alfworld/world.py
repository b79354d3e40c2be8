"""What never changes in a game: what there is, what it is called, and what the goal asks for.

A `World` is made once for a game and shared by all its live engines; nothing in it is ever written to again.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache

from langgraph_reflexion.envs.alfworld.dialect import Dialect, UnknownDialectError, dialect_of
from langgraph_reflexion.envs.alfworld.engine import Game
from langgraph_reflexion.envs.alfworld.goal import FALSE, Goal, Grounder
from langgraph_reflexion.envs.alfworld.pddl import Fact, Problem, UnreadableError
from langgraph_reflexion.errors import EnvironmentUnavailable

PREDICATES = {
    **dict.fromkeys(["cleanable", "heatable", "coolable", "sliceable", "toggleable"], ("object",)),
    **dict.fromkeys(["isclean", "ishot", "iscool", "issliced", "istoggled", "ison"], ("object",)),
    **dict.fromkeys(["isreceptacleobject", "isreceptacleobjectfull", "pickupable", "moveable"], ("object",)),
    **dict.fromkeys(["openable", "opened", "checked", "full"], ("receptacle",)),
    **dict.fromkeys(["inreceptacle", "wasinreceptacle"], ("object", "receptacle")),
    **dict.fromkeys(["holdsany", "holdsanyreceptacleobject"], ("agent",)),
    "atlocation": ("agent", "location"),
    "cancontain": ("rtype", "otype"),
    "examined": ("location",),
    "holds": ("agent", "object"),
    "inreceptacleobject": ("object", "object"),
    "objectatlocation": ("object", "location"),
    "objecttype": ("object", "otype"),
    "receptacleatlocation": ("receptacle", "location"),
    "receptacletype": ("receptacle", "rtype"),
}
"""The predicates of the domain, and the types of what they speak of; everything is of the type `object`."""

TYPES = frozenset(kind for kinds in PREDICATES.values() for kind in kinds)
"""The types of things."""

CHANGING = frozenset(
    [
        *("isclean", "ishot", "iscool", "issliced", "istoggled", "ison", "opened", "holdsany"),
        *("atlocation", "objectatlocation", "inreceptacle", "holds"),
    ]
)
"""The predicates that commands change. All other facts hold for good."""

TREATMENTS = {"clean": "cleanable", "heat": "heatable", "cool": "coolable"}
"""What each of these commands needs the object to be."""

BLADES = ("knifetype", "butterknifetype")


class World:
    """The unchanging part of a game.

    Attributes:
        dialect: How the game words what may be worded differently.
        agent: Who acts.
        start: What can change, as it is at the start.
        goal: What is asked for.
        watched: The facts that the goal depends on.
        names: What everything is called, by id.
        ids: The other way round.
        order: Where each thing stands in a list.
        receptacles_at: The receptacles at each place, in the order of lists.
        places: The places of each receptacle, in the order in which `go to` prefers them.
        openable: The receptacles that can be opened.
    """

    def __init__(self, problem: Problem, dialect: Dialect) -> None:
        self.dialect = dialect
        self.types = problem.types
        if strange := next((one for one, kind in self.types.items() if kind not in TYPES), None):
            raise UnreadableError(f"{strange} is of the type {self.types[strange]}, and there is no such type")
        self.goal: Goal = Grounder(problem, PREDICATES, CHANGING, unknown=frozenset(["checked"])).goal()
        if self.goal == FALSE:
            raise UnreadableError("its goal can never hold: nothing in the game is what it asks for")
        self.watched = self.goal.mentions()
        self.start = frozenset(fact for fact in problem.facts if fact[0] in CHANGING)
        if wrong := next((fact for fact in self.start if len(fact) != len(PREDICATES[fact[0]]) + 1), None):
            raise UnreadableError(f"({' '.join(wrong)}) speaks of too many things, or too few")
        self._facts: dict[str, set[Fact]] = defaultdict(set)
        for fact in problem.facts:
            self._facts[fact[0]].add(fact)
        self.agent, self.start_place = self._only_agent()

        self.names = names(name for fact in problem.facts for name in fact[1:])
        self.ids = {name: one for one, name in self.names.items()}
        if len(self.ids) < len(self.names):
            twice = next(name for name, count in Counter(self.names.values()).items() if count > 1)
            raise UnreadableError(f"two of its things are called {twice!r}")
        # Lists run by id, things that are not declared as plain objects after those that are.
        listed = sorted(self.names, key=lambda one: (problem.types[one] != "object", one))
        self.order = {one: number for number, one in enumerate(listed)}

        self.receptacles = frozenset(one for one in self.names if problem.types[one] == "receptacle")
        self.receptacles_at: dict[str, tuple[str, ...]] = {}
        self.places: dict[str, tuple[str, ...]] = {}
        self._arrange()
        self.openable = self._all_that("openable")
        self.pickupable = self._all_that("pickupable")
        self.toggleable = self._all_that("toggleable")
        self.sliceable = self._all_that("sliceable")
        self.containers = self._all_that("isreceptacleobject")
        """The objects that can hold others: bowls, pots, boxes."""
        self.treatable = {command: self._all_that(needs) for command, needs in TREATMENTS.items()}
        self.tools = {
            "clean": self._of_types("receptacletype", dialect.sinks),
            "heat": self._of_types("receptacletype", ["microwavetype"]),
            "cool": self._of_types("receptacletype", ["fridgetype"]),
        }
        """The receptacles that each of these commands works with."""
        self.blades = self._of_types("objecttype", BLADES)
        self._object_types = self._types("objecttype", "otype")
        self._contents = self._accepted_types()

    @staticmethod
    @lru_cache(maxsize=256)
    def of(game: Game) -> World:
        """The world of a game, made once while it is among the last 256 that were asked for.

        Raises:
            EnvironmentUnavailable: the native engine does not know the game's rules or wording, or its
                problem makes no sense. The message names the file, or the game, and the reason.
        """
        try:
            return World(Problem.parse(game.problem), dialect_of(game))
        except (UnknownDialectError, UnreadableError) as error:
            which = game.source or game.id
            raise EnvironmentUnavailable(f"the native engine cannot play {which}: {error}") from error

    def sorted(self, things: Iterable[str]) -> tuple[str, ...]:
        """Things in the order of lists."""
        return tuple(sorted(things, key=self.order.__getitem__))

    def fits(self, thing: str, receptacle: str) -> bool:
        """Whether a receptacle is of a type that can hold an object of this type."""
        return not self._contents[receptacle].isdisjoint(self._object_types.get(thing, ()))

    @cached_property
    def inside_objects(self) -> dict[str, tuple[str, ...]]:
        """What lies in objects such as bowls. No command changes it."""
        found: dict[str, list[str]] = defaultdict(list)
        for inner, outer in self._pairs("inreceptacleobject"):
            if inner != outer:
                found[outer].append(inner)
        return {outer: self.sorted(inner) for outer, inner in found.items()}

    @cached_property
    def opening(self) -> str:
        """The text that a game begins with."""
        seen = self.receptacles_at.get(self.start_place)
        if seen:
            look = f"You are facing the {listing(self.names[r] for r in seen)}. Next to it, you see nothing."
        else:
            every = sorted((r, place) for r, places in self.places.items() for place in places)
            found = listing(f"a {self.names[r]}" for r, _ in every)
            look = f"You are in the middle of a room. Looking quickly around you, you see {found}."
        return f"-= Welcome to TextWorld, ALFRED! =-\n\n{look}\n\n{self.dialect.task}"

    def _only_agent(self) -> tuple[str, str]:
        agents = [name for name, kind in self.types.items() if kind == "agent"]
        if len(agents) != 1:
            raise UnreadableError(f"it has {len(agents)} agents, and not one")
        (agent,) = agents
        places = [fact[1:] for fact in self.start if fact[0] == "atlocation"]
        if len(places) != 1 or places[0][0] != agent or self.types[places[0][1]] != "location":
            raise UnreadableError(f"its agent is at {len(places)} places, and not at one")
        return agent, places[0][1]

    def _arrange(self) -> None:
        here: dict[str, list[str]] = defaultdict(list)
        places: dict[str, list[str]] = defaultdict(list)
        for receptacle, place in self._pairs("receptacleatlocation"):
            if receptacle in self.receptacles and self.types[place] == "location":
                here[place].append(receptacle)
                places[receptacle].append(place)
        self.receptacles_at = {place: self.sorted(found) for place, found in here.items()}
        # Two places for one receptacle: the original takes the one whose id comes first.
        self.places = {receptacle: tuple(sorted(found)) for receptacle, found in places.items()}

    def _accepted_types(self) -> dict[str, frozenset[str]]:
        """The types of object that each receptacle can hold, by its own types."""
        accepted: dict[str, set[str]] = defaultdict(set)
        for kind, of in self._pairs("cancontain"):
            accepted[kind].add(of)
        types = self._types("receptacletype", "rtype")
        return {r: frozenset().union(*(accepted[kind] for kind in types.get(r, ()))) for r in self.receptacles}

    def _types(self, predicate: str, kind: str) -> dict[str, list[str]]:
        """The types of everything that has one; only what is declared as a type of this kind counts."""
        found: dict[str, list[str]] = defaultdict(list)
        for thing, of in self._pairs(predicate):
            if self.types[of] == kind:
                found[thing].append(of)
        return dict(found)

    def _of_types(self, predicate: str, kinds: Iterable[str]) -> frozenset[str]:
        return frozenset(thing for thing, kind in self._pairs(predicate) if kind in kinds)

    def _all_that(self, predicate: str) -> frozenset[str]:
        """Everything that has a property."""
        return frozenset(fact[1] for fact in self._facts[predicate] if len(fact) == 2)

    def _pairs(self, predicate: str) -> Iterator[tuple[str, str]]:
        """The pairs of things between which a relation holds."""
        return ((fact[1], fact[2]) for fact in self._facts[predicate] if len(fact) == 3)


def names(ids: Iterable[str]) -> dict[str, str]:
    """What things are called: "mug 2" for `mug_bar__minus_00_dot_84_bar_...`.

    Things of a class are numbered in the order of their ids, from the last number down to 1. What has no
    class keeps its id and a blank, as in the original, so that no command can end in it.

    Args:
        ids: The ids, in any order and number.
    """
    ordered = sorted(set(ids))
    basin = {one: "basin" if "basin" in one else "" for one in ordered}
    left = Counter(one.split("_bar_", 1)[0] + basin[one] for one in ordered if "_bar_" in one)
    found = {}
    for one in ordered:
        text = one
        for mangled, char in _MANGLED:
            text = text.replace(mangled, char)
        kind, bar, _ = text.partition("|")
        if not bar:
            found[one] = f"{text} "
            continue
        kind += basin[one]
        if left[kind] < 1:
            raise UnreadableError(f"{one} cannot be given a name")
        found[one] = f"{kind} {left[kind]}"
        left[kind] -= 1
    return found


_MANGLED = (("_bar_", "|"), ("_minus_", "-"), ("_plus_", "+"), ("_dot_", "."), ("_comma_", ","))


def listing(items: Iterable[str]) -> str:
    """Items as the original lists them: a comma before the "and", even between two."""
    found = list(items)
    if len(found) < 2:
        return found[0] if found else "nothing"
    return f"{', '.join(found[:-1])}, and {found[-1]}"
