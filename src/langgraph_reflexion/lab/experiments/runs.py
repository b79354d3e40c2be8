"""Run folders as they are read: finished runs, and those that are still going on."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.lab.experiments.expected import ReadInfo
from langgraph_reflexion.lab.experiments.html import framed
from langgraph_reflexion.lab.experiments.metrics import answers_by_trial, solved_by_trial
from langgraph_reflexion.lab.experiments.provenance import described
from langgraph_reflexion.lab.experiments.rows import Key, TrialRow, key_of
from langgraph_reflexion.lab.experiments.run_files import (
    RUN,
    SENT,
    TRIALS,
    calls_at,
    expect_type,
    places_in,
    reading,
    trials_and_places,
    whole_rows,
)
from langgraph_reflexion.lab.experiments.tables import Table
from langgraph_reflexion.models.recorded import WholeCall
from langgraph_reflexion.support.text import printable


@dataclass(frozen=True, repr=False)
class Run:
    """A run folder as read: its `run.json`, and the trials of each task."""

    folder: Path
    info: dict[str, Any]
    tasks: dict[str, list[TrialRow]]
    """Its tasks in their order: the trials of each, without their trajectories."""
    places: dict[Key, int] = field(default_factory=dict)
    """Where the rows begin in `trials.jsonl`, in bytes."""
    sent_places: dict[Key, int] = field(default_factory=dict)
    """Where the rows begin in `prompts.jsonl`, in bytes, once they have been looked for."""

    @property
    def trials(self) -> list[TrialRow]:
        """The trials of all tasks."""
        rows: list[TrialRow] = []
        for of_task in self.tasks.values():
            rows += of_task
        return rows

    @property
    def settings(self) -> dict[str, Any]:
        settings: dict[str, Any] = self.info["settings"]
        return settings

    @property
    def goals(self) -> dict[str, str]:
        """The instructions of its tasks, by id; an imported log has none."""
        goals: dict[str, str] = self.info.get("goals", {})
        return goals

    @property
    def stopped_after(self) -> int | None:
        """The trial after which the run ended as it had solved nothing new (`until_no_improvement`); else None."""
        trial: int | None = self.info.get("stopped_after")
        return trial

    @property
    def gradable(self) -> dict[str, list[TrialRow]]:
        """Its tasks without those that cannot be graded, which no rate counts."""
        return {task: rows for task, rows in self.tasks.items() if _is_gradable(rows)}

    @property
    def names_of_tasks(self) -> dict[str, str]:
        """What names each task in a command: its number, counted from 1, or its id where ids are other numbers."""
        numbers = {task: str(number) for number, task in enumerate(self.tasks, 1)}
        for task, number in numbers.items():
            # A number that is also another task's id names that task.
            if number != task and number in self.tasks:
                return {each: printable(each) for each in self.tasks}
        return numbers

    @property
    def own_code(self) -> dict[str, str]:
        """A digest of each file of the user's code, by the file."""
        code: dict[str, str] = self.info.get("code", {})
        return code

    @property
    def changed_code(self) -> list[str]:
        """Files of the user's code that were changed while the run went on."""
        files: list[str] = self.info.get("changed_code", [])
        return files

    @property
    def errors(self) -> dict[str, str]:
        """The tasks that ended by a bug, and the exception in one line."""
        errors: dict[str, str] = self.info.get("errors", {})
        return errors

    def whole_trials(self, task: str) -> list[TrialRow]:
        """Read the trials of a task again, with their trajectories, which may be large.

        Raises:
            ConfigurationError: they can no longer be read.
        """
        keys = [key_of(row) for row in self.tasks.get(task, ())]
        if not keys:
            return []
        with reading(self.folder, TRIALS):
            try:
                return whole_rows(self.folder / TRIALS, keys, self.places)
            except (ValueError, KeyError, TypeError):
                # The run went on, and its rows are in other places.
                _, places = trials_and_places(self.folder, self.info["tasks"])
                self.places.clear()
                self.places.update(places)
                still_there = [key for key in keys if key in places]
                return whole_rows(self.folder / TRIALS, still_there, places)

    @property
    def has_prompts(self) -> bool:
        """Whether prompts are recorded: not in an imported log, nor by versions that recorded none."""
        file = self.folder / SENT
        return file.exists() and file.stat().st_size > 0

    def calls(self, trial: Key) -> list[WholeCall]:
        """Read the model calls of a trial, with their whole prompts; there are none if they are not recorded.

        Raises:
            ConfigurationError: they cannot be read.
        """
        path = self.folder / SENT
        with reading(self.folder, SENT):
            if not self.sent_places:
                self.sent_places.update(places_in(path))
            if trial not in self.sent_places:
                return []
            try:
                return calls_at(path, trial, self.sent_places)
            except (ValueError, KeyError, TypeError):
                # The run went on, and its rows are in other places.
                self.sent_places.update(places_in(path))
                return calls_at(path, trial, self.sent_places)

    def __repr__(self) -> str:
        return f"<run {self.folder}: {described(self.settings)}, {len(self.trials)} trials>"

    def _repr_html_(self) -> str:
        trials = max((row["trial"] for row in self.trials), default=0)
        solved = solved_by_trial(answers_by_trial(self.tasks.values(), trials))
        rows: list[list[str]] = []
        for trial, count in enumerate(solved, 1):
            rows.append([str(trial), f"{count} of {len(self.tasks)}"])
        table = Table(str(self.folder), ("trial", "solved"), rows, described(self.settings))
        return framed(table.html())


