"""Imports of the original's logs: a folder with a run folder, without checkpoints, for each."""

import json
import re
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import langgraph_reflexion
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.experiments.metrics import answers_by_trial, solved_by_trial
from langgraph_reflexion.experiments.record import RUN, TRIALS
from langgraph_reflexion.experiments.rows import atomic_write
from langgraph_reflexion.replication.logs import RESULTS, LoggedRun, Original, digest, originals
from langgraph_reflexion.replication.readers import read_run_log

_PARTS = {"alfworld": "ALFWorld", "hotpotqa": "HotPotQA", "programming": "programming", "webshop": "WebShop"}


@dataclass(frozen=True)
class Import:
    """The result of an import."""

    folder: Path
    runs: dict[str, LoggedRun] = field(default_factory=dict)
    """The logs, by the names of their run folders."""
    left_out: list[tuple[str, str]] = field(default_factory=list)
    """The files that were not imported, and why."""

    @property
    def missing(self) -> list[str]:
        """The parts of the original without a log."""
        return missing_parts({run.settings["environment"] for run in self.runs.values()})


def missing_parts(environments: Collection[str]) -> list[str]:
    """Return the parts of the original without a log, by the environments of those that were imported."""
    return [label for environment, label in _PARTS.items() if environment not in environments]


def solved(run: LoggedRun) -> list[int]:
    """Return the number of tasks solved after each trial of a log."""
    return solved_by_trial(answers_by_trial(run.tasks.values(), run.settings["max_trials"]))


def import_logs(root: Path | str, out: Path | str, known: Mapping[str, Original] | None = None) -> Import:
    """Import all logs under a clone of the original repository.

    Args:
        root: The clone, a folder of it, or one log.
        out: A folder that is new or empty.
        known: What is known of logs, by their digests; by default that of the original's own (`originals.toml`).

    Raises:
        ConfigurationError: there is no log, or the folder is not empty or cannot be written to.
    """
    root, done = Path(root), Import(Path(out))
    logs = list(_read_logs(root, originals() if known is None else known, done.left_out))
    if not logs:
        unread = "".join(f" ({source}: {why})" for source, why in done.left_out[:1])
        raise ConfigurationError(f"{root} holds no log of the original repository: give a clone of it{unread}")
    done.runs.update(zip(_names(logs), logs, strict=True))
    try:
        folder = done.folder.resolve()
        if folder.exists() and any(folder.iterdir()):
            raise ConfigurationError(f"{out} is not empty: choose another --out")
        folder.parent.mkdir(parents=True, exist_ok=True)
        # An interrupted import leaves no folder that looks like a complete one.
        with tempfile.TemporaryDirectory(prefix=".import-", dir=folder.parent) as temporary:
            whole = Path(temporary, folder.name)
            whole.mkdir()
            for name, run in done.runs.items():
                _write_run(whole / name, run)
            whole.rename(folder)
    except OSError as error:
        raise ConfigurationError(f"cannot write the import to {out}: {error.strerror or error}") from error
    return done


def _read_logs(root: Path, known: Mapping[str, Original], left_out: list[tuple[str, str]]) -> Iterator[LoggedRun]:
    """Yield every known log under a folder in the order of their names, and list what looks like others."""
    if not root.exists():
        raise ConfigurationError(f"{root} does not exist: give a clone of the original repository")
    root = root.resolve()
    found = set()
    for path in [root, *sorted(root.rglob("*"))]:
        inside = path.relative_to(root.parent if root.is_file() else root)
        if any(part.startswith(".") for part in inside.parts) or RESULTS.fullmatch(path.name):
            continue
        try:
            original = known.get(digest(path))
            if original is None:
                if why := _why_not(path, alone=path == root):
                    left_out.append((inside.as_posix(), why))
            elif original["path"] not in found:
                found.add(original["path"])
                run = read_run_log(path, original)
                if excluded := run.settings["imported"]["excluded"]:
                    run.notes.append(f"not in the papers' tables: {excluded}")
                yield run
        except OSError as error:
            left_out.append((inside.as_posix(), f"cannot be read: {error.strerror}"))


def _why_not(path: Path, *, alone: bool) -> str:
    """Return why a file or a folder is not imported; empty if it does not look like a log."""
    if path.is_dir():
        logged = any(RESULTS.fullmatch(each.name) for each in path.iterdir())
    elif not path.is_file():  # reading a pipe would block
        return ""
    elif path.suffix in (".joblib", ".pkl", ".pickle") or (not path.suffix and path.read_bytes()[:1] == b"\x80"):
        return "pickles are not read: loading one can run code"
    else:
        logged = (alone or "_runs/root/" in path.as_posix()) and path.suffix in (".txt", ".jsonl")
    return "not a log of the original repository, or changed since" if logged else ""


def _names(runs: Sequence[LoggedRun]) -> list[str]:
    """Return a folder name for each log: its folder there, and its file if the folder holds several logs."""
    folders = Counter(PurePosixPath(run.source).parent for run in runs)
    names: list[str] = []
    for run in runs:
        place = source = PurePosixPath(run.source)
        if source.suffix in (".txt", ".jsonl"):
            place = source.parent if folders[source.parent] == 1 else source.with_suffix("")
        base = "-".join(part.removesuffix("_runs") for part in place.parts if part != "root")
        names.append(re.sub(r"[^\w.-]+", "_", base))
    return names


def _write_run(folder: Path, run: LoggedRun) -> None:
    """Write a run folder; `run.json` last, as it makes the folder a run."""
    folder.mkdir()
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for rows in run.tasks.values() for row in rows]
    atomic_write(folder / TRIALS, [line.encode("utf-8", "replace") for line in lines])
    imported = run.settings["imported"] | {"source": run.source, "notes": run.notes}
    info = {
        "settings": run.settings | {"imported": imported},
        "tasks": list(run.tasks),
        "note": "Imported from a log of the original code, which does not record calls, tokens, cost or time.",
        "versions": {"langgraph_reflexion": langgraph_reflexion.__version__},
    }
    text = json.dumps(info, indent=2, ensure_ascii=False) + "\n"
    atomic_write(folder / RUN, [text.encode("utf-8", "replace")])
