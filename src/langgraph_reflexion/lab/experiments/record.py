"""Run folders as they are written: the settings of a run, and one row for each finished trial.

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
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.lab.experiments.rows import (
    CallsRow,
    Finished,
    JsonlFile,
    TrialRow,
    atomic_write,
    brief,
    key_of,
    row_order,
)
from langgraph_reflexion.lab.experiments.run_files import (
    RUN,
    SENT,
    TRIALS,
    recorded_rows,
)
from langgraph_reflexion.lab.experiments.runs import holds_run
from langgraph_reflexion.support.secrets import redact, secrets_around

PROMPTS = "prompts"
KINDS_OF_PROMPTS = (".md", ".toml")
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
        self._before_next: Callable[[], None] | None = None
        # The tasks that an error had ended before: each is tried again.
        self._retried = set(info.get("errors", {}))
        if self.new and (folder / TRIALS).exists():
            raise ConfigurationError(f"{folder} holds trials and no {RUN}: choose another --out")
        if not self.new:
            _expect_no_links(folder)
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
        """Add a finished trial that is new."""
        prepare = self._before_next
        self._before_next = None
        if prepare:
            prepare()
        self._write(finished)

    def before_next(self, prepare: Callable[[], None]) -> None:
        """Have this called once, before the next new trial is added: what becomes true with it, and not before."""
        self._before_next = prepare

    def _write(self, finished: Finished) -> None:
        """Write a finished trial: its files and prompts first, because its row marks it as complete."""
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
        self._forget_error(row["task_id"])

    def _forget_error(self, task: str) -> None:
        """Remove the error that had ended a task before it was tried again."""
        if task not in self._retried:
            return
        self._retried.discard(task)
        errors = dict(self._info["errors"])
        del errors[task]
        if errors:
            self.update_info(errors=errors)
        else:
            self.drop_info("errors")

    def update_info(self, **facts: Any) -> None:
        """Add facts to `run.json`."""
        self._info |= facts
        text = json.dumps(self._info, indent=2, ensure_ascii=False)
        atomic_write(self.folder / RUN, [self._encoded(text) + b"\n"])

    def drop_info(self, *names: str) -> None:
        """Remove facts from `run.json`."""
        for name in names:
            self._info.pop(name, None)
        self.update_info()

    def keep_prompts(self, files: Mapping[str, str]) -> None:
        """Write the files of the prompts, in place of those of a run that began with others."""
        prompts = self.folder / PROMPTS
        prompts.mkdir(exist_ok=True)
        for name in prompts_that_differ(self.folder, files):
            (prompts / name).unlink()
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
        # This error is one of today.
        self._retried.discard(task)
        self.update_info(errors=errors)

    def restore(self, finished: Finished) -> None:
        """Add a finished trial from a checkpoint whose process died before it recorded it."""
        recorded = self.trials.get(key_of(finished.row))
        # As it would be read again, with its secrets redacted.
        written = json.loads(self._line(finished.row))
        if recorded != brief(written):
            self._write(finished)

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


def _expect_no_links(folder: Path) -> None:
    """Refuse a run folder with links, which may be from somebody else: nothing outside is to be written.

    Raises:
        ConfigurationError: there is one.
    """
    for name, folders, files in os.walk(folder):
        for each in (*folders, *files):
            path = Path(name, each)
            if path.is_symlink():
                raise ConfigurationError(
                    f"{path} is a link, and a run is resumed without leaving its folder: put the file in its place"
                )


def prompts_that_differ(folder: Path, files: Mapping[str, str]) -> list[str]:
    """Return the names of a run's files of prompts that are missing among these, or have another text there.

    Raises:
        ConfigurationError: one of them is a link, or not a file.
    """
    written = {name: text.encode() for name, text in files.items()}
    return [path.name for path in _prompts_in(folder) if path.read_bytes() != written.get(path.name)]


def _prompts_in(folder: Path) -> list[Path]:
    """Return the files of prompts in a run folder, which may be from somebody else.

    Raises:
        ConfigurationError: one of them is a link, or not a file.
    """
    prompts = folder / PROMPTS
    if prompts.is_symlink():
        raise ConfigurationError(f"{prompts} is a link, and prompts are read without leaving the folder of the run")
    # What else lies there is not the run's.
    found = sorted(path for path in prompts.glob("*") if path.suffix in KINDS_OF_PROMPTS)
    for path in found:
        if path.is_symlink() or not path.is_file():
            raise ConfigurationError(f"{path} is not an ordinary file: remove it")
    return found


def expect_prompts(folder: Path, files: Mapping[str, str]) -> None:
    """Raise ConfigurationError if a run that is resumed began with other prompts than these files."""
    differing = prompts_that_differ(folder, files)
    if differing:
        raise ConfigurationError(
            f"{folder} holds a run with other prompts: {', '.join(differing)}: restore what is in "
            f"{folder / PROMPTS}, or choose another folder for a run with the new ones"
        )
