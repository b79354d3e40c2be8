"""One trial for a reader: its steps, what was in its prompt, and how it differs from the trial before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langgraph_reflexion.lab.experiments.metrics import WRONG_ANSWER, failure, tokens
from langgraph_reflexion.lab.experiments.provenance import is_oracle
from langgraph_reflexion.lab.experiments.rows import TrialRow
from langgraph_reflexion.support.choices import Strategy
from langgraph_reflexion.support.text import count, printable

if TYPE_CHECKING:
    from langgraph_reflexion.state import Step

NO_PROMPTS = "No prompts are recorded: what they contained is derived from strategy and memory size."
"""The note on `TrialView.remembered` and `TrialView.last_attempt` of a run without recorded prompts."""

VERDICTS = {True: "accepted", False: "not accepted", None: "no verdict"}
TRUTHS = {True: "solved", False: "not solved", None: "not known"}
"""A verdict, and the truth, in words."""


@dataclass(frozen=True)
class TrialView:
    """One trial for a reader."""

    row: TrialRow
    remembered: list[int]
    """The trials whose reflections were in its prompt, oldest first."""
    last_attempt: int | None
    """The trial whose steps were in its prompt, if any."""
    shared_steps: int | None
    """N first steps that equal those of another trial, usually the one before; None if the steps of either are
    unknown."""
    shared_with: str = ""
    """The other trial, in words; if given, the shared steps are left out."""
    continued: Sequence[int] = ()
    """The trials whose conversation and world it continues, oldest first."""

    @property
    def steps(self) -> "list[Step]":
        return self.row.get("steps", [])

    @property
    def hidden_steps(self) -> int:
        """N first steps that are left out."""
        if not self.shared_with:
            return 0
        return self.shared_steps or 0

    @property
    def facts(self) -> list[str]:
        """What its prompts contained, and which of its steps are not shown, in sentences."""
        said: list[str] = []
        if self.last_attempt:
            said.append(f"In the prompt: every step of trial {self.last_attempt}.")
        if self.continued:
            said.append(f"In the prompt: the conversation of {_trials_in_words(self.continued)}, which goes on.")
        if self.remembered:
            said.append(f"In the prompt: reflections on {_trials_in_words(self.remembered)}.")
        ids = [lesson["id"] for lesson in self.row.get("lessons", [])]
        lessons = ", ".join(ids)
        if lessons:
            said.append(f"In the prompt: lessons {printable(lessons)}.")
        if "steps" not in self.row:
            said.append("Its steps were not recorded.")
        hidden = self.hidden_steps
        if hidden == 1:
            said.append(f"The first step is that {self.shared_with}.")
        elif hidden:
            said.append(f"The first {hidden} steps are those {self.shared_with}.")
        return said

    @property
    def outcome(self) -> str:
        """Verdict, truth, reason of failure and number of actions, in words."""
        row = self.row
        verdict = VERDICTS[row["verdict"]]
        if row.get("unverified"):
            verdict += " (unverified)"
        truth = TRUTHS[row["success"]]
        reason = reason_of(row)
        parts = [f"verdict: {verdict}", f"truth: {truth}"]
        if reason:
            parts.append(printable(reason))
        # An agent without tools takes none, and neither does a trial that a fault ends at once.
        if row["actions"]:
            parts.append(count(row["actions"], "action"))
        return ", ".join(parts)

    def as_json(self) -> dict[str, Any]:
        """Return the trial as plain JSON, every text printable."""
        row = self.row
        solved = row["success"]
        if solved is None:
            solved = row["verdict"]
        evaluation = row.get("evaluation")
        feedback = ""
        if evaluation:
            feedback = evaluation["feedback"]
        return {
            "trial": row["trial"],
            "verdict": row["verdict"],
            "unverified": row.get("unverified", False),
            "truth": row["success"],
            "solved": solved,
            "score": row["score"],
            "reason": printable(failure(row) or ""),
            "actions": row["actions"],
            "tokens": tokens(row),
            "remembered": self.remembered,
            "last_attempt": self.last_attempt,
            "continued": list(self.continued),
            "recorded": "steps" in row,
            "observation": printable(row.get("observation", "")),
            "shared_steps": self.shared_steps,
            "steps": [_step_as_json(step) for step in self.steps],
            "feedback": printable(feedback),
            "reflection": printable(row["reflection"] or ""),
            "notes": [printable(note) for note in row["notes"]],
            "fault": printable(row["fault"]),
        }


def reason_of(row: TrialRow) -> str:
    """Return why a trial failed; empty if it did not, or if it is only known that it was not accepted."""
    reason = failure(row) or ""
    if row["success"] is None and reason == WRONG_ANSWER:
        return ""
    return reason


def _trials_in_words(trials: Sequence[int]) -> str:
    """Return some trials in words: `trial 1`, `trials 1 and 2`, `trials 1, 2 and 3`."""
    if len(trials) == 1:
        return f"trial {trials[0]}"
    others = ", ".join(map(str, trials[:-1]))
    return f"trials {others} and {trials[-1]}"


def _step_as_json(step: "Step") -> list[Any]:
    """Return a step as a list, every text printable: its number, thought, action and observation."""
    action = None
    if step["action"]:
        action = printable(step["action"]["text"])
    return [step["number"], printable(step["thought"]), action, printable(step["observation"])]


def trial_views(settings: Mapping[str, Any], rows: Sequence[TrialRow]) -> list[TrialView]:
    """Return the trials of a task in order, from its run's settings and its own rows."""
    strategy = Strategy.RETRY
    # An imported log may have a strategy of its own, whose prompts are unknown.
    if settings["strategy"] in list(Strategy):
        strategy = Strategy(settings["strategy"])
    # Of an agent's trials nothing is known but the verdict.
    knows_truth = settings.get("actor") != "agent" or settings.get("truth") is not None
    truth_unknown = not knows_truth and not is_oracle(settings)
    views = []
    before: TrialRow | None = None
    for row in rows:
        if truth_unknown:
            row = row.copy()
            row["success"] = None
        remembered: list[int] = []
        if strategy.reflects:
            remembered = _remembered(settings, rows, row["trial"])
        attempt = None
        if strategy.shows_last_attempt and row["trial"] > 1:
            attempt = row["trial"] - 1
        continued: Sequence[int] = ()
        if strategy.continues:
            continued = range(1, row["trial"])
        shared = first_difference(before, row)
        views.append(TrialView(row, remembered, attempt, shared, f"of trial {row['trial'] - 1}", continued))
        before = row
    return views


def _remembered(settings: Mapping[str, Any], rows: Sequence[TrialRow], trial: int) -> list[int]:
    """Return the trials whose reflections were in the prompt of a trial, oldest first."""
    reflected: list[int] = []
    for row in rows:
        if row["reflection"] and row["trial"] < trial:
            reflected.append(row["trial"])
    size = settings.get("memory_size")
    # Other memories drop no reflection; at most they condense the oldest.
    windowed = settings.get("memory", "window") == "window"
    if windowed and size:
        return reflected[-size:]
    return reflected


def first_difference(before: TrialRow | None, now: TrialRow) -> int | None:
    """Return the index of the first step whose action or observation differs; None if either trial is unknown."""
    if before is None or "steps" not in before or "steps" not in now:
        return None
    if before.get("observation") != now.get("observation"):
        return 0
    shared = 0
    for one, other in zip(before["steps"], now["steps"], strict=False):
        if _visible(one) != _visible(other):
            break
        shared += 1
    return shared


def _visible(step: "Step") -> tuple[str, str]:
    """Return what the world shows of a step: its action and its observation."""
    # A step without an action is known by its thought.
    done = step["thought"]
    if step["action"]:
        done = step["action"]["text"]
    return done, step["observation"]
