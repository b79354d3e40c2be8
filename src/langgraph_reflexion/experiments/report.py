"""Reports: one run in numbers."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langgraph_reflexion.experiments.facts import described, is_oracle
from langgraph_reflexion.experiments.grid import Grid
from langgraph_reflexion.experiments.html import framed
from langgraph_reflexion.experiments.metrics import (
    failures_by_trial,
    measures_by_trial,
    rates,
    returned_by_trial,
    solved_by_trial,
    tokens_by_trial,
    verdicts,
)
from langgraph_reflexion.experiments.record import Run
from langgraph_reflexion.models.load import DEMO


@dataclass(frozen=True, repr=False)
class RunReport:
    """One run in numbers.

    Attributes:
        folder: The run folder.
        settings: The settings that it ran under.
        tasks: How many tasks it has that can be graded.
        ungradable: How many others it has, which count for no rate.
        unfinished: How many of all are neither solved nor out of trials, nor ended as a fault.
        solved: Tasks solved, cumulative by trial, in truth (see `experiments.metrics`).
        measures: What the environment measures of the answers (F1, say), as means by trial, where it measures any.
        failures: Why trials failed, counted by reason, for each trial (see `experiments.metrics.failures_by_trial`).
        tokens: Tokens that all tasks together have spent, cumulative by trial.
        verdicts: How often the verdict was right, over all trials; None for an oracle, which always is.
        answers: The same over the answers that the loop returned, one for each task (Table 2 of the paper).
        llm_calls: Model calls, reflections and verdicts included.
        input_tokens: Tokens sent.
        output_tokens: Tokens received.
        cached_calls: Model calls that were answered out of the cache; in none of the numbers above.
        cost: Money, at the prices of the settings.
        seconds: Wall time spent in trials; several run at once.
        faults: Trials that met a fault.
        errors: The tasks that the exception of a bug has ended, with the exception in one line; their tracebacks are
            in `errors.log` of the run folder.
        notes: What was not as it was meant to be, and in how many trials.
    """

    folder: Path
    settings: dict[str, Any]
    tasks: int
    ungradable: int
    unfinished: int
    solved: list[int]
    measures: dict[str, list[float]]
    failures: list[dict[str, int]]
    tokens: list[int]
    verdicts: dict[str, int] | None
    answers: dict[str, int] | None
    llm_calls: int
    input_tokens: int
    output_tokens: int
    cached_calls: int
    cost: float
    seconds: float
    faults: int
    errors: dict[str, str]
    notes: dict[str, int]

    @property
    def demo(self) -> bool:
        """True if the demo model took part, so that the numbers say nothing about an LLM."""
        return DEMO in (self.settings["model"], self.settings["reflection_model"])

    @property
    def per_solved(self) -> dict[str, float] | None:
        """Tokens, cost and seconds for each task solved in the end, failed trials included; None without any."""
        if not (self.solved and self.solved[-1]):
            return None
        spent = {"tokens": self.input_tokens + self.output_tokens, "cost": self.cost, "seconds": self.seconds}
        return {name: round(amount / self.solved[-1], 6) for name, amount in spent.items()}

    def share(self, tasks: float) -> float:
        """Return a number of tasks as a share of all; 0 if none can be graded."""
        return tasks / self.tasks if self.tasks else 0.0

    def as_json(self) -> dict[str, Any]:
        """The report as plain JSON."""
        return {
            "dir": str(self.folder),
            "settings": self.settings,
            "demo": self.demo,
            "tasks": self.tasks,
            "ungradable": self.ungradable,
            "unfinished": self.unfinished,
            "solved": self.solved,
            "measures": self.measures,
            "failures": self.failures,
            "tokens": self.tokens,
            "verdicts": self.verdicts,
            "answers": self.answers,
            "answer_rates": rates(self.answers) if self.answers else None,
            "llm_calls": self.llm_calls,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cached_calls": self.cached_calls,
            "cost": self.cost,
            "seconds": self.seconds,
            "per_solved": self.per_solved,
            "faults": self.faults,
            "errors": self.errors,
            "notes": self.notes,
        }

    def __repr__(self) -> str:
        return f"<report on {self.folder}: solved by trial {self.solved} of {self.tasks}>"

    def _repr_html_(self) -> str:
        """Return the report as a notebook shows it."""
        told: dict[str, Any] = {
            "solved by trial": ", ".join(map(str, self.solved)) + f" of {self.tasks}",
            "failed": ", ".join(
                f"{count} {reason}" for reason, count in sum(map(Counter, self.failures), Counter()).items()
            ),
            "model calls": f"{self.llm_calls:,}",
            "tokens": f"{self.input_tokens + self.output_tokens:,}",
            "cost": f"{self.cost:,.4f}",
        }
        rows = [(name, text) for name, text in told.items() if text]
        return framed(Grid(str(self.folder), ("run", ""), rows, described(self.settings)).html())


def report_run(run: Run) -> RunReport:
    """Report one run. Its curve ends where its trials ended, unless every task is finished."""
    rows, limit, gradable = run.trials, run.settings["max_trials"], set(run.gradable)
    known = [row for row in rows if row["task_id"] in gradable]
    last = {row["task_id"]: row for row in rows}
    finished = sum(bool(row["verdict"] or row["fault"] or row["trial"] >= limit) for row in last.values())
    total = len(run.info["tasks"])
    tasks = len(gradable)
    trials = limit if finished == total else max((row["trial"] for row in rows), default=0)
    return RunReport(
        folder=run.folder,
        settings=run.settings,
        tasks=tasks,
        ungradable=total - tasks,
        unfinished=total - finished,
        solved=solved_by_trial(known, trials),
        measures=measures_by_trial(known, trials, tasks),
        failures=failures_by_trial(rows, trials),
        tokens=tokens_by_trial(rows, trials),
        verdicts=None if is_oracle(run.settings) else verdicts(known),
        answers=None if is_oracle(run.settings) or not trials else verdicts(returned_by_trial(known, trials)[-1]),
        llm_calls=sum(row["llm_calls"] for row in rows),
        input_tokens=sum(row["input_tokens"] for row in rows),
        output_tokens=sum(row["output_tokens"] for row in rows),
        cached_calls=sum(row["cached_calls"] for row in rows),
        cost=round(sum(row["cost"] for row in rows), 6),
        seconds=round(sum(row["seconds"] for row in rows), 3),
        faults=sum(bool(row["fault"]) for row in rows),
        errors=run.errors,
        notes=dict(Counter(note.rpartition(": ")[2] for row in rows for note in row["notes"])),
    )
