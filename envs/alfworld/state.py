"""The changing part of a game.

The state is a set of facts (`pddl.Fact`), together with the pairs of object and receptacle of which the one
was taken from the other; all else that is kept only saves looking through that set.
"""

from __future__ import annotations

from langgraph_reflexion.envs.alfworld.engine import Game
from langgraph_reflexion.envs.alfworld.pddl import Fact
from langgraph_reflexion.envs.alfworld.world import World


class State:
    """What can change in a game, and what follows from it.

    Attributes:
        world: The unchanging part of the game, shared by its states.
        won: Whether the goal holds now. It can be lost again.
    """

    __slots__ = ("_at", "_facts", "_held", "_inside", "_taken_from", "won", "world")

    def __init__(self, world: World | Game) -> None:
        """Start at the initial state.

        Args:
            world: What is played; a game stands for its world.

        Raises:
            EnvironmentUnavailable: the native engine cannot play this game.
        """
        self.world = world if isinstance(world, World) else World.of(world)
        self.won: bool
        self._start()

    def _start(self) -> None:
        """Go to the initial state."""
        world = self.world
        self._facts = set(world.start)
        self._taken_from: set[tuple[str, str]] = set()
        self._at = world.start_place
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

    def _change(self, true: tuple[Fact, ...], false: tuple[Fact, ...] = ()) -> None:
        """Make facts false, then others true."""
        self._facts.difference_update(false)
        self._facts.update(true)
        watched = self.world.watched
        if not (watched.isdisjoint(true) and watched.isdisjoint(false)):
            self.won = self.world.goal.holds(self._facts)

    def _here(self) -> tuple[str, ...]:
        return self.world.receptacles_at.get(self._at, ())

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
