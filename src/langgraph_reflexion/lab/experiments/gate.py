"""A gate for continuous integration: whether runs are good enough, by a share of solved tasks or by another run."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.lab.experiments.groups import RunGroup, group_runs, name_without_seed
from langgraph_reflexion.lab.experiments.metrics import final_answer
from langgraph_reflexion.lab.experiments.pairing import pair
from langgraph_reflexion.lab.experiments.runs import Run, read_runs
from langgraph_reflexion.lab.experiments.statistics import p_clause
from langgraph_reflexion.support.text import count


@dataclass(frozen=True)
class Gate:
    """What runs have to reach. Runs that differ only in their seed are judged together.

    Attributes:
        fail_below: The least share of solved tasks, from 0 to 1; None for any. A task that a fault or an error has
            ended counts as unsolved.
        baseline: A run, or runs that differ only in their seed. On the tasks that both have, within the same number
            of trials, no run may be significantly worse (sign test, p < 0.05). None for no such comparison.

    Raises:
        ConfigurationError: `fail_below` is not a share.
    """

    fail_below: float | None = None
    baseline: RunGroup | None = None

    def __post_init__(self) -> None:
        share = self.fail_below
        # This refuses NaN, too: no share is below NaN, so the gate would always pass.
        if share is not None and not 0 <= share <= 1:
            raise ConfigurationError(f"--fail-below {share:g}: give a share of tasks from 0 to 1, as in 0.8")

    def complaints(self, runs: Sequence[Run]) -> list[str]:
        """Return why the gate fails, a clause for each reason; nothing if it passes."""
        if not runs:
            return ["there is no run"]
        found: list[str] = []
        for group in group_runs(runs, name_without_seed):
            name = name_without_seed(group.runs[0])
            tasks = sum(len(run.gradable) for run in group.runs)
            if not tasks:
                found.append(f"{name} has no task that can be graded")
                continue
            solved = sum(map(_solved, group.runs))
            share = solved / tasks
            if self.fail_below is not None and share < self.fail_below:
                found.append(
                    f"{name} solved {solved} of {tasks} tasks ({share:.1%}), which is below {self.fail_below:g}"
                )
            if self.baseline:
                found += _worse(group, name, self.baseline)
        return found


def read_baseline(folder: Path) -> RunGroup:
    """Return the run in a folder, or the runs in it that differ only in their seed, to compare others with.

    Raises:
        ConfigurationError: it holds no run that can be read, or runs that differ in more.
    """
    runs, left_out = read_runs([folder])
    if left_out:
        raise ConfigurationError(f"--not-worse-than {folder}: {left_out[0]}")
    groups = group_runs(runs, name_without_seed)
    if len(groups) > 1:
        names = ", ".join(run.folder.name for run in runs)
        raise ConfigurationError(
            f"--not-worse-than {folder}: its runs differ in more than their seed: name one of {names}"
        )
    return groups[0]


def _solved(run: Run) -> int:
    """Return the number of tasks whose answer is truly right, and that neither a fault nor an error has ended."""
    solved = 0
    for task, rows in run.gradable.items():
        if not rows or rows[-1]["fault"] or task in run.errors:
            continue
        if final_answer(rows)["success"]:
            solved += 1
    return solved


def _not_begun(group: RunGroup) -> int:
    """Return the number of tasks without a trial, which no error has ended."""
    found = 0
    for run in group.runs:
        for task, rows in run.gradable.items():
            if not rows and task not in run.errors:
                found += 1
    return found


def _worse(group: RunGroup, name: str, baseline: RunGroup) -> list[str]:
    """Return why a group is worse than the baseline, or cannot be compared with it; empty if it is not worse."""
    folder = baseline.runs[0].folder
    compared = pair(group, baseline)
    if not compared.matches:
        why = " ".join(compared.notes)
        return [f"{name} cannot be compared with {folder}: {why.rstrip('.')}"]
    not_begun = _not_begun(group)
    if not_begun:
        return [f"{name} cannot be compared with {folder}: {count(not_begun, 'task')} of it have not begun"]
    # The first match is always the one at equal trials; that at equal tokens does not count here.
    at_equal_trials = compared.matches[0]
    test = at_equal_trials.test
    # A loss is a task on which the baseline is better; a win is one on which the group is.
    if not test.significant or test.losses < test.wins:
        return []
    ours, theirs = at_equal_trials.solved
    tasks = at_equal_trials.of
    within = count(at_equal_trials.amount, "trial")
    return [
        f"{name} is worse than {folder}: {ours} and {theirs} of {tasks} tasks solved within "
        f"{within} ({p_clause(test.p)})"
    ]
