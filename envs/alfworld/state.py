"""The changing part of a game.

The state is a set of facts (`pddl.Fact`), together with the pairs of object and receptacle of which the one
was taken from the other; all else that is kept only saves looking through that set. So a state is copied in a
microsecond, written down as the difference to the start, and shares nothing that changes with any other one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

from langgraph_reflexion.envs.alfworld.engine import Game
from langgraph_reflexion.envs.alfworld.pddl import Fact
from langgraph_reflexion.envs.alfworld.world import World


class State:
    """What can change in a game, and what follows from it.

    Attributes:
        world: The unchanging part of the game, shared by its states.
        won: Whether the goal holds now. It can be lost again.
    """

    __slots__ = ("_at", "_facts", "_held", "_inside", "_taken", "won", "world")

    def __init__(self, world: World | Game) -> None:
        """Start at the initial state.

        Args:
            world: What is played; a game stands for its world.

        Raises:
            EnvironmentUnavailable: the native engine cannot play this game.
        """
        self.world = world if isinstance(world, World) else World.of(world)
        self.won: bool
        self._set(self.world.start, ())

    def copy(self) -> Self:
        """Another one in the same state, independent from now on."""
        other = type(self).__new__(type(self))
        other.world, other.won = self.world, self.won
        other._at, other._held = self._at, self._held
        other._facts, other._taken = self._facts.copy(), self._taken.copy()
        other._inside = self._inside.copy()
        return other

    def snapshot(self) -> dict[str, Any]:
        """The state as JSON: what became true and false since the start, and what was taken from where."""
        start = self.world.start
        return {
            "true": sorted(map(list, self._facts - start)),
            "false": sorted(map(list, start - self._facts)),
            "taken": sorted(map(list, self._taken)),
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Go to the state of a snapshot of the same game.

        Args:
            snapshot: What `snapshot` gave.
        """
        true, false = ({tuple(fact) for fact in snapshot[key]} for key in ("true", "false"))
        self._set((self.world.start - false) | true, ((thing, r) for thing, r in snapshot["taken"]))

    def _set(self, facts: Iterable[Fact], taken: Iterable[tuple[str, str]]) -> None:
        world = self.world
        self._facts = set(facts)
        self._taken = set(taken)
        self._at = world.start_place
        inside: dict[str, list[str]] = {}
        held: list[str] = []
        for fact in self._facts:
            if fact[0] == "inreceptacle":
                inside.setdefault(fact[2], []).append(fact[1])
            elif fact[0] == "holds":
                held.append(fact[2])
            elif fact[0] == "atlocation":
                self._at = fact[2]
        self._inside = {receptacle: world.sorted(things) for receptacle, things in inside.items()}
        self._held = world.sorted(held)
        self.won = world.goal.holds(self._facts)

    def _change(self, true: tuple[Fact, ...], false: tuple[Fact, ...] = ()) -> None:
        """Make facts false, then others true."""
        self._facts.difference_update(false)
        self._facts.update(true)
        watched = self.world.watched
        if not (watched.isdisjoint(true) and watched.isdisjoint(false)):
            self.won = self.world.goal.holds(self._facts)

    def _here(self) -> tuple[str, ...]:
        return self.world.here.get(self._at, ())

    def _reach(self, name: str) -> str | None:
        """The receptacle of a name, if the agent is at it."""
        receptacle = self.world.ids.get(name)
        return receptacle if receptacle in self._here() else None

    def _holding(self, name: str) -> str | None:
        thing = self.world.ids.get(name)
        return thing if thing in self._held else None

    def _accessible(self, receptacle: str) -> bool:
        return receptacle not in self.world.openable or ("opened", receptacle) in self._facts

    def _lies_here(self, thing: str) -> bool:
        return ("objectatlocation", thing, self._at) in self._facts
