"""The unchanging part of a game: its things, their names, and the grounded goal."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Set
from functools import lru_cache

from langgraph_reflexion.envs.alfworld.engine import Game
from langgraph_reflexion.envs.alfworld.pddl import Condition, Fact, Grounder, Problem, UnreadableError
from langgraph_reflexion.envs.alfworld.releases import PREFIX, UNKNOWN, Release, release_of
from langgraph_reflexion.errors import EnvironmentUnavailable

PREDICATES: dict[str, tuple[str, ...]] = {
    "cleanable": ("object",),
    "heatable": ("object",),
    "coolable": ("object",),
    "sliceable": ("object",),
    "toggleable": ("object",),
    "pickupable": ("object",),
    "isclean": ("object",),
    "ishot": ("object",),
    "iscool": ("object",),
    "issliced": ("object",),
    "istoggled": ("object",),
    "isreceptacleobject": ("object",),
    "openable": ("receptacle",),
    "opened": ("receptacle",),
    "holdsany": ("agent",),
    "holds": ("agent", "object"),
    "atlocation": ("agent", "location"),
    "cancontain": ("rtype", "otype"),
    "inreceptacle": ("object", "receptacle"),
    "inreceptacleobject": ("object", "object"),
    "objectatlocation": ("object", "location"),
    "objecttype": ("object", "otype"),
    "receptacleatlocation": ("receptacle", "location"),
    "receptacletype": ("receptacle", "rtype"),
}
"""The predicates of the domain that matter, and the types of their arguments."""

CHANGING = frozenset(
    [
        "isclean",
        "ishot",
        "iscool",
        "issliced",
        "istoggled",
        "opened",
        "holdsany",
        "holds",
        "atlocation",
        "objectatlocation",
        "inreceptacle",
    ]
)
"""The predicates that commands change. All other facts are permanent."""

TREATMENTS = {"clean": "cleanable", "heat": "heatable", "cool": "coolable"}
"""The property that each command needs of an object."""


class World:
    """The unchanging part of a game, shared by all its engines. Read-only once built.

    Attributes:
        release: The rules and wording of the game.
        agent: The id of the agent.
        start: The changing facts that hold at the start.
        solved: Whether the goal holds in a state.
        names: Name by id.
        ids: Id by name.
        receptacles_at: The receptacles at each place, sorted.
        places: The place of each receptacle.
        having: The things with each permanent property ("openable").
        contents: The contents of bowls, pots and boxes, which no command changes.
        tools: The receptacles to clean, heat and cool with, by command.
        blades: The knives.
        opening: The text that the game begins with.
    """

    def __init__(self, problem: Problem, release: Release, instruction: str) -> None:
        self.release = release
        self.solved = _condition(problem)
        self.start = frozenset(fact for fact in problem.facts if fact[0] in CHANGING)

        facts = _by_predicate(problem.facts)
        if len(facts["atlocation"]) != 1:
            raise UnreadableError(f"it has {len(facts['atlocation'])} agents at places, and not one")
        [(self.agent, begin)] = facts["atlocation"]

        self.names = names(id_ for fact in problem.facts for id_ in fact[1:])
        self.ids = {name: id_ for id_, name in self.names.items()}
        self.places: dict[str, str] = {}
        for receptacle, place in facts["receptacleatlocation"]:
            # An id without a class has no name, and no command can mention it.
            if receptacle in self.names:
                self.places[receptacle] = place
        self.receptacles_at: dict[str, list[str]] = defaultdict(list)
        for receptacle in sorted(self.places):
            self.receptacles_at[self.places[receptacle]].append(receptacle)
        self.having: dict[str, set[str]] = {}
        for predicate in PREDICATES.keys() - CHANGING:
            self.having[predicate] = {arguments[0] for arguments in facts[predicate]}
        self.contents: dict[str, list[str]] = defaultdict(list)
        for inner, outer in sorted(facts["inreceptacleobject"]):
            self.contents[outer].append(inner)
        self.tools = {
            "clean": _of_classes(facts["receptacletype"], release.sinks),
            "heat": _of_classes(facts["receptacletype"], ("microwavetype",)),
            "cool": _of_classes(facts["receptacletype"], ("fridgetype",)),
        }
        self.blades = _of_classes(facts["objecttype"], ("knifetype", "butterknifetype"))
        self._fitting = _fitting(facts)
        seen = self._seen_first(begin)
        self.opening = f"-= Welcome to TextWorld, ALFRED! =-\n\n{seen}\n\n{PREFIX}{instruction}"

    def _seen_first(self, place: str) -> str:
        """Return what an agent sees that starts at a place."""
        here = self.receptacles_at.get(place)
        if here:
            facing = listing(self.names[receptacle] for receptacle in here)
            return f"You are facing the {facing}. Next to it, you see nothing."
        room = listing(f"a {self.names[receptacle]}" for receptacle in sorted(self.places))
        return f"You are in the middle of a room. Looking quickly around you, you see {room}."

    @staticmethod
    @lru_cache(maxsize=256)
    def of(game: Game) -> World:
        """Return the world of a game.

        Raises:
            EnvironmentUnavailable: The native engine does not know the game's rules or wording, or its problem is
                invalid. The message names the file, or the game, and the reason.
        """
        try:
            release = release_of(game)
            if release is None:
                raise UnreadableError(UNKNOWN)
            return World(Problem.parse(game.problem), release, game.instruction)
        except UnreadableError as error:
            raise EnvironmentUnavailable(f"the native engine cannot play {game.source or game.id}: {error}") from None

    def fits(self, thing: str, receptacle: str) -> bool:
        """Return whether a receptacle can hold objects of this type."""
        return (thing, receptacle) in self._fitting


def _always(facts: Set[Fact]) -> bool:
    """Return that a goal holds which permanent facts fulfil."""
    return True


def _condition(problem: Problem) -> Condition:
    """Return the goal of a problem as a condition on a state.

    Raises:
        UnreadableError: it cannot hold in any state.
    """
    # The grounder decides a goal that depends on permanent facts only.
    goal = Grounder(problem, PREDICATES, CHANGING).goal()
    if goal is False:
        raise UnreadableError("its goal can never hold: nothing in the game is what it asks for")
    if goal is True:
        return _always
    return goal


def _by_predicate(facts: Iterable[Fact]) -> dict[str, set[Fact]]:
    """Return the arguments of facts by their predicate."""
    found: dict[str, set[Fact]] = defaultdict(set)
    for fact in facts:
        found[fact[0]].add(fact[1:])
    return found


def _fitting(facts: Mapping[str, set[Fact]]) -> set[Fact]:
    """Return the pairs of a thing and a receptacle that can hold it.

    They are combined once for each game, as every step asks for some.
    """
    pairs: set[Fact] = set()
    for receptacle, its_class in facts["receptacletype"]:
        for thing, cls in facts["objecttype"]:
            if (its_class, cls) in facts["cancontain"]:
                pairs.add((thing, receptacle))
    return pairs


def _of_classes(typed: Iterable[Fact], classes: Collection[str]) -> set[str]:
    """Return the things of these classes, given pairs of a thing and its class."""
    return {thing for thing, cls in typed if cls in classes}


def names(ids: Iterable[str]) -> dict[str, str]:
    """Return names by id: "mug 2" for `mug_bar__minus_00_dot_84_bar_...`.

    Things of a class are numbered in the order of their ids, from the highest number down to 1. An id without a class
    has no name.
    """
    classes: dict[str, str] = {}
    for id_ in sorted(set(ids)):
        cls, bar, _ = id_.partition("_bar_")
        if not bar:
            continue
        if "basin" in id_:
            cls += "basin"
        classes[id_] = cls
    left = Counter(classes.values())
    found: dict[str, str] = {}
    for id_, cls in classes.items():
        found[id_] = f"{cls} {left[cls]}"
        left[cls] -= 1
    return found


def listing(items: Iterable[str]) -> str:
    """Join items as the original does: with a comma before the "and", even between two."""
    found = list(items)
    if not found:
        return "nothing"
    if len(found) == 1:
        return found[0]
    return f"{', '.join(found[:-1])}, and {found[-1]}"
