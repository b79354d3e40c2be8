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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from operator import itemgetter
from pathlib import Path
from typing import Any, cast

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.lab.experiments.expected import ReadCalls, ReadInfo, ReadKey, ReadTrial, expect
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
    complete_lines,
    key_of,
    row_of,
    row_order,
)
from langgraph_reflexion.lab.experiments.tables import Table
from langgraph_reflexion.models.recorded import WholeCall, whole_calls
from langgraph_reflexion.support.files import is_deeper
from langgraph_reflexion.support.secrets import redact, secrets_around

RUN, TRIALS, CHECKPOINTS = "run.json", "trials.jsonl", "checkpoints.db"
ERRORS, PROMPTS, SENT = "errors.log", "prompts", "prompts.jsonl"

DEEPEST = 100
"""Levels of lists and objects in what is read of a run folder. Runs write about half as many at most."""
_REMEDY = "mend the line, or remove it and resume the run"


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
        self.folder = folder = Path(folder)
        self._info = {**info}
        self._secrets = list(secrets)
        self._order = row_order(info["tasks"])
        self.new = not holds_run(folder)
        self.shared = info["settings"].get("database") is not None
        if self.new and (folder / TRIALS).exists():
            raise ConfigurationError(f"{folder} holds trials and no {RUN}: choose another --out")
        # Before anything is written: whoever has edited a row is to mend it.
        self.trials = _recorded(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self.update_info()
            self._file = JsonlFile(folder / TRIALS)
            self._sent = JsonlFile(folder / SENT)
        except OSError as error:
            raise ConfigurationError(f"cannot write the run to {folder}: {error.strerror}") from error
        if unknown := {task for task, _ in self.trials} - set(info["tasks"]):
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
            atomic_write(path, [self.without_secrets(text).encode("utf-8", "replace")])
        if calls:
            self._sent.append(self._line(CallsRow(task_id=row["task_id"], trial=row["trial"], calls=calls)))
        self._file.append(self._line(row))
        self.trials[key_of(row)] = brief(row)

    def update_info(self, **facts: Any) -> None:
        """Add facts to `run.json`."""
        self._info |= facts
        text = self.without_secrets(json.dumps(self._info, indent=2, ensure_ascii=False)) + "\n"
        atomic_write(self.folder / RUN, [text.encode("utf-8", "replace")])

    def keep_prompts(self, files: Mapping[str, str]) -> None:
        (self.folder / PROMPTS).mkdir(exist_ok=True)
        for name, text in files.items():
            if not (path := self.folder / PROMPTS / name).exists():
                atomic_write(path, [text.encode()])

    def add_error(self, task: str, message: str, traceback: str) -> None:
        """Record the exception that ended a task: one line in `run.json`, the traceback in the log."""
        # A bug may quote any key of the environment, not only the model's.
        self._secrets = list(dict.fromkeys([*self._secrets, *secrets_around()]))
        text = f"{datetime.now(UTC).isoformat(timespec='seconds')} {task}\n{traceback.rstrip()}\n\n"
        with (self.folder / ERRORS).open("a", encoding="utf-8", errors="replace") as log:
            log.write(self.without_secrets(text))
        self.update_info(errors={**self._info.get("errors", {}), task: message})

    def restore(self, finished: Finished) -> None:
        """Add a finished trial from a checkpoint whose process died before it recorded it."""
        if self.trials.get(key_of(finished.row)) != brief(json.loads(self._line(finished.row))):
            self.append(finished)

    def missing(self, task: str, trials: int) -> list[int]:
        """Return those of a task's first N trials that are not recorded."""
        return [trial for trial in range(1, trials + 1) if (task, trial) not in self.trials]

    def forget(self, task: str) -> None:
        self._file.remove(task)
        self._sent.remove(task)
        self.trials = {key: row for key, row in self.trials.items() if key[0] != task}

    def last_trial(self, task: str) -> int:
        """Return the task's last recorded trial; 0 without any."""
        return max((trial for name, trial in self.trials if name == task), default=0)

    def close(self, seconds: float) -> None:
        """Sort the rows by task and trial, and close the file."""
        self.update_info(seconds=round(seconds, 3))
        self._file.close(self._order)
        self._sent.close(self._order)

    def discard(self) -> None:
        """Remove the closed record of a run in which nothing has happened."""
        beside = [f"{CHECKPOINTS}{end}" for end in ("", "-wal", "-shm")]
        for name in (*beside, SENT, TRIALS, RUN):  # `run.json` last: as long as anything is left, it is a run
            (self.folder / name).unlink(missing_ok=True)
        shutil.rmtree(self.folder / PROMPTS, ignore_errors=True)

    def without_secrets(self, text: str) -> str:
        """A text with every secret redacted."""
        return redact(text, self._secrets, "[secret]")

    def _line(self, row: TrialRow | CallsRow) -> bytes:
        return (self.without_secrets(json.dumps(row, ensure_ascii=False)) + "\n").encode("utf-8", "replace")


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
        return [row for rows in self.tasks.values() for row in rows]

    @property
    def settings(self) -> dict[str, Any]:
        return cast(dict[str, Any], self.info["settings"])

    @property
    def goals(self) -> dict[str, str]:
        """The instructions of its tasks, by id; an imported log has none."""
        return cast(dict[str, str], self.info.get("goals", {}))

    @property
    def stopped_after(self) -> int | None:
        """The trial after which the run ended as it had solved nothing new (`until_no_improvement`); else None."""
        trial = self.info.get("stopped_after")
        return trial if isinstance(trial, int) else None

    @property
    def gradable(self) -> dict[str, list[TrialRow]]:
        """Its tasks without those that cannot be graded, which no rate counts."""
        return {
            task: rows
            for task, rows in self.tasks.items()
            if not rows or any(row.get("gradable", True) for row in rows)
        }

    @property
    def errors(self) -> dict[str, str]:
        """The tasks that ended by a bug, and the exception in one line."""
        return cast(dict[str, str], self.info.get("errors", {}))

    def whole_trials(self, task: str) -> list[TrialRow]:
        """Read the trials of a task again, with their trajectories, which may be large.

        Raises:
            ConfigurationError: they can no longer be read.
        """
        if not (keys := [key_of(row) for row in self.tasks.get(task, ())]):
            return []
        with _reading(self.folder, TRIALS):
            try:
                return _whole(self.folder / TRIALS, keys, self.places)
            except (ValueError, KeyError, TypeError):
                # The run went on, and its rows are in other places.
                _, places = _trials(self.folder, self.info["tasks"])
                self.places.clear()
                self.places.update(places)
                return _whole(self.folder / TRIALS, [key for key in keys if key in places], places)

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
        with _reading(self.folder, SENT):
            if not self.sent_places:
                self.sent_places.update(_places(path))
            if trial not in self.sent_places:
                return []
            try:
                return _calls_at(path, trial, self.sent_places)
            except (ValueError, KeyError, TypeError):
                # The run went on, and its rows are in other places.
                self.sent_places.update(_places(path))
                return _calls_at(path, trial, self.sent_places)

    def __repr__(self) -> str:
        return f"<run {self.folder}: {described(self.settings)}, {len(self.trials)} trials>"

    def _repr_html_(self) -> str:
        trials = max((row["trial"] for row in self.trials), default=0)
        solved = solved_by_trial(answers_by_trial(self.tasks.values(), trials))
        rows = [(str(trial), f"{count} of {len(self.tasks)}") for trial, count in enumerate(solved, 1)]
        return framed(Table(str(self.folder), ("trial", "solved"), rows, described(self.settings)).html())


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
    info = _info(folder := Path(folder))
    if "imported" in info["settings"]:
        raise ConfigurationError(f"{folder} holds an imported log, which cannot be resumed")
    with _reading(folder):
        if "run_id" not in info:
            raise ValueError(f"{RUN} lacks run_id")
    return info


def read_run(folder: Path | str) -> Run:
    """Read a run folder, finished or not.

    Raises:
        ConfigurationError: it holds no run, or one that is incomplete.
    """
    info = _info(folder := Path(folder))
    with _reading(folder, TRIALS):
        if "seconds" in info and not (folder / TRIALS).exists():
            raise ValueError(f"there is no {TRIALS}")
        return Run(folder, info, *_trials(folder, info["tasks"]))


def _info(folder: Path) -> dict[str, Any]:
    if not holds_run(folder):
        why = "it is a file" if folder.is_file() else f"there is no {RUN}"
        raise ConfigurationError(f"{folder} holds no run: {why}")
    _expect_own_files(folder)
    with _reading(folder):
        info: dict[str, Any] = json.loads((folder / RUN).read_text(encoding="utf-8"))
        _expect(ReadInfo, info, RUN, "mend it")
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
        for path in [] if holds_run(folder) else sorted(Path(folder).glob(f"*/{RUN}")):
            if path.parent.is_symlink():
                left_out.append(f"Left out: {path.parent} is a link: name the folder that it leads to")
                continue
            try:
                inside.append(read_run(path.parent))
            except ConfigurationError as error:
                left_out.append(f"Left out: {error}")
        inside.sort(key=lambda run: (run.info.get("created", ""), run.folder.name))
        found += inside or [read_run(folder)]
    return found, left_out


def _trials(folder: Path, tasks: Sequence[str]) -> tuple[dict[str, list[TrialRow]], dict[Key, int]]:
    """Return the brief rows of each task, and where they begin in the file."""
    rows: dict[Key, TrialRow] = {}
    places: dict[Key, int] = {}
    place = 0
    known = set(tasks)
    for number, line in enumerate(complete_lines(folder / TRIALS), 1):
        where = f"{TRIALS}, line {number}"
        row = _parsed(line, where)
        _expect(ReadTrial, row, where)
        if row["task_id"] not in known:
            raise ValueError(f"{where}: {row['task_id']!r} is not a task of {RUN}: remove the line")
        rows[key_of(row)], places[key_of(row)] = brief(row), place
        place += len(line)
    found: dict[str, list[TrialRow]] = {task: [] for task in tasks}
    for key in sorted(rows, key=itemgetter(1)):
        found[key[0]].append(rows[key])
    return found, places


def _recorded(folder: Path) -> dict[Key, TrialRow]:
    """Return the rows of a run that is resumed, without their trajectories. Torn lines are left to be repaired.

    Raises:
        ConfigurationError: a value is of a wrong type, which no power cut leaves.
    """
    found: dict[Key, TrialRow] = {}
    with _reading(folder, TRIALS):
        for number, line in enumerate(complete_lines(folder / TRIALS), 1):
            row = row_of(line)
            if row is None:
                continue
            _expect(ReadTrial, row, f"{TRIALS}, line {number}")
            found[key_of(row)] = brief(row)
    return found


def _whole(path: Path, keys: Sequence[Key], places: Mapping[Key, int]) -> list[TrialRow]:
    found: list[TrialRow] = []
    with path.open("rb") as file:
        for key in keys:
            file.seek(places[key])
            row = json.loads(file.readline())
            _expect(ReadTrial, row, f"{TRIALS}, trial {key[1]} of {key[0]!r}")
            if key_of(row) != key:
                raise ValueError(f"{TRIALS} has changed: try again")
            found.append(row)
    return found


def _places(path: Path) -> dict[Key, int]:
    """Return where the rows of trials begin in a file, in bytes; of several rows of a trial, the last one."""
    places: dict[Key, int] = {}
    place = 0
    for number, line in enumerate(complete_lines(path), 1):
        where = f"{path.name}, line {number}"
        row = _parsed(line, where)
        _expect(ReadKey, row, where)
        places[key_of(row)] = place
        place += len(line)
    return places


def _calls_at(path: Path, trial: Key, places: Mapping[Key, int]) -> list[WholeCall]:
    with path.open("rb") as file:
        file.seek(places[trial])
        line = file.readline()
    where = f"{path.name}, trial {trial[1]} of {trial[0]!r}"
    row = _parsed(line, where)
    _expect(ReadCalls, row, where)
    if key_of(row) != trial:
        raise ValueError(f"{path.name} has changed: try again")
    try:
        return list(whole_calls(row["calls"]))
    except IndexError as error:
        raise ValueError(f"{where}: a call continues a prompt that was not sent: {_REMEDY}") from error


@contextmanager
def _reading(folder: Path, file: str = RUN) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        why: object = error
        if isinstance(error, json.JSONDecodeError):
            why = f"{file} is not JSON: {error}"
        elif isinstance(error, RecursionError):
            why = f"{file} is nested too deeply"
        raise ConfigurationError(f"{folder} holds no run that can be read: {why}") from error


def _parsed(line: bytes, where: str) -> Any:
    try:
        return json.loads(line)
    except RecursionError:
        raise ValueError(f"{where}, is nested too deeply: {_REMEDY}") from None
    except ValueError as error:
        raise ValueError(f"{where}, is not JSON: {error}: {_REMEDY}") from None


def _expect(kind: type[Any], found: Any, where: str, remedy: str = _REMEDY) -> None:
    """Raise ValueError in one line if what was read is not of this type, or nested deeper than any run writes it."""
    try:
        expect(kind, found)
    except ValueError as error:
        raise ValueError(f"{where}: {error}: {remedy}") from None
    # Trajectories are large, and read only where their types say.
    if kind is not ReadTrial and is_deeper(found, DEEPEST):
        raise ValueError(f"{where}, is nested too deeply: {remedy}")
