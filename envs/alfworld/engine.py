"""The engine protocol and the games that engines play."""

from dataclasses import dataclass
from typing import Literal, Protocol

Kind = Literal["pick", "look", "clean", "heat", "cool", "two"]
"""The six task types: put an object somewhere, look at it under a lamp, and put it clean, hot, cool, or two of it."""

Syntax = Literal["move", "put"]
"""The wording of setting an object down: `move X to Y`, or `put X in/on Y` in files from before ALFWorld 0.4."""

PUT_FORMS: dict[Syntax, str] = {"move": "move {object} to {receptacle}", "put": "put {object} in/on {receptacle}"}
"""The form of the action that sets an object down, by syntax."""

NOTHING = "Nothing happens."
"""The answer to a command that is not possible now."""


@dataclass(frozen=True, slots=True)
class Game:
    """One game: a room, the things in it, and a goal.

    Attributes:
        id: The game's name within its split.
        kind: The type of its task.
        instruction: The task in words, without the engine's "Your task is to: ".
        problem: Initial state and goal, as PDDL.
        domain: The PDDL domain in the game's file; None for a generated game.
        grammar: The text grammar in the game's file; None for a generated game.
        walkthrough: Commands that solve the game, if known. Never shown to a model.
        source: The game's file, for error messages; empty for a generated game.
    """

    id: str
    kind: Kind
    instruction: str
    problem: str
    domain: str | None = None
    grammar: str | None = None
    walkthrough: tuple[str, ...] = ()
    source: str = ""

    @property
    def syntax(self) -> Syntax:
        if self.grammar is not None and "put {o} in/on {r}" in self.grammar:
            return "put"
        return "move"


class Engine(Protocol):
    """A live game. Commands are text, matched exactly, as in the original."""

    @property
    def won(self) -> bool:
        """Whether the goal holds now."""

    def reset(self) -> str:
        """Go back to the initial state and return the opening text."""

    def step(self, command: str) -> str:
        """Carry out a command and return its observation: "Nothing happens." if it is not possible now."""

    def admissible(self) -> list[str]:
        """Return the commands that are possible now, sorted."""

    def close(self) -> None:
        """Release the engine's resources. Closing twice is fine."""
