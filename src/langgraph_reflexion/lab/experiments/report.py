"""The report of one run: success curve, failures, verdicts and costs."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from langgraph_reflexion.lab.experiments.metrics import (
    accepted_by_trial,
    answers_by_trial,
    confusion,
    confusion_rates,
    failures_by_trial,
    has_ended,
    lacks_tokens,
    measures_by_trial,
    on_budget,
    solved_by_trial,
    tokens,
    tokens_by_trial,
)
from langgraph_reflexion.lab.experiments.provenance import is_oracle
from langgraph_reflexion.lab.experiments.rows import TrialRow
from langgraph_reflexion.lab.experiments.runs import Run
from langgraph_reflexion.lab.in_turn import model_names, model_of
from langgraph_reflexion.models.load import DEMO
from langgraph_reflexion.models.recorded import NO_USAGE, REJECTED, Usage, add_usage, ended_at_no_gain, reused_tokens


class Metric(NamedTuple):
    """A row of the table of costs. `always` shows zeros, too."""

    label: str
    format: str
    always: bool = False


COSTS: dict[str, Metric] = {
    "llm_calls": Metric("model calls", ",d", always=True),
    "cached_calls": Metric("calls out of the cache", ",d"),
    "input_tokens": Metric("input tokens", ",d", always=True),
    "output_tokens": Metric("output tokens", ",d", always=True),
    "reused_tokens": Metric("tokens out of the cache", ",d"),
    "cost": Metric("cost", ",.4f"),
    "seconds": Metric("seconds in trials", ",.1f"),
    "tokens_per_solved": Metric("tokens per solved task", ",.0f", always=True),
    "cost_per_solved": Metric("cost per solved task", ",.4f"),
    "seconds_per_solved": Metric("seconds per solved task", ",.2f"),
    "reflections_rejected": Metric("reflections rejected", ",d"),
    "faults": Metric("faults", ",d", always=True),
    "failed_by_error": Metric("tasks ended by an error", ",d"),
}
"""Calls, tokens, money and time of a run, by their names in the JSON report. Model calls include those of reflections
and evaluators; calls out of the cache are free, and their tokens count only in those per solved task. Seconds are
wall time in trials, several of which run at once."""


@dataclass(frozen=True, repr=False)
class RunReport:
    """The numbers of one run."""

    folder: Path
    settings: dict[str, Any]
    tasks: int
    """N tasks that can be graded."""
    ungradable: int
    """N others, which count for no rate."""
    unfinished: int
    """N tasks that are neither solved nor out of trials, nor ended by a fault, on a budget, or by a rule of the
    profile."""
    on_budget: int
    """N tasks that ended on a budget, of their own or of the run."""
    stopped: int
    """N tasks that were not tried again after a trial that solved nothing new (`until_no_improvement`)."""
    no_gain: int
    """N tasks that stopped after three trials with the same score (`stop_at_no_gain`)."""
    solved: list[int]
    """Tasks truly solved, cumulative by trial (see `experiments.metrics`)."""
    measures: dict[str, list[float]]
    """The environment's measures of the answers (F1, say), as means by trial."""
    failures: list[dict[str, int]]
    """Failed trials by reason, for each trial (see `experiments.metrics.failure`)."""
    tokens: list[int]
    """Tokens spent by all tasks together, cumulative by trial."""
    accepted: list[int] | None
    """Tasks that the verdict calls solved, cumulative by trial; None for an oracle, and where no truth is known."""
    verdicts: dict[str, int] | None
    """Right and wrong verdicts over all trials; None for an oracle, and where no truth is known."""
    unverified: int
    """The number of trials in which nothing could be checked. Their verdict counts as a no, and under `upstream` as
    a yes."""
    answers: dict[str, int] | None
    """The same over the answers that the loop returned, one per task (Table 2 of the paper)."""
    costs: dict[str, float | None]
    models: dict[str, Usage]
    """What each model was asked, where several took part; empty where one did all."""
    changed_code: list[str]
    """Files of the user's code that were changed while the run went on."""
    errors: dict[str, str]
    """Tasks ended by an exception of a bug, with the exception in one line."""
    notes: dict[str, int]
    """Irregularities, and N trials with each."""

    @property
    def demo(self) -> bool:
        """True if the demo model took part, so that the numbers say nothing about an LLM."""
        return DEMO in (*model_names(self.settings["model"]), self.settings["reflection_model"])

    def share_of_all(self, amount: float) -> float:
        """Return an amount for each task, whether it can be graded or not; 0 without any."""
        tasks = self.tasks + self.ungradable
        if not tasks:
            return 0.0
        return amount / tasks

    def share(self, tasks: float) -> float:
        """Return a number of tasks as a share of all; 0 if none can be graded."""
        if not self.tasks:
            return 0.0
        return tasks / self.tasks

    def as_json(self) -> dict[str, Any]:
        rates = None
        if self.answers:
            rates = confusion_rates(self.answers)
        shown: dict[str, Any] = {"dir": str(self.folder), "demo": self.demo}
        shown.update(vars(self))
        # The folder is `dir`, and each cost has a name of its own.
        del shown["folder"]
        del shown["costs"]
        shown["answer_rates"] = rates
        shown.update(self.costs)
        return shown

    def __repr__(self) -> str:
        return f"<report on {self.folder}: solved by trial {self.solved} of {self.tasks}>"


