"""The original repository's logs as runs: their settings, and a row for each logged trial."""

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langgraph_reflexion.lab.experiments.rows import TrialRow
from langgraph_reflexion.lab.run_settings import RunSettings
from langgraph_reflexion.state import Evaluation, Step
from langgraph_reflexion.support.files import own_table
from langgraph_reflexion.support.text import count

NOT_LOGGED = "not logged"
"""A model, strategy or benchmark without a name, and the stop reason of a trial that only failed."""

RESULTS = re.compile(r"env_results_trial_(0|[1-9]\d{0,3})\.json")
"""The name of ALFWorld's and WebShop's files. Trials are counted from 0."""

Original = Mapping[str, str]
"""An entry of `originals.toml`: a log's `path` in the original repository, and its run. Other logs: empty."""


@dataclass(frozen=True)
class LoggedRun:
    """A log as a run."""

    source: str
    """Its place in the original repository: a file, or a folder with a file for each trial."""
    settings: dict[str, Any]
    """From the log, or from the code of its date (see `logged_settings`)."""
    tasks: list[str]
    trials: list[TrialRow]
    """The trials. Those of a task end with the one that solved it."""
    notes: list[str]
    """Irregularities, and how they are counted."""


def originals() -> dict[str, Original]:
    """Return what `originals.toml` says of the original repository's logs, by their digests."""
    tables = own_table(__file__, "originals.toml")
    listed = [{"path": f"{folder}/{log}", **run} for folder, logs in tables.items() for log, run in logs.items()]
    return {run["sha256"]: run for run in listed}


def digest(log: Path) -> str:
    """Return the SHA-256 of a log, or "" if it is none.

    Lines end in a line feed, as a checkout may have changed their ends. A folder's digest is that of the names and
    digests of its results.
    """
    if log.is_dir():
        results = sorted(path for path in log.iterdir() if RESULTS.fullmatch(path.name))
        content = "".join(f"{path.name} {digest(path)}\n" for path in results).encode()
    elif not log.is_file() or log.suffix not in (".json", ".jsonl", ".txt"):
        return ""
    else:
        content = log.read_bytes().replace(b"\r\n", b"\n")
    return hashlib.sha256(content).hexdigest()


def logged_settings(
    environment: str,
    original: Original,
    *,
    benchmark: str,
    strategy: str,
    trials: int,
    model: str,
    memory_size: int,
    first_trial: int = 1,
    **others: Any,
) -> dict[str, Any]:
    """Return the settings of an imported run for `run.json`, with its origin.

    What `originals.toml` says of the log (`original`) overrides its rows and its name. Only logs that it lists as
    whole are compared with published numbers. `benchmark` names the problems, such as `humaneval-py`; `first_trial`
    is the log's number of its first trial, counted from 1; `others` are further settings of a run.
    """
    usual: dict[str, Any] = {"actor": "react", "evaluator": "environment", "feedback": "binary", "model": model}
    usual |= others | {key: original[key] for key in ("actor", "model") if key in original}
    settings = RunSettings(
        environment=environment,
        split="logged",
        max_trials=trials,
        memory_size=memory_size,
        profile="upstream",
        concurrency=1,
        until_no_improvement=False,
        **usual,
    )
    strategy = original.get("strategy", strategy)
    part = f"it holds {original['part']}" if "part" in original else ""
    imported = {
        "benchmark": original.get("benchmark", benchmark),
        "first_trial": first_trial,
        "excluded": part if original else "it is not one of the original's logs",
    }
    # The original has strategies that a run cannot have, and its runs had no seeds.
    return settings.public() | {"strategy": strategy, "seed": None, "imported": imported}


def logged_trial(
    task: str,
    trial: int,
    success: bool,
    verdict: bool | None,
    stop_reason: str = NOT_LOGGED,
    *,
    observation: str = "",
    steps: Sequence[Step] = (),
    reflection: str | None = None,
    measures: dict[str, float] | None = None,
) -> TrialRow:
    """Return a logged trial as a row. No log records calls, tokens, cost or time; they are 0."""
    return TrialRow(
        task_id=task,
        trial=trial,
        success=success,
        verdict=verdict,
        score=None if verdict is None else float(verdict),
        stop_reason="terminated" if success and stop_reason == NOT_LOGGED else stop_reason,
        actions=len(steps),
        llm_calls=0,
        cached_calls=0,
        input_tokens=0,
        output_tokens=0,
        cost=0.0,
        usage={},
        measures=measures or {},
        reflection=reflection or None,
        notes=[],
        fault="",
        seconds=0.0,
        observation=observation,
        steps=list(steps),
        evaluation=None if verdict is None else Evaluation(success=verdict, score=float(verdict), feedback=""),
    )


def gap_note(trials: Collection[int]) -> list[str]:
    """Return a note on the trials that are missing among the others, if there are any."""
    missing = [str(number) for number in range(min(trials), max(trials)) if number not in trials]
    return [f"no trial {', '.join(missing)}: what was solved before is counted"] if missing else []


def twice_note(what: str, times: int) -> list[str]:
    """Return a note on entries that are listed more than once, if there are any."""
    return [f"{count(times, what)} listed twice: counted once, as listed first"] if times else []