def holds_run(folder: Path | str) -> bool:
    """Return whether a run was begun in this folder."""
    return Path(folder, RUN).exists()


def read_info(folder: Path | str) -> dict[str, Any]:
    """Return the `run.json` of a run that can be resumed.

    Raises:
        ConfigurationError: there is no such run.
    """
    folder = Path(folder)
    info = _info(folder)
    if "imported" in info["settings"]:
        raise ConfigurationError(f"{folder} holds an imported log, which cannot be resumed")
    with reading(folder):
        if "run_id" not in info:
            raise ValueError(f"{RUN} lacks run_id")
    return info


def read_run(folder: Path | str) -> Run:
    """Read a run folder, finished or not.

    Raises:
        ConfigurationError: it holds no run, or one that is incomplete.
    """
    folder = Path(folder)
    info = _info(folder)
    with reading(folder, TRIALS):
        # A run that has not come to its end may have no trial yet.
        if "seconds" in info and not (folder / TRIALS).exists():
            raise ValueError(f"there is no {TRIALS}")
        tasks, places = trials_and_places(folder, info["tasks"])
        return Run(folder, info, tasks, places)


def _info(folder: Path) -> dict[str, Any]:
    if not holds_run(folder):
        why = f"there is no {RUN}"
        inside = sorted(path.parent.name for path in folder.glob(f"*/{RUN}"))
        if folder.is_file():
            why = "it is a file"
        elif inside:
            # Of an experiment.
            why = f"name one of those in it, such as {folder / inside[0]}"
        raise ConfigurationError(f"{folder} holds no run: {why}")
    _expect_own_files(folder)
    with reading(folder):
        text = (folder / RUN).read_text(encoding="utf-8")
        info: dict[str, Any] = json.loads(text)
        expect_type(ReadInfo, info, RUN, "mend it")
    return info


def _expect_own_files(folder: Path) -> None:
    """Refuse links and pipes in place of the files that are read: the folder may be from somebody else."""
    for name in (RUN, TRIALS, SENT):
        path = folder / name
        if path.is_symlink():
            raise ConfigurationError(
                f"{path} is a link, and a run folder is read without leaving it: put the file in its place"
            )
        if path.exists() and not path.is_file():
            raise ConfigurationError(f"{path} is not an ordinary file")


def read_runs(folders: Sequence[Path | str]) -> tuple[list[Run], list[str]]:
    """Read run folders. A folder of them, as of an experiment, counts as its runs, the oldest first.

    Returns:
        The runs, and why others in such a folder are left out.

    Raises:
        ConfigurationError: a named folder holds no run that can be read.
    """
    found: list[Run] = []
    left_out: list[str] = []
    for folder in folders:
        inside: list[Run] = []
        if not holds_run(folder):
            inside, why_not = _runs_inside(Path(folder))
            left_out += why_not
        if inside:
            found += inside
        else:
            found.append(read_run(folder))
    return found, left_out


def _runs_inside(folder: Path) -> tuple[list[Run], list[str]]:
    """Return the runs whose folders are in this one, the oldest first, and why others are left out."""
    found: list[Run] = []
    left_out: list[str] = []
    for path in sorted(folder.glob(f"*/{RUN}")):
        run_folder = path.parent
        if run_folder.is_symlink():
            left_out.append(f"Left out: {run_folder} is a link: name the folder that it leads to")
            continue
        try:
            found.append(read_run(run_folder))
        except ConfigurationError as error:
            left_out.append(f"Left out: {error}")
    found.sort(key=lambda run: (run.info.get("created", ""), run.folder.name))
    return found, left_out


def _is_gradable(rows: Sequence[TrialRow]) -> bool:
    """Return whether the truth of a task can be known, as far as its trials tell."""
    return not rows or any(row.get("gradable", True) for row in rows)
