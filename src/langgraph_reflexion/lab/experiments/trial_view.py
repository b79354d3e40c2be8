"""One trial for a reader: its steps, what was in its prompt, and how it differs from the trial before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
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

    @property
    def steps(self) -> "list[Step]":
        return self.row.get("steps", [])

    @property
    def hidden_steps(self) -> int:
        """N first steps that are left out."""
        return self.shared_steps or 0 if self.shared_with else 0

    @property
    def facts(self) -> list[str]:
        """What its prompts contained, and which of its steps are not shown, in sentences."""
        trials = " and ".join(", ".join(map(str, self.remembered)).rsplit(", ", 1))  # 1, 2 and 3
        lessons, hidden = ", ".join(each["id"] for each in self.row.get("lessons", [])), self.hidden_steps
        which = f"{hidden} steps are those" if hidden > 1 else "step is that"
        facts = {
            f"In the prompt: every step of trial {self.last_attempt}.": self.last_attempt,
            f"In the prompt: reflections on trial{'s' * (len(self.remembered) > 1)} {trials}.": trials,
            f"In the prompt: lessons {printable(lessons)}.": lessons,
            "Its steps were not recorded.": "steps" not in self.row,
            f"The first {which} {self.shared_with}.": hidden,
        }
        return [fact for fact, holds in facts.items() if holds]

    @property
    def outcome(self) -> str:
        """Verdict, truth, reason of failure and number of actions, in words."""
        row = self.row
        verdict = {True: "accepted", False: "not accepted", None: "no verdict"}[row["verdict"]]
        if row.get("unverified"):
            verdict += " (unverified)"
        truth = {True: "solved", False: "not solved", None: "not known"}[row["success"]]
        reason = failure(row) or ""
        if row["success"] is None and reason == WRONG_ANSWER:
            reason = ""  # it is only known that it was not accepted
        # An agent without tools takes none, and neither does a trial that a fault ends at once.
        actions = count(row["actions"], "action") if row["actions"] else ""
        parts = [f"verdict: {verdict}", f"truth: {truth}", printable(reason), actions]
        return ", ".join(part for part in parts if part)

    def as_json(self) -> dict[str, Any]:
        """Return the trial as plain JSON, every text printable."""
        row, evaluation = self.row, self.row.get("evaluation")
        return {
            "trial": row["trial"],
            "verdict": row["verdict"],
            "unverified": row.get("unverified", False),
            "truth": row["success"],
            "solved": row["verdict"] if row["success"] is None else row["success"],
            "score": row["score"],
            "reason": printable(failure(row) or ""),
            "actions": row["actions"],
            "tokens": tokens(row),
            "remembered": self.remembered,
            "last_attempt": self.last_attempt,
            "recorded": "steps" in row,
            "observation": printable(row.get("observation", "")),
            "shared_steps": self.shared_steps,
            "steps": [
                [
                    step["number"],
                    printable(step["thought"]),
                    printable(step["action"]["text"]) if step["action"] else None,
                    printable(step["observation"]),
                ]
                for step in self.steps
            ],
            "feedback": printable(evaluation["feedback"]) if evaluation else "",
            "reflection": printable(row["reflection"] or ""),
            "notes": [printable(note) for note in row["notes"]],
            "fault": printable(row["fault"]),
        }


def trial_views(settings: Mapping[str, Any], rows: Sequence[TrialRow]) -> list[TrialView]:
    """Return the trials of a task in order, from its run's settings and its own rows."""
    # An imported log may have a strategy of its own, whose prompts are unknown.
    known = settings["strategy"] in list(Strategy)
    strategy, views = Strategy(settings["strategy"]) if known else Strategy.RETRY, []
    before: TrialRow | None = None
    for row in rows:
        if settings.get("actor") == "agent" and not is_oracle(settings):
            # Of an agent's trials nothing is known but the verdict.
            row = TrialRow(**{**row, "success": None})
        reflected = [each["trial"] for each in rows if each["trial"] < row["trial"] and each["reflection"]]
        # Other memories drop no reflection; at most they condense the oldest.
        windowed = settings.get("memory", "window") == "window"
        size = (windowed and settings.get("memory_size")) or len(reflected)
        remembered = reflected[-size:] if strategy.reflects and size else []
        attempt = row["trial"] - 1 if strategy.shows_last_attempt and row["trial"] > 1 else None
        shared = first_difference(before, row)
        views.append(TrialView(row, remembered, attempt, shared, f"of trial {row['trial'] - 1}"))
        before = row
    return views


def first_difference(before: TrialRow | None, now: TrialRow) -> int | None:
    """Return the index of the first step whose action or observation differs; None if either trial is unknown."""
    if before is None or "steps" not in before or "steps" not in now:
        return None
    if before.get("observation") != now.get("observation"):
        return 0
    pairs = zip(before["steps"], now["steps"], strict=False)
    return sum(1 for _ in takewhile(lambda pair: _visible(pair[0]) == _visible(pair[1]), pairs))


def _visible(step: "Step") -> tuple[str, str]:
    # A step without an action is known by its thought.
    return step["action"]["text"] if step["action"] else step["thought"], step["observation"]
