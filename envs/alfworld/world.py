"""The unchanging part of a game: its things, their names, and the grounded goal."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache

from langgraph_reflexion.envs.alfworld.compatibility import UnknownVariantError, Variant, variant_of
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
"""The predicates of the domain and the types of their arguments; everything is of the type `object`."""

TYPES = frozenset(kind for kinds in PREDICATES.values() for kind in kinds)
"""The types of the domain."""

CHANGING = frozenset(
    [
        *("isclean", "ishot", "iscool", "issliced", "istoggled", "ison", "opened", "holdsany"),
        *("atlocation", "objectatlocation", "inreceptacle", "holds"),
    ]
)
"""The predicates that commands change. All other facts are permanent."""

TREATMENTS = {"clean": "cleanable", "heat": "heatable", "cool": "coolable"}
"""The property that each command needs of an object."""

BLADES = ("knifetype", "butterknifetype")


class World:
    """The unchanging part of a game, shared by all its engines. Read-only once built.

    Attributes:
        variant: The rules and wording of the game's release.
        agent: The id of the agent.
        start_place: The id of the place where the agent starts.
        start: The changing facts that hold at the start.
        goal: The grounded goal.
        goal_facts: The facts that the goal depends on.
        names: Name by id.
        ids: Id by name.
        order: Position in lists by id.
        receptacles_at: The receptacles at each place, in the order of lists.
        places: The places of each receptacle, in the order in which `go to` prefers them.
        containers: The objects that can hold others: bowls, pots, boxes.
        contents: The contents of these objects, which no command changes.
        treatable: The objects that can be cleaned, heated and cooled, by command.
        tools: The receptacles that these commands work with.
        opening: The text that the game begins with.
    """

    def __init__(self, problem: Problem, variant: Variant) -> None:
        self.variant = variant
        self._types = problem.types
        if strange := next((id_ for id_, type_ in self._types.items() if type_ not in TYPES), None):
            raise UnreadableError(f"{strange} is of the type {self._types[strange]}, and there is no such type")
        self.goal: Goal = Grounder(problem, PREDICATES, CHANGING, unknown=frozenset(["checked"])).goal()
        if self.goal == FALSE:
            raise UnreadableError("its goal can never hold: nothing in the game is what it asks for")
        self.goal_facts = self.goal.mentions()
        self.start = frozenset(fact for fact in problem.facts if fact[0] in CHANGING)
        if wrong := next((fact for fact in self.start if len(fact) != len(PREDICATES[fact[0]]) + 1), None):
            raise UnreadableError(f"({' '.join(wrong)}) has too many arguments, or too few")
        self._facts: dict[str, set[Fact]] = defaultdict(set)
        for fact in problem.facts:
            self._facts[fact[0]].add(fact)
        self.agent, self.start_place = self._only_agent()

        self.names = names(id_ for fact in problem.facts for id_ in fact[1:])
        self.ids = {name: id_ for id_, name in self.names.items()}
        if len(self.ids) < len(self.names):
            twice = next(name for name, count in Counter(self.names.values()).items() if count > 1)
            raise UnreadableError(f"two of its things are called {twice!r}")
        # Lists are sorted by id, things not declared as plain objects after those that are.
        listed = sorted(self.names, key=lambda id_: (self._types[id_] != "object", id_))
        self.order = {id_: position for position, id_ in enumerate(listed)}

        receptacles = [id_ for id_ in self.names if self._types[id_] == "receptacle"]
        at: dict[str, list[str]] = defaultdict(list)
        places: dict[str, list[str]] = defaultdict(list)
        for receptacle, place in self._relation("receptacleatlocation"):
            if self._types[receptacle] == "receptacle" and self._types[place] == "location":
                at[place].append(receptacle)
                places[receptacle].append(place)
        self.receptacles_at = {place: self.sorted(found) for place, found in at.items()}
        # If a receptacle is at two places, the original takes the one whose id comes first.
        self.places = {receptacle: tuple(sorted(found)) for receptacle, found in places.items()}
        self.openable = self._having("openable")
        self.pickupable = self._having("pickupable")
        self.toggleable = self._having("toggleable")
        self.sliceable = self._having("sliceable")
        self.containers = self._having("isreceptacleobject")
        self.treatable = {command: self._having(property_) for command, property_ in TREATMENTS.items()}
        self.tools = {
            "clean": self._of_types("receptacletype", variant.sinks),
            "heat": self._of_types("receptacletype", ["microwavetype"]),
            "cool": self._of_types("receptacletype", ["fridgetype"]),
        }
        self.blades = self._of_types("objecttype", BLADES)
        self._object_types = self._classes("objecttype", "otype")
        self._accepted = self._accepted_types(receptacles)
        contents: dict[str, list[str]] = defaultdict(list)
        for inner, outer in self._relation("inreceptacleobject"):
            if inner != outer:
                contents[outer].append(inner)
        self.contents = {outer: self.sorted(inner) for outer, inner in contents.items()}
        self.opening = self._opening()

    @staticmethod
    @lru_cache(maxsize=256)
    def of(game: Game) -> World:
        """Return the world of a game; the last 256 are cached.

        Raises:
            EnvironmentUnavailable: The native engine does not know the game's rules or wording, or its problem is
                invalid. The message names the file, or the game, and the reason.
        """
        try:
            return World(Problem.parse(game.problem), variant_of(game))
        except (UnknownVariantError, UnreadableError) as error:
            raise EnvironmentUnavailable(
                f"the native engine cannot play {game.source or game.id}: {error}"
            ) from error

    def sorted(self, things: Iterable[str]) -> tuple[str, ...]:
        """Return things in the order of lists."""
        return tuple(sorted(things, key=self.order.__getitem__))

    def fits(self, thing: str, receptacle: str) -> bool:
        """Return whether a receptacle can hold objects of this type."""
        return not self._accepted[receptacle].isdisjoint(self._object_types.get(thing, ()))

    def _opening(self) -> str:
        seen = self.receptacles_at.get(self.start_place)
        if seen:
            look = f"You are facing the {listing(self.names[r] for r in seen)}. Next to it, you see nothing."
        else:
            every = sorted((r, place) for r, places in self.places.items() for place in places)
            found = listing(f"a {self.names[r]}" for r, _ in every)
            look = f"You are in the middle of a room. Looking quickly around you, you see {found}."
        return f"-= Welcome to TextWorld, ALFRED! =-\n\n{look}\n\n{self.variant.task}"

    def _only_agent(self) -> tuple[str, str]:
        agents = [id_ for id_, type_ in self._types.items() if type_ == "agent"]
        if len(agents) != 1:
            raise UnreadableError(f"it has {len(agents)} agents, and not one")
        (agent,) = agents
        places = [fact[1:] for fact in self.start if fact[0] == "atlocation"]
        if len(places) != 1 or places[0][0] != agent or self._types[places[0][1]] != "location":
            raise UnreadableError(f"its agent is at {len(places)} places, and not at one")
        return agent, places[0][1]

    def _accepted_types(self, receptacles: Iterable[str]) -> dict[str, frozenset[str]]:
        """Return the types of object that each receptacle can hold."""
        accepted: dict[str, set[str]] = defaultdict(set)
        for receptacle_type, object_type in self._relation("cancontain"):
            accepted[receptacle_type].add(object_type)
        classes = self._classes("receptacletype", "rtype")
        return {r: frozenset().union(*(accepted[cls] for cls in classes.get(r, ()))) for r in receptacles}

    def _classes(self, predicate: str, declared_as: str) -> dict[str, list[str]]:
        """Return the classes of things, as far as they are declared as such."""
        found: dict[str, list[str]] = defaultdict(list)
        for thing, cls in self._relation(predicate):
            if self._types[cls] == declared_as:
                found[thing].append(cls)
        return dict(found)

    def _of_types(self, predicate: str, types: Iterable[str]) -> frozenset[str]:
        return frozenset(thing for thing, type_ in self._relation(predicate) if type_ in types)

    def _having(self, property_: str) -> frozenset[str]:
        return frozenset(fact[1] for fact in self._facts[property_] if len(fact) == 2)

    def _relation(self, predicate: str) -> Iterator[tuple[str, str]]:
        return ((fact[1], fact[2]) for fact in self._facts[predicate] if len(fact) == 3)


def names(ids: Iterable[str]) -> dict[str, str]:
    """Return names by id: "mug 2" for `mug_bar__minus_00_dot_84_bar_...`.

    Things of a class are numbered in the order of their ids, from the highest number down to 1. An id without a class
    is its own name, with a blank at its end as in the original, so that no command can name it.
    """
    ordered = sorted(set(ids))
    basin = {id_: "basin" if "basin" in id_ else "" for id_ in ordered}
    left = Counter(id_.split("_bar_", 1)[0] + basin[id_] for id_ in ordered if "_bar_" in id_)
    found = {}
    for id_ in ordered:
        text = id_
        for mangled, char in _MANGLED:
            text = text.replace(mangled, char)
        cls, bar, _ = text.partition("|")
        if not bar:
            found[id_] = f"{text} "
            continue
        cls += basin[id_]
        if left[cls] < 1:
            raise UnreadableError(f"{id_} cannot be given a name")
        found[id_] = f"{cls} {left[cls]}"
        left[cls] -= 1
    return found


_MANGLED = (("_bar_", "|"), ("_minus_", "-"), ("_plus_", "+"), ("_dot_", "."), ("_comma_", ","))


def listing(items: Iterable[str]) -> str:
    """Join items as the original does: with a comma before the "and", even between two."""
    found = list(items)
    if len(found) < 2:
        return found[0] if found else "nothing"
    return f"{', '.join(found[:-1])}, and {found[-1]}"