def report_run(run: Run) -> RunReport:
    """Report one run. Its curve ends with its last trial, or at the limit if every task is finished."""
    rows = run.trials
    limit = run.settings["max_trials"]
    gradable = run.gradable
    ends = _ends(run, limit)
    stopped = 0
    # The rule `until_no_improvement` has stopped the run after this trial, and with it all tasks that had begun.
    if run.stopped_after is not None:
        stopped = ends.begun - ends.ended - ends.on_budget - ends.by_error
        limit = min(limit, run.stopped_after)
    finished = ends.ended + stopped + ends.on_budget
    total = len(run.tasks)
    tasks = len(gradable)
    trials = max((row["trial"] for row in rows), default=0)
    # Every task is finished, so no further trial would change the curve up to the limit.
    if finished == total:
        trials = limit
    answers = answers_by_trial(gradable.values(), trials)
    solved = solved_by_trial(answers)
    # Of an agent's trials nothing is known but the verdict, unless the truth is recorded.
    knows_truth = run.settings.get("actor") != "agent" or run.settings.get("truth") is not None
    judged = knows_truth and not is_oracle(run.settings)
    verdicts = None
    verdicts_on_answers = None
    accepted = None
    if judged:
        accepted = accepted_by_trial(answers)
        verdicts = confusion(list(chain.from_iterable(gradable.values())))
        if trials:
            verdicts_on_answers = confusion(answers[-1])
    solved_at_last = 0
    if solved:
        solved_at_last = solved[-1]
    return RunReport(
        folder=run.folder,
        settings=run.settings,
        tasks=tasks,
        ungradable=total - tasks,
        unfinished=total - finished,
        on_budget=ends.on_budget,
        stopped=stopped,
        no_gain=ends.no_gain,
        solved=solved,
        measures=measures_by_trial(answers, tasks),
        failures=failures_by_trial(rows, trials),
        tokens=tokens_by_trial(rows, trials),
        accepted=accepted,
        verdicts=verdicts,
        unverified=sum(row.get("unverified", False) for row in rows),
        answers=verdicts_on_answers,
        costs=_costs(run, solved_at_last),
        models=_models(run),
        changed_code=run.changed_code,
        errors=run.errors,
        notes=_notes(rows),
    )


class _Ends(NamedTuple):
    """How many tasks of a run have begun, and how they ended."""

    begun: int
    ended: int
    """Solved, out of trials, or by a fault or a rule."""
    on_budget: int
    by_error: int
    """Neither of these, but by an error."""
    no_gain: int


def _ends(run: Run, limit: int) -> _Ends:
    """Return how the tasks of a run ended, by the number of trials that each may have."""
    lasts = [trials[-1] for trials in run.tasks.values() if trials]
    ended = 0
    by_budget = 0
    by_error = 0
    no_gain = 0
    for last in lasts:
        if has_ended(last, limit):
            ended += 1
        elif on_budget(last):
            by_budget += 1
        elif last["task_id"] in run.errors:
            by_error += 1
        if ended_at_no_gain(last["notes"]):
            no_gain += 1
    return _Ends(len(lasts), ended, by_budget, by_error, no_gain)


def _notes(rows: Sequence[TrialRow]) -> dict[str, int]:
    """Return the number of trials with each note, whatever the note begins with."""
    counts = Counter[str]()
    for row in rows:
        for note in row["notes"]:
            irregularity = note
            # What is said of a reflection says nothing without its beginning.
            if not note.startswith(REJECTED):
                irregularity = note.rpartition(": ")[2]
            counts[irregularity] += 1
    return dict(counts)


def _costs(run: Run, solved: int) -> dict[str, float | None]:
    """Return the calls, tokens, money and time of a run, by the names in `COSTS`."""
    rows = run.trials
    cost = round(sum(row["cost"] for row in rows), 6)
    seconds = round(sum(row["seconds"] for row in rows), 3)
    spent: int | None = sum(map(tokens, rows))
    # An agent's model may report none, and older runs recorded none of cached calls.
    if not spent or lacks_tokens(rows):
        spent = None
    rejected = 0
    reused = 0
    for row in rows:
        reused += reused_tokens(row)
        rejected += sum(note.startswith(REJECTED) for note in row["notes"])
    return {
        "llm_calls": sum(row["llm_calls"] for row in rows),
        "cached_calls": sum(row["cached_calls"] for row in rows),
        "input_tokens": sum(row["input_tokens"] for row in rows),
        "output_tokens": sum(row["output_tokens"] for row in rows),
        "reused_tokens": reused,
        "cost": cost,
        "seconds": seconds,
        "tokens_per_solved": _share(spent, solved),
        "cost_per_solved": _share(cost, solved),
        "seconds_per_solved": _share(seconds, solved),
        "reflections_rejected": rejected,
        "faults": sum(bool(row["fault"]) for row in rows),
        "failed_by_error": len(run.errors),
    }


def _models(run: Run) -> dict[str, Usage]:
    """Return the usage of each model, where several took part; empty where one did all."""
    by_model: dict[str, Usage] = {}
    for row in run.trials:
        for node, usage in row.get("usage", {}).items():
            name = model_of(run.settings, row["trial"], node)
            by_model[name] = add_usage(by_model.get(name, NO_USAGE), usage)
    if len(by_model) < 2:
        return {}
    return by_model


def _share(amount: float | None, solved: int) -> float | None:
    """Return an amount for each solved task; None without any."""
    if amount is None or not solved:
        return None
    return round(amount / solved, 6)
