"""A task's trials for a reader: what was in the prompt, every step, and where a trial leaves the one before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph_reflexion.experiments.metrics import failure, tokens
from langgraph_reflexion.experiments.printable import printable
from langgraph_reflexion.experiments.record import Run
from langgraph_reflexion.experiments.rows import Key, TrajectoryRow, TrialRow
from langgraph_reflexion.state import Step, Strategy

ON_PROMPTS = "Worked out from strategy and memory size: prompts themselves are not recorded."
"""What has to be said beside `Story.remembered`."""


@dataclass(frozen=True)
class Story:
    """One trial.

    Attributes:
        row: Its row.
        trajectory: Its steps; None where they were not recorded.
        remembered: The trials whose reflections were in its prompt, oldest first (see `ON_PROMPTS`).
        last_attempt: The trial whose steps were in its prompt, if any.
        same: So many of its first steps are those of the trial before: action and observation, whatever was thought.
            None where the steps of one of both are not known.
    """

    row: TrialRow
    trajectory: TrajectoryRow | None
    remembered: list[int]
    last_attempt: int | None
    same: int | None

    @property
    def steps(self) -> list[Step]:
        """Its steps."""
        return self.trajectory["steps"] if self.trajectory else []

    @property
    def solved(self) -> bool | None:
        """Whether it solved the task: in truth, or where that is not known, by the verdict."""
        return self.row["verdict"] if self.row["success"] is None else self.row["success"]

    @property
    def outcome(self) -> str:
        """What came of it, in words."""
        row = self.row
        verdict = {True: "accepted", False: "not accepted", None: "no verdict"}[row["verdict"]]
        truth = {True: "solved", False: "not solved", None: "not known"}[row["success"]]
        parts = [
            f"verdict: {verdict}",
            f"truth: {truth}",
            printable(failure(row) or ""),
            f"{row['actions']} action{'s' * (row['actions'] != 1)}",
        ]
        return ", ".join(part for part in parts if part)

    def as_json(self) -> dict[str, Any]:
        """The trial as plain JSON, every text printable."""
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
            "same": self.same,
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


def stories(settings: Mapping[str, Any], rows: Sequence[TrialRow], steps: Mapping[Key, TrajectoryRow]) -> list[Story]:
    """A task's trials, in their order.

    Args:
        settings: The run's.
        rows: The task's trials.
        steps: The run's trajectories.
    """
    # Of a strategy that an imported log alone has, nobody knows what it showed.
    known = settings["strategy"] in list(Strategy)
    strategy, told = Strategy(settings["strategy"]) if known else Strategy.RETRY, []
    before: TrajectoryRow | None = None
    for row in rows:
        trajectory = steps.get((row["task_id"], row["trial"]))
        reflected = [each["trial"] for each in rows if each["trial"] < row["trial"] and each["reflection"]]
        # A memory without a window forgets nothing; at most it puts the oldest into one.
        windowed = settings.get("memory", "window") == "window"
        size = (windowed and settings.get("memory_size")) or len(reflected)
        told.append(
            Story(
                row,
                trajectory,
                remembered=reflected[-size:] if strategy.reflects and size else [],
                last_attempt=row["trial"] - 1 if strategy.shows_last_attempt and row["trial"] > 1 else None,
                same=parting(before, trajectory),
            )
        )
        before = trajectory
    return told


def stories_of(run: Run, task: str) -> list[Story]:
    """The trials of one task of a run."""
    return stories(run.settings, [row for row in run.trials if row["task_id"] == task], run.trajectories())


def parting(before: TrajectoryRow | None, now: TrajectoryRow | None) -> int | None:
    """In so many first steps two trials are the same; None where the steps of one of both are not known."""
    if before is None or now is None:
        return None
    if before["observation"] != now["observation"]:
        return 0
    count = 0
    for one, other in zip(before["steps"], now["steps"], strict=False):
        if _done(one) != _done(other):
            break
        count += 1
    return count


def _done(step: Step) -> tuple[str, str]:
    # A thought alone is told from another by its words.
    return step["action"]["text"] if step["action"] else step["thought"], step["observation"]
