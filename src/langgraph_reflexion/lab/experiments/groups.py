"""Groups of runs that differ only in their seed: each is one column of a table and one line of a figure."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from string import ascii_uppercase
from typing import Any

from langgraph_reflexion.lab.experiments.diagnostics import Diagnostics, diagnose
from langgraph_reflexion.lab.experiments.metrics import answers_by_trial, final_answer
from langgraph_reflexion.lab.experiments.provenance import BETWEEN, code_of, facts
from langgraph_reflexion.lab.experiments.report import RunReport, report_run
from langgraph_reflexion.lab.experiments.rows import TrialRow
from langgraph_reflexion.lab.experiments.runs import Run
from langgraph_reflexion.lab.experiments.statistics import Interval, SeedStats, interval, seed_stats
from langgraph_reflexion.lab.run_settings import RunSettings
from langgraph_reflexion.support.text import count, printable

TaskSeed = tuple[str, int]
"""The unit of pairing: a task's id, and a seed."""
BySeed = defaultdict[str, list[bool]]
"""By task: whether it is solved under each seed."""

DESCRIBED = (
    "environment",
    "split",
    "options",
    "model",
    "reflection_model",
    "actor",
    "profile",
    "evaluator",
    "truth",
    "strategy",
    "prices",
    "base_url",
    "imported",
    "memory_map",
    "rejects_answers",
    "facts",
    "lessons",
    "recall",
    "frozen",
)
"""Settings that `facts` describes, or that affect nothing but money."""

FREE = frozenset(RunSettings.resumable("free")) | {"seed", "database", "checkpoints"}
"""Settings in which the runs of a group may differ."""


@dataclass(frozen=True)
class RunGroup:
    """One run, or several that differ only in their seed."""

    label: str
    """Its name: a letter, if there are several groups, and the strategy."""
    runs: tuple[Run, ...]
    """The runs, one for each seed."""
    report: RunReport
    """The report of all of them together."""
    differences: dict[str, str] = field(default_factory=dict)
    """Settings in which the groups differ and which `experiments.provenance` does not describe, and files of code."""

    @property
    def settings(self) -> dict[str, Any]:
        return self.runs[0].settings

    @property
    def name(self) -> str:
        """The letter, if it is one of several groups; otherwise the strategy."""
        words = self.label.split()
        if not words:
            # In a folder from elsewhere, the strategy may be a blank.
            return "run"
        return words[0]

    @property
    def facts(self) -> dict[str, str]:
        """The settings that its numbers depend on, described, by name."""
        shown = facts(self.settings) | self.differences
        if "imported" in self.settings:
            return shown
        seeds = [str(run.settings["seed"]) for run in self.runs]
        in_words = printable(", ".join(seeds))
        shown["seed"] = f"seed {in_words}"
        if len(seeds) > 1:
            shown["seed"] = f"seeds {in_words}"
        first = self.runs[0]
        shown["code"] = code_of(first.info)
        return shown

    def trials(self) -> dict[TaskSeed, list[TrialRow]]:
        """Return the trials of every task and seed in order; an empty list if there is none yet."""
        found: dict[TaskSeed, list[TrialRow]] = {}
        for run in self.runs:
            seed = run.settings["seed"]
            for task, rows in run.tasks.items():
                found[task, seed] = rows
        return found

    def goals(self) -> dict[TaskSeed, str]:
        """Return the text of every task under every seed, where it was recorded."""
        found: dict[TaskSeed, str] = {}
        for run in self.runs:
            seed = run.settings["seed"]
            for task, goal in run.goals.items():
                found[task, seed] = goal
        return found

    @property
    def distinct_tasks(self) -> int:
        """Number of its gradable tasks, each once, though it may have been run under several seeds."""
        tasks: set[str] = set()
        for run in self.runs:
            tasks.update(run.gradable)
        return len(tasks)

    @property
    def tasks_in_words(self) -> str:
        """Its tasks, counted, and under how many seeds each was run."""
        tasks = count(self.distinct_tasks, "task")
        if len(self.runs) == 1:
            return tasks
        if self.distinct_tasks == self.report.tasks:
            # Each seed has made tasks of its own.
            return f"{tasks} of {len(self.runs)} seeds"
        return f"{tasks} under {len(self.runs)} seeds"

    def seen(self) -> set[TaskSeed]:
        """Return the tasks from which lessons had been learned before the run began."""
        found: set[TaskSeed] = set()
        for run in self.runs:
            seed = run.settings["seed"]
            for task in run.info.get("seen", []):
                found.add((task, seed))
        return found

    @property
    def unknown(self) -> int:
        """Number of answered tasks whose truth is unknown."""
        unknown = 0
        for rows in self.trials().values():
            if rows and _truth_is_unknown(final_answer(rows)):
                unknown += 1
        return unknown

    @cached_property
    def diagnostics(self) -> Diagnostics:
        """Signs of reflections that do not help, in all runs together; reads their trials again."""
        return diagnose(self.runs)

    def intervals(self) -> list[Interval | None]:
        """Return, for each trial, the 95% interval of the share of solved tasks."""
        trials = len(self.report.solved)
        # For each trial, by task: whether each seed has solved it.
        solved = [BySeed(list) for _ in range(trials)]
        for run in self.runs:
            gradable = run.gradable
            answers_of = answers_by_trial(run.tasks.values(), trials)
            for by_task, answers in zip(solved, answers_of, strict=True):
                right = {row["task_id"] for row in answers if row["success"]}
                # A task without an answer yet counts as unsolved.
                for task in gradable:
                    by_task[task].append(task in right)
        return [interval(by_task) for by_task in solved]

    def by_seed(self) -> list[SeedStats]:
        """Return, for each trial that all runs have reached, the statistics over seeds.

        A run that has ended keeps its last value: further trials would solve nothing for it.
        """
        longest = len(self.report.solved)
        curves: list[list[float]] = []
        for run in self.runs:
            report = report_run(run)
            curve = [report.share(solved) for solved in report.solved]
            if curve and not report.unfinished:
                curve += [curve[-1]] * (longest - len(curve))
            curves.append(curve)
        reached = min(map(len, curves))
        found: list[SeedStats] = []
        for trial in range(reached):
            shares = [curve[trial] for curve in curves]
            found.append(seed_stats(shares))
        return found

    def as_json(self) -> dict[str, Any]:
        by_seed = self.by_seed()
        return {
            "label": self.label,
            "runs": [str(run.folder) for run in self.runs],
            "facts": self.facts,
            "solved": self.report.solved,
            "intervals": self.intervals(),
            "tasks": self.report.tasks,
            "tokens": self.report.tokens,
            "diagnostics": self.diagnostics.as_json(),
            "over_seeds": {
                "seeds": [run.settings["seed"] for run in self.runs],
                "shares": [each.shares for each in by_seed],
                "mean": [each.mean for each in by_seed],
                "sd": [each.sd for each in by_seed],
            },
        }


