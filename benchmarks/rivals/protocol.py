"""What the benchmark and its rivals know of each other.

A world has tasks. A rival gets a task as a `Job`: its text, tools, a model behind an address, a way to reset what an
attempt has changed, and the check. Whatever a rival is, it calls this check, and asks this model.
"""

import importlib
import importlib.metadata
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

Tool = Callable[..., str]
"""A function with annotations and a docstring, of which every package makes its own kind of tool."""

Half = Literal["train", "test"]


class Verdict(NamedTuple):
    """What the check says of an answer, and of what the attempt has changed."""

    accepted: bool
    words: str


@dataclass(frozen=True)
class Task:
    """A task of a world."""

    name: str
    text: str
    data: Any = None
    """What the world needs to know of it, such as the right answer."""


class Move(NamedTuple):
    """What a scripted model does in an attempt: it says a text, or calls a tool."""

    text: str = ""
    tool: str = ""
    args: dict[str, str] = {}


class TaskWorld(ABC):
    """The surroundings of one task, in a folder of its own; they outlive the process."""

    def __init__(self, task: Task, folder: Path) -> None:
        self.task, self.folder = task, folder

    @property
    def tools(self) -> list[Tool]:
        """What the agent can do besides answering."""
        return []

    def reset(self) -> None:  # noqa: B027 - many worlds have nothing to reset
        """Undo what attempts have changed."""

    @abstractmethod
    def verdict(self, answer: str) -> Verdict:
        """Judge an answer, and the surroundings as they are now."""


class World(ABC):
    """A kind of tasks.

    Attributes:
        name: As in `--worlds`.
        changes: Whether attempts change something that outlives them.
        steps: Calls of the model that one attempt may need at most, where a package can limit them.
        calls: Calls that a task is allowed: some attempts, also for an agent that uses tools.
    """

    name: str
    changes: bool
    steps: int
    calls: int

    @abstractmethod
    def tasks(self, half: Half) -> list[Task]:
        """Return the tasks of a half. Prompts are tuned on one, and everybody is measured on the other."""

    @abstractmethod
    def open(self, task: Task, folder: Path) -> TaskWorld:
        """Open the surroundings of a task: those in the folder if there are any, new ones otherwise."""

    @abstractmethod
    def script(self, task: Task) -> tuple[Move, Move] | None:
        """Return a wrong move and the right one, for a scripted model; None if no right one is known."""


@dataclass(frozen=True)
class Model:
    """A chat model behind OpenAI's API."""

    url: str
    name: str = "any"
    temperature: float = 0.7
    max_tokens: int = 600
    long_tokens: int = 2000
    """The limit of replies that a package asks to be long, such as a prompt or advice for each part of a program."""


class Checked(NamedTuple):
    """A check that was asked for: the verdict, and the calls and tokens spent before it."""

    calls: int
    tokens: int
    accepted: bool
    words: str
    answer: str


@dataclass
class Job:
    """A task as a rival gets it.

    Attributes:
        text: The task in words.
        tools: The agent's tools.
        model: The model to ask.
        attempts: More attempts than the allowed calls are enough for, for packages that want a number.
        steps: Calls of the model that one attempt may need at most.
        trained: What `train` returned, for a rival that trains.
        checks: The checks so far.
    """

    world: TaskWorld
    model: Model
    attempts: int
    steps: int
    trained: dict[str, Any] = field(default_factory=dict)
    spent: Callable[[], tuple[int, int]] = lambda: (0, 0)
    """Returns the calls and tokens so far."""
    bug: bool = False
    """Whether the check has a bug, to see what becomes of it."""
    checks: list[Checked] = field(default_factory=list)

    @property
    def text(self) -> str:
        return self.world.task.text

    @property
    def tools(self) -> list[Tool]:
        return self.world.tools

    def reset(self) -> None:
        """Undo what attempts have changed."""
        self.world.reset()

    def check(self, answer: str) -> Verdict:
        """Judge an answer, and the surroundings as they are now.

        Raises:
            KeyError: the check has a planted bug.
        """
        calls, tokens = self.spent()
        if self.bug:
            self.checks.append(Checked(calls, tokens, False, "a bug", answer))
            raise KeyError("a bug that was planted in the check")
        verdict = self.world.verdict(answer)
        self.checks.append(Checked(calls, tokens, verdict.accepted, verdict.words, answer))
        return verdict


Solve = Callable[[Job], str]
Train = Callable[[Sequence[Job], Callable[[], int], Path], dict[str, Any]]
"""Called with the jobs of the train half, how many calls are left, and a folder to keep its state in."""


@dataclass(frozen=True)
class Rival:
    """A way to let an agent try again.

    Attributes:
        solve: Solves a job, and returns the answer.
        package: The distribution whose version is printed; none if it is written by hand.
        solve_kept: The same with what the package offers to survive the end of its process, kept in a folder.
        train: Prepares for all tasks at once.
        in_place: Whether an attempt goes on in the world that the one before it has left.
        in_changing_worlds: Whether it makes sense only where an attempt leaves something behind.
    """

    solve: Solve
    package: str = ""
    solve_kept: Callable[[Job, Path], str] | None = None
    train: Train | None = None
    in_place: bool = False
    in_changing_worlds: bool = False

    @property
    def version(self) -> str:
        """The version of the package; empty without one."""
        if not self.package:
            return ""
        return importlib.metadata.version(self.package)


STRATEGIES = ("retry", "feedback", "reflexion", "continue")
"""The strategies of this project that are run; another one is added here."""

WHERE = {
    "retry-loop": "retry_loop",
    "feedback-loop": "feedback_loop",
    "notes-loop": "notes_loop",
    "ralph-loop": "ralph_loop",
    "rubric-middleware": "rubric_middleware",
    "refine": "refine",
    "gepa": "gepa_prompt",
    "gepa-retry": "gepa_prompt",
    "goal-loop": "goal_loop",
    "goal-loop-afresh": "goal_loop",
}
"""Each rival's module in `adapters`, which has it in `RIVALS`.

They are imported one by one, as a package may be missing.
"""

for _strategy in STRATEGIES:
    WHERE[f"this-{_strategy}"] = "this_project"

WORLDS = {
    "small-tasks": "small_tasks:SmallTasks",
    "sql-changes": "sql_changes:SqlChanges",
    "pytest-folder": "pytest_folder:PytestFolder",
}
"""Each world's module and class in `worlds`."""


def load_rival(name: str) -> Rival:
    """Return a rival.

    Raises:
        ImportError: its package is not installed.
    """
    module = importlib.import_module(f"benchmarks.rivals.adapters.{WHERE[name]}")
    found: Rival = module.RIVALS[name]
    return found


def load_world(name: str) -> World:
    """Return a world."""
    module, _, attribute = WORLDS[name].partition(":")
    found: World = getattr(importlib.import_module(f"benchmarks.rivals.worlds.{module}"), attribute)()
    return found


def adapter_file(name: str) -> Path:
    """Return the file of a rival's adapter."""
    return Path(__file__).parent / "adapters" / f"{WHERE[name]}.py"
