"""The unchanging part of a game: its things, their names, and the grounded goal."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import lru_cache

from langgraph_reflexion.envs.alfworld.engine import Game
from langgraph_reflexion.envs.alfworld.pddl import Condition, Fact, Grounder, Problem, UnreadableError
from langgraph_reflexion.envs.alfworld.releases import PREFIX, UNKNOWN, Release, release_of
from langgraph_reflexion.errors import EnvironmentUnavailable

PREDICATES = {
    **dict.fromkeys(["cleanable", "heatable", "coolable", "sliceable", "toggleable", "pickupable"], ("object",)),
    **dict.fromkeys(["isclean", "ishot", "iscool", "issliced", "istoggled", "isreceptacleobject"], ("object",)),
    **dict.fromkeys(["openable", "opened"], ("receptacle",)),
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
        *("isclean", "ishot", "iscool", "issliced", "istoggled", "opened", "holdsany"),
        *("atlocation", "objectatlocation", "inreceptacle", "holds"),
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
        goal = Grounder(problem, PREDICATES, CHANGING).goal()
        if goal is False:
            raise UnreadableError("its goal can never hold: nothing in the game is what it asks for")
        self.solved: Condition = (lambda facts: True) if goal is True else goal
        self.start = frozenset(fact for fact in problem.facts if fact[0] in CHANGING)
        facts: dict[str, set[Fact]] = defaultdict(set)
        for fact in problem.facts:
            facts[fact[0]].add(fact[1:])
        if len(facts["atlocation"]) != 1:
            raise UnreadableError(f"it has {len(facts['atlocation'])} agents at places, and not one")
        [(self.agent, begin)] = facts["atlocation"]

        self.names = names(id_ for fact in problem.facts for id_ in fact[1:])
        self.ids = {name: id_ for id_, name in self.names.items()}
        self.places = {id_: place for id_, place in facts["receptacleatlocation"] if id_ in self.names}
        self.receptacles_at: dict[str, list[str]] = defaultdict(list)
        for receptacle in sorted(self.places):
            self.receptacles_at[self.places[receptacle]].append(receptacle)
        self.having = {name: {fact[0] for fact in facts[name]} for name in PREDICATES.keys() - CHANGING}
        self.contents: dict[str, list[str]] = defaultdict(list)
        for inner, outer in sorted(facts["inreceptacleobject"]):
            self.contents[outer].append(inner)
        tools = {"clean": release.sinks, "heat": ("microwavetype",), "cool": ("fridgetype",)}
        self.tools = {
            command: {receptacle for receptacle, cls in facts["receptacletype"] if cls in classes}
            for command, classes in tools.items()
        }
        self.blades = {thing for thing, cls in facts["objecttype"] if cls in ("knifetype", "butterknifetype")}
        self._fitting = {
            (thing, receptacle)
            for receptacle, its_class in facts["receptacletype"]
            for thing, cls in facts["objecttype"]
            if (its_class, cls) in facts["cancontain"]
        }
        if here := self.receptacles_at.get(begin):
            seen = f"You are facing the {listing(self.names[r] for r in here)}. Next to it, you see nothing."
        else:
            every = listing(f"a {self.names[r]}" for r in sorted(self.places))
            seen = f"You are in the middle of a room. Looking quickly around you, you see {every}."
        self.opening = f"-= Welcome to TextWorld, ALFRED! =-\n\n{seen}\n\n{PREFIX}{instruction}"

    @staticmethod
    @lru_cache(maxsize=256)
    def of(game: Game) -> World:
        """Return the world of a game.

        Raises:
            EnvironmentUnavailable: The native engine does not know the game's rules or wording, or its problem is
                invalid. The message names the file, or the game, and the reason.
        """
        try:
            if not (release := release_of(game)):
                raise UnreadableError(UNKNOWN)
            return World(Problem.parse(game.problem), release, game.instruction)
        except UnreadableError as error:
            raise EnvironmentUnavailable(f"the native engine cannot play {game.source or game.id}: {error}") from None

    def fits(self, thing: str, receptacle: str) -> bool:
        """Return whether a receptacle can hold objects of this type."""
        return (thing, receptacle) in self._fitting


def names(ids: Iterable[str]) -> dict[str, str]:
    """Return names by id: "mug 2" for `mug_bar__minus_00_dot_84_bar_...`.

    Things of a class are numbered in the order of their ids, from the highest number down to 1. An id without a class
    has no name.
    """
    classes = {
        id_: id_.partition("_bar_")[0] + ("basin" if "basin" in id_ else "")
        for id_ in sorted(set(ids))
        if "_bar_" in id_
    }
    left = Counter(classes.values())
    found = {}
    for id_, cls in classes.items():
        found[id_] = f"{cls} {left[cls]}"
        left[cls] -= 1
    return found


def listing(items: Iterable[str]) -> str:
    """Join items as the original does: with a comma before the "and", even between two."""
    found = list(items)
    if len(found) < 2:
        return found[0] if found else "nothing"
    return f"{', '.join(found[:-1])}, and {found[-1]}"