def group_runs(runs: Sequence[Run], name: Callable[[Run], str] | None = None) -> tuple[RunGroup, ...]:
    """Group runs that differ only in their seed, each named by its first run (`name`; by default its strategy)."""
    name = name or _strategy
    together = _alike(runs)
    firsts = [group[0] for group in together]
    differences = _differences([run.settings for run in firsts])
    differences_in_code = _differences_in_code(firsts)
    groups: list[RunGroup] = []
    for number, group in enumerate(together):
        label = printable(name(firsts[number]))
        # Two groups may have the same strategy.
        if len(together) > 1:
            label = f"{_letters(number)} {label}"
        made = RunGroup(
            label,
            runs=tuple(group),
            report=report_run(_pooled(group)),
            differences=differences[number] | differences_in_code[number],
        )
        groups.append(made)
    return tuple(groups)


def name_without_seed(run: Run) -> str:
    """Return the name of a run's folder without the seed that an experiment adds to it."""
    return run.folder.name.removesuffix(f"-s{run.settings['seed']}")


def _strategy(run: Run) -> str:
    return str(run.settings["strategy"])


def _letters(number: int) -> str:
    """Return the letter of a group: A, B, ...; after Z they are doubled."""
    rounds, place = divmod(number, 26)
    return ascii_uppercase[place] * (rounds + 1)


def _alike(runs: Sequence[Run]) -> list[list[Run]]:
    """Return the runs in groups that differ only in their seed, which is another one for each run of a group."""
    groups: list[list[Run]] = []
    for run in runs:
        group = _group_for(run, groups)
        if group is None:
            groups.append([run])
        else:
            group.append(run)
    return groups


def _group_for(run: Run, groups: Sequence[list[Run]]) -> list[Run] | None:
    """Return the first group to which a run belongs; None if it belongs to none of them."""
    key = _key(run)
    for group in groups:
        seeds = [other.settings["seed"] for other in group]
        if run.settings["seed"] not in seeds and _key(group[0]) == key:
            return group
    return None


