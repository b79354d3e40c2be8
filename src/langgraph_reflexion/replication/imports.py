"""Importing the original's logs: a run folder for each of them, and a list of what was imported.

    import.json     where from, which runs, and what was left out
    NAME/           a run folder; without checkpoints, as there is nothing to go on with

`import.json` is written first and completed last, so that an import that was cut short can be told, and whatever an
import wrote can be replaced by the next one. Nothing else is.
"""

import contextlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import langgraph_reflexion
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.experiments.metrics import solved_by_trial
from langgraph_reflexion.experiments.record import RUN, TRAJECTORIES, TRIALS, holds_run, trouble
from langgraph_reflexion.experiments.rows import write_whole
from langgraph_reflexion.replication.logged import Listed, LoggedRun
from langgraph_reflexion.replication.originals import originals
from langgraph_reflexion.replication.reading import read_logs

IMPORT = "import.json"

_SUFFIX = re.compile(r"\.(txt|jsonl|joblib|pkl|pickle)$")


@dataclass(frozen=True)
class Import:
    """What was imported.

    Attributes:
        folder: Where to.
        runs: The logs, by the names of their run folders.
        left_out: What was not imported: its place, and why.
        missing: The parts of the original of which there is no log.
    """

    folder: Path
    runs: dict[str, LoggedRun]
    left_out: list[tuple[str, str]]
    missing: list[str]

    def as_json(self) -> dict[str, Any]:
        """The import as plain JSON."""
        return {
            "dir": str(self.folder),
            "runs": [
                {
                    "name": name,
                    "source": run.source,
                    "environment": run.settings["environment"],
                    "tasks": len(run.tasks),
                    "solved": solved(run),
                    "notes": run.notes,
                }
                for name, run in self.runs.items()
            ],
            "left_out": [{"source": source, "why": why} for source, why in self.left_out],
            "missing": self.missing,
        }


def solved(run: LoggedRun) -> list[int]:
    """How many tasks of a log are solved, cumulatively by trial."""
    return solved_by_trial([each.row for each in run.finished], run.settings["max_trials"])


def import_logs(root: Path | str, out: Path | str, known: Mapping[str, Listed] | None = None) -> Import:
    """Import all logs under a clone of the original repository.

    Args:
        root: The clone, a folder of it, or one log.
        out: A folder that is new or empty, or holds an earlier import, which is replaced.
        known: What is listed of logs, by their digests; the original's own, unless given.

    Raises:
        ConfigurationError: there is no log, or the folder holds something else or cannot be written to.
    """
    root, out = Path(root), Path(out)
    logs = read_logs(root, originals() if known is None else known)
    runs = dict(zip(_names(logs.runs), logs.runs, strict=True))
    done = Import(out, runs, logs.left_out, logs.missing())
    try:
        _clear(out, list(runs))
        out.mkdir(parents=True, exist_ok=True)
        _write_json(out / IMPORT, _listed(done, complete=False))
        for name, run in runs.items():
            _write_run(out / name, run)
        _write_json(out / IMPORT, _listed(done, complete=True))
    except OSError as error:
        raise ConfigurationError(f"cannot write the import to {out}: {error.strerror or error}") from error
    return done


def read_import(folder: Path | str) -> dict[str, Any]:
    """What a folder's `import.json` says.

    Raises:
        ConfigurationError: nothing was imported into it.
    """
    try:
        listed = json.loads((Path(folder) / IMPORT).read_text(encoding="utf-8"))
        if not all(isinstance(name, str) and (name,) == Path(name).parts != ("..",) for name in listed["runs"]):
            raise ValueError("a run that is no folder of it")
    except (OSError, ValueError, KeyError, TypeError) as error:
        why = f"there is no {IMPORT}" if isinstance(error, FileNotFoundError) else f"{IMPORT} {trouble(error)}"
        raise ConfigurationError(f"{folder} holds no import: {why}") from error
    return dict(listed)


def _names(runs: Sequence[LoggedRun]) -> list[str]:
    """A folder name for each log: its folder there, and its file where the folder holds several logs."""
    folders = Counter(PurePosixPath(run.source).parent for run in runs)
    names: list[str] = []
    for run in runs:
        source = PurePosixPath(run.source)
        alone = _SUFFIX.search(source.name) and source.parent.name and folders[source.parent] == 1
        parts = (source.parent if alone else source.with_name(_SUFFIX.sub("", source.name))).parts
        base = "-".join(part.removesuffix("_runs") for part in parts if part != "root")
        name = base = re.sub(r"[^\w.-]+", "_", base).strip(".-") or "log"
        number = 1
        while name.lower() in map(str.lower, names):
            number += 1
            name = f"{base}-{number}"
        names.append(name)
    return names


def _clear(out: Path, names: Sequence[str]) -> None:
    """Remove what an earlier import has written, to make room for runs of these names.

    Raises:
        ConfigurationError: the folder holds something and no import, or a run of the user's by one of the names.
    """
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    if not out.is_dir() or not (out / IMPORT).exists():
        raise ConfigurationError(f"{out} holds something else: choose another --out")
    imported = read_import(out)["runs"]
    if mine := [name for name in names if name not in imported and holds_run(out / name)]:
        raise ConfigurationError(f"{out / mine[0]} holds a run that was not imported: choose another --out")
    for name in imported:
        for file in (RUN, TRIALS, TRAJECTORIES):
            (out / name / file).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # something of the user's is in it
            (out / name).rmdir()


def _write_run(folder: Path, run: LoggedRun) -> None:
    """Write a run folder; `run.json` last, without which there is no run."""
    folder.mkdir(exist_ok=True)
    write_whole(folder / TRAJECTORIES, [_line(each.trajectory) for each in run.finished])
    write_whole(folder / TRIALS, [_line(each.row) for each in run.finished])
    imported = run.settings["imported"] | {"source": run.source, "notes": run.notes}
    info = {
        "settings": run.settings | {"imported": imported},
        "tasks": run.tasks,
        "note": "Imported from a log of the original code, which tells nothing of calls, tokens, cost and time.",
        "versions": {"langgraph_reflexion": langgraph_reflexion.__version__},
    }
    _write_json(folder / RUN, info)


def _listed(done: Import, *, complete: bool) -> dict[str, Any]:
    left_out = [{"source": source, "why": why} for source, why in done.left_out]
    return {"complete": complete, "runs": list(done.runs), "left_out": left_out, "missing": done.missing}


def _line(row: Any) -> bytes:
    return (json.dumps(row, ensure_ascii=False) + "\n").encode("utf-8", "replace")


def _write_json(path: Path, told: dict[str, Any]) -> None:
    write_whole(path, [(json.dumps(told, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "replace")])
