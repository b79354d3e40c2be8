"""Trials as an environment looks at them: what they have shown of the world, and what came of them."""

from dataclasses import dataclass, field
from typing import Any

from typing_extensions import TypedDict

from langgraph_reflexion.envs.actions import Action

MAP_CHARACTERS = 3000
"""How long a memory map becomes at most, so that a prompt stays a prompt."""


class Seen(TypedDict):
    """What was done and what was observed of it: a step of a trajectory, as far as a memory map goes by it."""

    action: Action | None
    observation: str


@dataclass(frozen=True, slots=True)
class MemoryMap:
    """What trajectories have shown of the world, in words (the memory map of the preprint)."""

    lines: tuple[str, ...] = ()
    """A fact or a list of them to a line, what matters most first."""
    known: dict[str, Any] = field(default_factory=dict)
    """What of it still holds when the world is put back to how it was at first. Plain JSON: it is kept in the
    graph's state, and given to the map of the next trial."""

    @property
    def text(self) -> str:
        """The lines, so many of them as are not too long for a prompt; empty where nothing was shown yet."""
        told: list[str] = []
        for number, line in enumerate(self.lines):
            if len("\n".join([*told, line])) > MAP_CHARACTERS:
                return "\n".join([*told, f"({len(self.lines) - number} more lines are left out)"])
            told.append(line)
        return "\n".join(told)


class FinishedTrial(TypedDict):
    """A trial that is over, as `Environment.review` is told of it."""

    number: int
    """Counted from 1."""
    actions: list[Action]
    """What was done, in order."""
    snapshot: dict[str, Any] | None
    """The episode's last snapshot, where it makes any."""
    verdict: bool | None
    """What the evaluator said; None for a fault, and on a budget."""
    stop_reason: str
    feedback: str
    """The verdict in words."""
    observation: str
    """What the environment said last."""
    reflection: str | None
    """The reflection that followed it."""


@dataclass(frozen=True, slots=True)
class Review:
    """What is found out of a finished trial outside the graph."""

    success: bool | None = None
    """The truth, where the reward does not tell it (hidden tests, say)."""
    measures: dict[str, float] = field(default_factory=dict)
    """Measures of the trial besides the truth, by name."""
    files: dict[str, str] = field(default_factory=dict)
    """Files that belong to the trial: the path below the run folder, and the text."""
    gradable: bool = True
    """Whether there is a truth to be known of this task at all; one without counts for no rate."""
