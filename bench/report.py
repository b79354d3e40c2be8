"""What a run folder says, as numbers: one run or several."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langgraph_reflexion.bench.curve import failures_by_trial, measures_by_trial, solved_by_trial, verdicts
from langgraph_reflexion.bench.record import Run, read_run
from langgraph_reflexion.models.load import DEMO


@dataclass(frozen=True)
class RunReport:
    """One run in numbers.

    Attributes:
        folder: The run folder.
        settings: The settings that it ran under.
        tasks: How many tasks it has.
        unfinished: How many of them are neither solved nor out of trials, nor ended as a fault.
        solved: Tasks solved, cumulative by trial, in truth (see `bench.curve`).
        measures: What the environment measures of the answers (F1, say), as means by trial, where it measures any.
        failures: Why trials failed, counted by reason, for each trial.
        verdicts: How often the verdict was right; None for an oracle, which always is.
        llm_calls: Model calls, reflections and verdicts included.
        input_tokens: Tokens sent.
        output_tokens: Tokens received.
        cached_calls: Model calls that were answered out of the cache; in none of the numbers above.
        cost: Money, at the prices of the settings.
        faults: Trials that met a fault.
        notes: What was not as it was meant to be, and in how many trials.
    """

    folder: Path
    settings: dict[str, Any]
    tasks: int
    unfinished: int
    solved: list[int]
    measures: dict[str, list[float]]
    failures: list[dict[str, int]]
    verdicts: dict[str, int] | None
    llm_calls: int
    input_tokens: int
    output_tokens: int
    cached_calls: int
    cost: float
    faults: int
    notes: dict[str, int]

    @property
    def demo(self) -> bool:
        """Whether the demo model took part, so that the numbers say nothing about an LLM."""
        return DEMO in (self.settings["model"], self.settings["reflection_model"])

    def as_json(self) -> dict[str, Any]:
        """The report as plain JSON."""
        return {
            "dir": str(self.folder),
            "settings": self.settings,
            "demo": self.demo,
            "tasks": self.tasks,
            "unfinished": self.unfinished,
            "solved": self.solved,
            "measures": self.measures,
            "failures": self.failures,
            "verdicts": self.verdicts,
            "llm_calls": self.llm_calls,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cached_calls": self.cached_calls,
            "cost": self.cost,
            "faults": self.faults,
            "notes": self.notes,
        }


def report_runs(folders: list[Path]) -> list[RunReport]:
    """Report several run folders.

    Raises:
        ConfigurationError: one of them holds no run.
    """
    return [report_run(read_run(folder)) for folder in folders]


def report_run(run: Run) -> RunReport:
    """Report one run. Its curve ends where its trials ended, unless every task is finished."""
    rows, limit = run.trials, run.settings["trials"]
    last = {row["task_id"]: row for row in rows}
    finished = sum(bool(row["verdict"] or row["fault"] or row["trial"] >= limit) for row in last.values())
    tasks = len(run.info["tasks"])
    trials = limit if finished == tasks else max((row["trial"] for row in rows), default=0)
    return RunReport(
        folder=run.folder,
        settings=run.settings,
        tasks=tasks,
        unfinished=tasks - finished,
        solved=solved_by_trial(rows, trials),
        measures=measures_by_trial(rows, trials, tasks),
        failures=failures_by_trial(rows, trials),
        verdicts=None if run.settings["oracle"] else verdicts(rows),
        llm_calls=sum(row["llm_calls"] for row in rows),
        input_tokens=sum(row["input_tokens"] for row in rows),
        output_tokens=sum(row["output_tokens"] for row in rows),
        cached_calls=sum(row["cached_calls"] for row in rows),
        cost=round(sum(row["cost"] for row in rows), 6),
        faults=sum(bool(row["fault"]) for row in rows),
        notes=dict(Counter(note.rpartition(": ")[2] for row in rows for note in row["notes"])),
    )
