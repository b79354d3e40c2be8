"""Views of a task's trials: prompt contents, every step, and the first difference from the trial before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph_reflexion.experiments.metrics import failure, tokens
from langgraph_reflexion.experiments.printable import printable
from langgraph_reflexion.experiments.rows import Key, TrajectoryRow, TrialRow
from langgraph_reflexion.state import Step, Strategy

ON_PROMPTS = "Prompt contents are derived from strategy and memory size: prompts themselves are not recorded."
"""The note beside `TrialView.remembered` and `TrialView.last_attempt`."""


@dataclass(frozen=True)
class TrialView:
    """One trial for a reader.

    Attributes:
        row: Its row.
        trajectory: Its steps; None if they were not recorded.
        remembered: The trials whose reflections were in its prompt, oldest first.
        last_attempt: The trial whose steps were in its prompt, if any.
        shared_steps: Number of first steps that equal those of another trial, usually the one before (see
            `first_difference`); None if the steps of either are unknown.
        shared_with: The other trial, in words; if given, the shared steps are left out.
    """

    row: TrialRow
    trajectory: TrajectoryRow | None
    remembered: list[int]
    last_attempt: int | None
    shared_steps: int | None
    shared_with: str = ""

    @property
    def steps(self) -> list[Step]:
        """Its steps."""
        return self.trajectory["steps"] if self.trajectory else []

    @property
    def hidden_steps(self) -> int:
        """Number of first steps that are left out."""
        return self.shared_steps or 0 if self.shared_with else 0

    @property
    def solved(self) -> bool | None:
        """Whether it truly solved the task; by the verdict if the truth is unknown."""
        return self.row["verdict"] if self.row["success"] is None else self.row["success"]

    @property
    def outcome(self) -> str:
        """Verdict, truth, reason of failure and number of actions, in words."""
        row = self.row
        verdict = {True: "accepted", False: "not accepted", None: "no verdict"}[row["verdict"]]
        truth = {True: "solved", False: "not solved", None: "not known"}[row["success"]]
        actions = f"{row['actions']} action{'s' * (row['actions'] != 1)}"
        parts = [f"verdict: {verdict}", f"truth: {truth}", printable(failure(row) or ""), actions]
        return ", ".join(part for part in parts if part)

    def as_json(self) -> dict[str, Any]:
        """Return the trial as plain JSON, every text printable."""
        row, trajectory = self.row, self.trajectory
        evaluation = trajectory["evaluation"] if trajectory else None
        return {
            "trial": row["trial"],
            "verdict": row["verdict"],
            "truth": row["success"],
            "score": row["score"],
            "reason": printable(failure(row) or ""),
            "actions": row["actions"],
            "tokens": tokens(row),
            "remembered": self.remembered,
            "last_attempt": self.last_attempt,
            "recorded": trajectory is not None,
            "observation": printable(trajectory["observation"]) if trajectory else "",
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


def trial_views(
    settings: Mapping[str, Any], rows: Sequence[TrialRow], steps: Mapping[Key, TrajectoryRow]
) -> list[TrialView]:
    """Return the trials of a task in order.

    Args:
        settings: The run's settings.
        rows: The task's trials.
        steps: The run's trajectories.
    """
    # An imported log may have a strategy of its own, whose prompts are unknown.
    known = settings["strategy"] in list(Strategy)
    strategy, views = Strategy(settings["strategy"]) if known else Strategy.RETRY, []
    before: TrajectoryRow | None = None
    for row in rows:
        trajectory = steps.get((row["task_id"], row["trial"]))
        reflected = [each["trial"] for each in rows if each["trial"] < row["trial"] and each["reflection"]]
        # Other memories drop no reflection; at most they condense the oldest.
        windowed = settings.get("memory", "window") == "window"
        size = (windowed and settings.get("memory_size")) or len(reflected)
        view = TrialView(
            row,
            trajectory,
            remembered=reflected[-size:] if strategy.reflects and size else [],
            last_attempt=row["trial"] - 1 if strategy.shows_last_attempt and row["trial"] > 1 else None,
            shared_steps=first_difference(before, trajectory),
            shared_with=f"of trial {row['trial'] - 1}",
        )
        views.append(view)
        before = trajectory
    return views


def first_difference(before: TrajectoryRow | None, now: TrajectoryRow | None) -> int | None:
    """Return the index of the first step whose action or observation differs; None if either trial is unknown."""
    if before is None or now is None:
        return None
    if before["observation"] != now["observation"]:
        return 0
    count = 0
    for one, other in zip(before["steps"], now["steps"], strict=False):
        if _visible(one) != _visible(other):
            break
        count += 1
    return count


def _visible(step: Step) -> tuple[str, str]:
    # A step without an action is known by its thought.
    return step["action"]["text"] if step["action"] else step["thought"], step["observation"]
