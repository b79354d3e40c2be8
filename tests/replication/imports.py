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
from langgraph_reflexion.lab.experiments.metrics import answers_by_trial, solved_by_trial
from langgraph_reflexion.lab.experiments.rows import TrialRow, atomic_write
from langgraph_reflexion.lab.experiments.run_files import RUN, TRIALS
from tests.replication.logs import RESULTS, LoggedRun, Original, digest, originals
from tests.replication.readers import read_run_log

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
    tasks: dict[str, list[TrialRow]] = {}
    for row in run.trials:
        tasks.setdefault(row["task_id"], []).append(row)
    return solved_by_trial(answers_by_trial(tasks.values(), run.settings["max_trials"]))


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
    """Yield every log under a folder in the order of their names, and list the files that cannot be read."""
    if not root.exists():
        raise ConfigurationError(f"{root} does not exist: give a clone of the original repository")
    root = root.resolve()
    for path in [root, *sorted(root.rglob("*"))]:
        inside = path.relative_to(root.parent if root.is_file() else root)
        if any(part.startswith(".") for part in inside.parts) or (RESULTS.fullmatch(path.name)):
            continue
        source = _source(path, inside)
        try:
            original = known.get(digest(path), {})
            source = original.get("path", source)
            if (run := read_run_log(path, source, original)) is None:
                continue
        except (ConfigurationError, OSError) as error:
            left_out.append((source, str(error).removeprefix(f"{path} ")))
            continue
        if excluded := run.settings["imported"]["excluded"]:
            run.notes.append(f"not in the papers' tables: {excluded}")
        yield run


def _source(path: Path, inside: Path) -> str:
    """Return a log's path in the original repository, or below the root if it is not in one of its folders."""
    tops = [number for number, part in enumerate(path.parts) if part in {f"{name}_runs" for name in _PARTS}]
    return "/".join(path.parts[tops[-1] :]) if tops else inside.as_posix()


def _names(runs: Sequence[LoggedRun]) -> list[str]:
    """Return a folder name for each log: its folder there, and its file if the folder holds several logs."""
    folders = Counter(PurePosixPath(run.source).parent for run in runs)
    names: list[str] = []
    for run in runs:
        place = source = PurePosixPath(run.source)
        if source.suffix in (".txt", ".jsonl"):
            alone = source.parent.name and folders[source.parent] == 1
            place = source.parent if alone else source.with_suffix("")
        base = "-".join(part.removesuffix("_runs") for part in place.parts if part != "root")
        base = re.sub(r"[^\w.-]+", "_", base).strip(".-") or "log"
        names.append(f"{base}-{len(names)}" if base in names else base)
    return names


def _write_run(folder: Path, run: LoggedRun) -> None:
    """Write a run folder; `run.json` last, as it makes the folder a run."""
    folder.mkdir()
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in run.trials]
    atomic_write(folder / TRIALS, [line.encode("utf-8", "replace") for line in lines])
    imported = run.settings["imported"] | {"source": run.source, "notes": run.notes}
    info = {
        "settings": run.settings | {"imported": imported},
        "tasks": run.tasks,
        "note": "Imported from a log of the original code, which does not record calls, tokens, cost or time.",
        "versions": {"langgraph_reflexion": langgraph_reflexion.__version__},
    }
    text = json.dumps(info, indent=2, ensure_ascii=False) + "\n"
    atomic_write(folder / RUN, [text.encode("utf-8", "replace")])