def caption(groups: Sequence[RunGroup]) -> str:
    """Describe what the groups share and where they differ, in one line."""
    facts_of = [each.facts for each in groups]
    shared: list[str] = []
    differing: list[str] = []
    for name in _names_in(facts_of):
        if _is_shared(name, facts_of):
            shared.append(name)
        else:
            differing.append(name)
    # Groups that differ in the same way are named together.
    groups_by_own: dict[str, list[str]] = defaultdict(list)
    for group, known in zip(groups, facts_of, strict=True):
        own = [known[name] for name in differing if name in known]
        groups_by_own[", ".join(own)].append(group.name)
    first = facts_of[0]
    parts = [first[name] for name in shared]
    for own_facts, who in groups_by_own.items():
        if own_facts:
            parts.append(f"{', '.join(who)}: {own_facts}")
    return BETWEEN.join(parts)


def _names_in(several: Sequence[dict[str, Any]]) -> list[str]:
    """Return the names in any of several dictionaries, in order, each once."""
    names: dict[str, None] = {}
    for each in several:
        names.update(dict.fromkeys(each))
    return list(names)


def _is_shared(name: str, several: Sequence[dict[str, Any]]) -> bool:
    """Return whether a name has the same value in all of them, or is missing in all."""
    value = several[0].get(name)
    return all(each.get(name) == value for each in several)


def _key(run: Run) -> tuple[dict[str, Any], str, dict[str, str]]:
    """Return what runs of one group have in common."""
    settings = dict(run.settings)
    for name in FREE:
        settings.pop(name, None)
    # The folder of the lessons, and that of the first trials, may differ, but not whether there is one.
    for folder in ("lessons", "first_trial_of"):
        settings[folder] = bool(settings.get(folder))
    return settings, code_of(run.info), run.own_code


def _differences(settings: Sequence[dict[str, Any]]) -> list[dict[str, str]]:
    """Return, for each, the settings that differ from another's and that `facts` does not describe."""
    differing: list[str] = []
    for name in _names_in(settings):
        if name in DESCRIBED or name in FREE:
            continue
        if not _is_shared(name, settings):
            differing.append(name)
    return [_in_words(each, differing) for each in settings]


def _differences_in_code(runs: Sequence[Run]) -> list[dict[str, str]]:
    """Return, for each run, the files of the user's code that another run has in another version, by name.

    A file that only some of the runs use is a difference in their settings.
    """
    versions: dict[str, set[str]] = defaultdict(set)
    for run in runs:
        for file, digest in run.own_code.items():
            versions[file].add(digest)
    found: list[dict[str, str]] = []
    for run in runs:
        differing: dict[str, str] = {}
        for file, digest in run.own_code.items():
            if len(versions[file]) > 1:
                differing[file] = printable(f"{file} in version {digest[:8]}")
        found.append(differing)
    return found


def _in_words(settings: dict[str, Any], names: Sequence[str]) -> dict[str, str]:
    """Return those of some settings that are known as texts for a reader, by name."""
    found: dict[str, str] = {}
    for name in names:
        value = settings.get(name)
        # The other run says what this one does without.
        if value is None or value == {}:
            continue
        label = name.replace("_", " ")
        found[name] = printable(f"{label} {_value_in_words(value)}")
    return found


def _value_in_words(value: Any, key: str = "") -> str:
    """Return the value of a setting, a table as `KEY.KEY=VALUE`."""
    if not isinstance(value, dict):
        if not key:
            return str(value)
        return f"{key}={value}"
    parts: list[str] = []
    for name, each in value.items():
        inside = str(name)
        if key:
            inside = f"{key}.{name}"
        parts.append(_value_in_words(each, inside))
    return ", ".join(parts)


def _truth_is_unknown(answer: TrialRow) -> bool:
    """Return whether nobody knows if an answer is right, though it could be graded and was not cut short."""
    if answer["success"] is not None or not answer.get("gradable", True):
        return False
    return answer["stop_reason"] not in ("fault", "budget")


def _pooled(runs: Sequence[Run]) -> Run:
    """Return the runs as one that has every task once for each seed."""
    if len(runs) == 1:
        return runs[0]
    tasks: dict[str, list[TrialRow]] = {}
    errors: dict[str, str] = {}
    for run in runs:
        seed = run.settings["seed"]
        for task, rows in run.tasks.items():
            tasks[f"{task} (seed {seed})"] = rows
        for task, error in run.errors.items():
            errors[f"{task} (seed {seed})"] = error
    info = dict(runs[0].info)
    info["errors"] = errors
    info["stopped_after"] = None
    reports = [report_run(run) for run in runs]
    unfinished = any(report.unfinished for report in reports)
    stopped = any(report.stopped for report in reports)
    if stopped and not unfinished:
        # Each seed ends after a trial of its own; the curve goes on to the longest.
        info["stopped_after"] = max(len(report.solved) for report in reports)
    return Run(runs[0].folder, info, tasks)
