"""What an ALFWorld engine is, and what it plays."""

from dataclasses import dataclass
from typing import Literal, Protocol

Kind = Literal["pick", "look", "clean", "heat", "cool", "two"]
"""The six types of task: put an object somewhere, look at it under a lamp, and put it clean, hot, cool, or twice."""

Syntax = Literal["move", "put"]
"""How an object is set down: `move X to Y`, or `put X in/on Y` in files from before ALFWorld 0.4."""

PUT_TEMPLATES: dict[Syntax, str] = {"move": "move {o} to {r}", "put": "put {o} in/on {r}"}
"""The command that sets an object down, as a grammar has it."""


@dataclass(frozen=True, slots=True)
class Game:
    """One game: a room, what lies in it, and a goal."""

    id: str
    """Names the game within its split."""
    kind: Kind
    """The type of its task."""
    instruction: str
    """The task in words, without the engine's "Your task is to: "."""
    problem: str
    """Initial state and goal, as PDDL."""
    domain: str | None = None
    """The PDDL domain of the file that the game came from; None for a generated game."""
    grammar: str | None = None
    """The text grammar of the file that the game came from; None for a generated game."""
    walkthrough: tuple[str, ...] = ()
    """Commands that solve the game, where they are known. Never shown to a model."""
    source: str = ""
    """The file that the game came from, for error messages; empty for a generated game."""

    @property
    def syntax(self) -> Syntax:
        """How an object is set down."""
        return "put" if self.grammar is not None and PUT_TEMPLATES["put"] in self.grammar else "move"


class Engine(Protocol):
    """A live game. Commands are text, matched exactly, as in the original."""

    @property
    def won(self) -> bool:
        """Whether the goal holds now."""

    def reset(self) -> str:
        """Go back to the initial state; the opening text."""

    def step(self, command: str) -> str:
        """Carry out a command; "Nothing happens." where it is not possible now."""

    def admissible(self) -> list[str]:
        """The commands that are possible now, sorted."""

    def close(self) -> None:
        """Let go of what the engine holds. Closing twice is fine."""
