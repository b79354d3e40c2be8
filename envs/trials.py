"""What environments make of trials: memory maps, reviews, and results of tests."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from typing_extensions import TypedDict  # pydantic makes schemas of these alone before Python 3.12

from langgraph_reflexion.envs.actions import Action

MAP_CHARACTERS = 3000
"""The maximum number of characters of a memory map in a prompt."""


class ObservedStep(TypedDict):
    """The part of a trajectory's step that memory maps are made from."""

    action: Action | None
    observation: str


@dataclass(frozen=True, slots=True)
class MemoryMap:
    """A memory map (preprint): what trajectories have revealed about the world, in words."""

    lines: tuple[str, ...] = ()
    """One or several facts per line, the most important first."""
    known: dict[str, Any] = field(default_factory=dict)
    """The facts that still hold after a reset, as plain JSON in the graph's state; passed to the next trial's map."""

    @property
    def text(self) -> str:
        """The lines that fit into a prompt; empty if nothing is known yet."""
        shown: list[str] = []
        for number, line in enumerate(self.lines):
            if len("\n".join([*shown, line])) > MAP_CHARACTERS:
                return "\n".join([*shown, f"({len(self.lines) - number} more lines are omitted)"])
            shown.append(line)
        return "\n".join(shown)


class FinishedTrial(TypedDict):
    """A finished trial, as `SupportsReview.review` gets it."""

    number: int
    """The number of the trial, from 1."""
    actions: list[Action]
    """The actions, in order."""
    snapshot: dict[str, Any] | None
    """The episode's last snapshot, if it has any."""
    verdict: bool | None
    """The evaluator's verdict; None after a fault or an exceeded budget."""
    stop_reason: str
    feedback: str
    """The evaluation in words."""
    observation: str
    """The last observation."""
    reflection: str | None
    """The reflection on the trial."""


@dataclass(frozen=True, slots=True)
class Review:
    """What `SupportsReview.review` finds out about a trial.

    Raises:
        ValueError: a measure is not a finite number.
    """

    success: bool | None = None
    """The truth, if the reward does not tell it (such as the result of hidden tests)."""
    measures: dict[str, float] = field(default_factory=dict)
    """Further measures of the trial by name."""
    files: dict[str, str] = field(default_factory=dict)
    """Files of the trial: text by path below the run folder."""
    gradable: bool = True
    """Whether the truth of this task can be known; tasks without count in no rate."""

    def __post_init__(self) -> None:
        for name, measure in self.measures.items():
            if not math.isfinite(measure):
                raise ValueError(f"the measure {name!r} is {measure!r}, and a measure must be a finite number")


@dataclass(frozen=True, slots=True)
class TestOutcome:
    """The result of one test."""

    __test__ = False  # not a test class of pytest

    test: str
    passed: bool
    wanted: str = ""
    """The result that the test wants, in the notation of `output`; empty if the test names no single result."""
    output: str = ""
    """The actual result, in the language's notation (`repr`, Debug); empty if there is none."""
    error: str = ""
    """The exception, or what ended the program, in one line; empty if it returned."""

    def render(self) -> str:
        """Return the test, and if it failed what it wanted and what came out."""
        if self.passed:
            return self.test
        instead = self.error or "nothing came out"
        if self.output:
            instead = f"came out: {self.output}"
        if self.wanted:
            instead = f"wanted: {self.wanted}, {instead}"
        return f"{self.test}  -- {instead}"


def render_tests(outcomes: Sequence[TestOutcome]) -> str:
    """Return the results of tests in words: those that failed come first, as a prompt that is too long is cut."""
    passed = [outcome.render() for outcome in outcomes if outcome.passed]
    failed = [outcome.render() for outcome in outcomes if not outcome.passed]
    parts: list[str] = []
    if failed:
        parts += [f"{len(failed)} of {len(outcomes)} tests failed:", *failed]
    if passed:
        parts += [f"{len(passed)} of {len(outcomes)} tests passed:", *passed]
    return "\n".join(parts)
