"""Every log under a clone of the original repository, and what is no log though it should be one."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.replication.env_results import NAME, read_env_results
from langgraph_reflexion.replication.hotpotqa_runs import read_hotpotqa_dicts, read_hotpotqa_log
from langgraph_reflexion.replication.logged import Listed, LoggedRun
from langgraph_reflexion.replication.originals import digest
from langgraph_reflexion.replication.programming_log import is_programming_log, read_programming_log
from langgraph_reflexion.replication.text import read_text

PICKLES = (".joblib", ".pkl", ".pickle")

_PARTS = {"alfworld": "ALFWorld", "hotpotqa": "HotPotQA", "programming": "programming", "webshop": "WebShop"}
_FOLDERS = [f"{environment}_runs" for environment in _PARTS]


@dataclass
class Logs:
    """What lies under a clone.

    Attributes:
        known: What is listed of logs, by their digests.
        runs: The logs that were read.
        left_out: What was not: its place, and why.
    """

    known: Mapping[str, Listed]
    runs: list[LoggedRun] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)

    def read(self, source: str, path: Path) -> None:
        """Read a file or folder if it is a log; what goes wrong with one is noted."""
        try:
            run = _run(path, source, self.known)
        except ConfigurationError as error:
            self.left_out.append((source, str(error).removeprefix(f"{path} ")))
        except OSError as error:
            self.left_out.append((source, f"cannot be read: {error.strerror}"))
        else:
            if run is not None:
                imported = run.settings["imported"]
                if imported["original"] not in ("", source):
                    run.notes.append(f"it is the original's log {imported['original']}")
                if imported["apart"]:
                    run.notes.append(f"in none of the papers' tables, as {imported['apart']}")
                self.runs.append(run)

    def missing(self) -> list[str]:
        """The parts of the original without a log."""
        found = {run.settings["environment"] for run in self.runs}
        return [label for environment, label in _PARTS.items() if environment not in found]


def read_logs(root: Path, known: Mapping[str, Listed]) -> Logs:
    """Read all logs under a folder.

    Args:
        root: A clone of the original repository, any folder of it, or one log.
        known: What is listed of the original's logs, by their digests.

    Raises:
        ConfigurationError: nothing in it is a log, or looks like one.
    """
    logs = Logs(known)
    if not root.exists():
        raise ConfigurationError(f"{root} is not there: give a clone of the original repository")
    root = root.resolve()
    base = root if root.is_dir() else root.parent
    for path in _candidates(root, logs):
        logs.read(_place(path, base), path)
    if not logs.runs and not logs.left_out:
        raise ConfigurationError(f"{root} holds no log of the original repository: give a clone of it")
    return logs


def _place(path: Path, base: Path) -> str:
    """A log's path from the last folder that has a name of the original repository's; elsewhere, from the base."""
    parts = path.parts
    if top := max((number for number, part in enumerate(parts) if part in _FOLDERS), default=0):
        return "/".join(parts[top:])
    return path.relative_to(base).as_posix() if path != base else base.name


def _candidates(root: Path, logs: Logs) -> Iterator[Path]:
    """Files, and the folders of results by trial, in the order of their names."""
    if root.is_file():
        yield root
        return

    def unread(error: OSError) -> None:
        logs.left_out.append((Path(error.filename).name, f"cannot be read: {error.strerror}"))

    for name, folders, files in os.walk(root, onerror=unread):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        folder = Path(name)
        if any(map(NAME.fullmatch, files)):
            yield folder
        for each in sorted(files):
            if not NAME.fullmatch(each) and not each.startswith("."):
                yield folder / each


def _run(path: Path, source: str, known: Mapping[str, Listed]) -> LoggedRun | None:
    """The log that a file or a folder is; None where it is none."""
    if path.is_dir():
        return read_env_results(path, source, known.get(digest(path), {}))
    if not path.is_file():
        # Pipes and the like are no logs, and would keep whoever reads them waiting.
        return None
    if NAME.fullmatch(path.name):
        raise ConfigurationError("one trial of several: give its folder")
    logged = source.startswith("hotpotqa_runs/root/")
    if path.suffix in PICKLES or (logged and not path.suffix):
        return read_hotpotqa_dicts(path, source, known.get(digest(path), {}))
    if path.suffix == ".txt" and (logged or _told_in_sections(path)):
        return read_hotpotqa_log(path, source, known.get(digest(path), {}))
    if is_programming_log(path):
        return read_programming_log(path, source, known.get(digest(path), {}))
    if path.suffix == ".json" and _counts_alone(path):
        raise ConfigurationError("counts by trial and no questions: nothing to make rows of")
    return None


def _told_in_sections(path: Path) -> bool:
    """Whether a text is a HotPotQA log, be it a damaged one."""
    if "_questions_" in path.name:
        return True
    try:
        text, _ = read_text(path)
    except ConfigurationError:
        return False
    return "\nBEGIN TRIAL " in f"\n{text}" or " AGENTS ---" in text


def _counts_alone(path: Path) -> bool:
    try:
        told = json.loads(read_text(path)[0])
    except (ConfigurationError, ValueError, RecursionError):
        return False
    return isinstance(told, list) and bool(told) and all(isinstance(e, dict) and "correct" in e for e in told)
