"""Run folders: the settings of a run, and one row for each finished trial.

    run.json            settings, tasks in their order and their instructions, versions
    trials.jsonl        one row per finished trial, with every step
    prompts.jsonl       one row per finished trial, with every prompt and reply (`experiments.prompts`)
    prompts/            the templates and few-shot examples of its prompts
    errors.log          the tracebacks of bugs that ended tasks
    checkpoints.db      the state of each task, unless it is in Postgres
    lock                held by the process that works on the run

A row may be followed by a better one of the same trial: of a fault that was tried again, or with the reflection that
a last trial got when more trials were granted. The last one counts.
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.lab.experiments.expected import ReadInfo
from langgraph_reflexion.lab.experiments.html import framed
from langgraph_reflexion.lab.experiments.metrics import answers_by_trial, solved_by_trial
from langgraph_reflexion.lab.experiments.provenance import described
from langgraph_reflexion.lab.experiments.rows import (
    CallsRow,
    Finished,
    JsonlFile,
    Key,
    TrialRow,
    atomic_write,
    brief,
    key_of,
    row_order,
)
from langgraph_reflexion.lab.experiments.run_files import RUN as RUN
from langgraph_reflexion.lab.experiments.run_files import SENT as SENT
from langgraph_reflexion.lab.experiments.run_files import TRIALS as TRIALS
from langgraph_reflexion.lab.experiments.run_files import (
    calls_at,
    expect_type,
    places_in,
    reading,
    recorded_rows,
    trials_and_places,
    whole_rows,
)
from langgraph_reflexion.lab.experiments.tables import Table
from langgraph_reflexion.models.recorded import WholeCall
from langgraph_reflexion.support.secrets import redact, secrets_around

PROMPTS = "prompts"
ERRORS = "errors.log"
CHECKPOINTS = "checkpoints.db"


class RunRecord:
    """Writes a new or a resumed run folder, one row at a time.

    Args:
        folder: The folder. Whoever opens it must hold it (`experiments.locks`).
        info: The content of `run.json`; `info["tasks"]` gives the final order of the rows.
        secrets: What is redacted wherever it turns up, such as a key that a server's error message quotes.

    Attributes:
        new: True if the run begins with this process.
        trials: The recorded trials, without their trajectories.
        shared: True if other folders may have the same checkpoints.

    Raises:
        ConfigurationError: the folder holds something else, or cannot be created.
    """

    def __init__(self, folder: Path | str, info: dict[str, Any], secrets: Sequence[str] = ()) -> None:
        folder = Path(folder)
        self.folder = folder
        self._info = dict(info)
        self._secrets = list(secrets)
        self._order = row_order(info["tasks"])
        self.new = not holds_run(folder)
        self.shared = info["settings"].get("database") is not None
        if self.new and (folder / TRIALS).exists():
            raise ConfigurationError(f"{folder} holds trials and no {RUN}: choose another --out")
        # Before anything is written: whoever has edited a row is to mend it.
        self.trials = recorded_rows(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self.update_info()
            self._file = JsonlFile(folder / TRIALS)
            self._sent = JsonlFile(folder / SENT)
        except OSError as error:
            raise ConfigurationError(f"cannot write the run to {folder}: {error.strerror}") from error
        unknown = {task for task, _ in self.trials}.difference(info["tasks"])
        if unknown:
            raise ConfigurationError(
                f"{folder} holds trials of {min(unknown)!r:.200}, which is not a task of {RUN}: "
                f"remove such rows from {TRIALS}"
            )

    def append(self, finished: Finished) -> None:
        """Add a finished trial: its files and prompts first, because its row marks it as complete."""
        row, files, calls = finished
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            atomic_write(path, [self._encoded(text)])
        if calls:
            calls_row = CallsRow(task_id=row["task_id"], trial=row["trial"], calls=calls)
            self._sent.append(self._line(calls_row))
        self._file.append(self._line(row))
        self.trials[key_of(row)] = brief(row)

    def update_info(self, **facts: Any) -> None:
        """Add facts to `run.json`."""
        self._info |= facts
        text = json.dumps(self._info, indent=2, ensure_ascii=False)
        atomic_write(self.folder / RUN, [self._encoded(text) + b"\n"])

    def keep_prompts(self, files: Mapping[str, str]) -> None:
        """Write the files of the prompts that the folder does not have yet."""
        prompts = self.folder / PROMPTS
        prompts.mkdir(exist_ok=True)
        for name, text in files.items():
            path = prompts / name
            if not path.exists():
                atomic_write(path, [text.encode()])

    def add_error(self, task: str, message: str, traceback: str) -> None:
        """Record the exception that ended a task: one line in `run.json`, the traceback in the log."""
        # A bug may quote any key of the environment, not only the model's.
        for secret in secrets_around():
            if secret not in self._secrets:
                self._secrets.append(secret)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        text = f"{now} {task}\n{traceback.rstrip()}\n\n"
        with (self.folder / ERRORS).open("a", encoding="utf-8", errors="replace") as log:
            log.write(self.without_secrets(text))
        errors = dict(self._info.get("errors", {}))
        errors[task] = message
        self.update_info(errors=errors)

    def restore(self, finished: Finished) -> None:
        """Add a finished trial from a checkpoint whose process died before it recorded it."""
        recorded = self.trials.get(key_of(finished.row))
        # As it would be read again, with its secrets redacted.
        written = json.loads(self._line(finished.row))
        if recorded != brief(written):
            self.append(finished)

    def missing(self, task: str, trials: int) -> list[int]:
        """Return those of a task's first N trials that are not recorded."""
        return [trial for trial in range(1, trials + 1) if (task, trial) not in self.trials]

    def forget(self, task: str) -> None:
        """Remove the rows of a task."""
        self._file.remove(task)
        self._sent.remove(task)
        for key in list(self.trials):
            if key[0] == task:
                del self.trials[key]

    def last_trial(self, task: str) -> int:
        """Return the task's last recorded trial; 0 without any."""
        last = 0
        for name, trial in self.trials:
            if name == task:
                last = max(last, trial)
        return last

    def close(self, seconds: float) -> None:
        """Sort the rows by task and trial, and close the file."""
        self.update_info(seconds=round(seconds, 3))
        self._file.close(self._order)
        self._sent.close(self._order)

    def discard(self) -> None:
        """Remove the closed record of a run in which nothing has happened."""
        # `run.json` last: as long as anything is left, it is a run.
        for name in (CHECKPOINTS, f"{CHECKPOINTS}-wal", f"{CHECKPOINTS}-shm", SENT, TRIALS, RUN):
            (self.folder / name).unlink(missing_ok=True)
        shutil.rmtree(self.folder / PROMPTS, ignore_errors=True)

    def without_secrets(self, text: str) -> str:
        """A text with every secret redacted."""
        return redact(text, self._secrets, "[secret]")

    def _line(self, row: TrialRow | CallsRow) -> bytes:
        text = json.dumps(row, ensure_ascii=False)
        return self._encoded(text) + b"\n"

    def _encoded(self, text: str) -> bytes:
        """Return a text as it is written: without secrets, a lone surrogate as a question mark."""
        return self.without_secrets(text).encode("utf-8", "replace")


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


def expect_prompts(folder: Path, files: Mapping[str, str]) -> None:
    """Raise ConfigurationError if a run that is resumed began with other prompts than these files."""
    written = {name: text.encode() for name, text in files.items()}
    for path in sorted((folder / PROMPTS).glob("*")):
        if path.read_bytes() != written.get(path.name):
            raise ConfigurationError(
                f"{folder} holds a run with other prompts: {path.name} differs from {path}: restore it, or begin a "
                "new run"
            )


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
        if folder.is_file():
            why = "it is a file"
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
