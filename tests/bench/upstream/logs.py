"""What the tests of imports share: small whole logs, and what came of them."""

from pathlib import Path
from typing import Any

from langgraph_reflexion.experiments.record import read_run
from langgraph_reflexion.experiments.rows import TrialRow
from langgraph_reflexion.replication.imports import Import, import_logs
from langgraph_reflexion.replication.paper import compare
from tests.bench.guessing import rows
from tests.bench.upstream.clone import (
    HUMANEVAL,
    known,
    with_tests,
    write_env_results,
    write_hotpotqa,
    write_problems,
)

ROOT = "root"
"""The folder below each of the original's folders of runs."""

ALFWORLD = Path("alfworld_runs", "root", "reflexion_run_logs")
HOTPOTQA = Path("hotpotqa_runs", "root", "ReAct", "reflexion", "100_questions_5_trials.txt")
PROGRAMMING = Path("programming_runs", "root", "mine", "humaneval-py._reflexion_5_gpt-4_pass_at_k_1_py.jsonl")

NAMELESS = "in none of the papers' tables, as neither what it holds nor its name says which run it is of"


def imported(tmp_path: Path) -> Import:
    return import_logs(tmp_path / "clone", tmp_path / "out", known(tmp_path / "clone"))


def only(done: Import) -> tuple[dict[str, Any], list[TrialRow], list[dict[str, Any]], list[str]]:
    """The one run of an import as it lies on disk: settings, rows, trajectories, notes."""
    (name,) = done.runs
    run = read_run(done.folder / name)
    return run.settings, run.trials, rows(run.folder, "trajectories.jsonl"), run.settings["imported"]["notes"]


def compared(done: Import) -> dict[tuple[str, str, str], str]:
    """What was counted beside published numbers, by table, row and column."""
    tables = compare([done.folder]).tables.items()
    lines = [(title.split(",")[0].split(":")[0], line) for title, lines in tables for line in lines if line.runs]
    return {(title, line.number.row, line.number.column): line.counted for title, line in lines}


def curve(done: Import) -> list[int]:
    (run,) = compare([done.folder]).as_json()["runs"]
    solved: list[int] = run["solved"]
    return solved


def write_all(clone: Path) -> dict[str, Path]:
    """One small whole log of each kind, by the name of its file that tests damage."""
    write_env_results(clone / ALFWORLD, [50, 80, 90], 134)
    write_env_results(clone / "webshop_runs/base_run_logs_1", [33], 100)
    write_hotpotqa(clone / HOTPOTQA, [32, 42], reflects=True)
    write_problems(clone / PROGRAMMING, with_tests(HUMANEVAL, (142, 144), (8, 20), 4))
    alfworld = clone / ALFWORLD / "env_results_trial_1.json"
    return {"alfworld": alfworld, "hotpotqa": clone / HOTPOTQA, "programming": clone / PROGRAMMING}


KINDS = ["alfworld", "hotpotqa", "programming"]


def curves(done: Import) -> dict[str, list[int]]:
    return {run["environment"]: run["solved"] for run in compare([done.folder]).as_json()["runs"]}


def told_of(done: Import, kind: str) -> str:
    """All that was said of a log."""
    notes = [note for run in done.runs.values() if run.settings["environment"] == kind for note in run.notes]
    return "\n".join([*notes, *(f"{source}: {why}" for source, why in done.left_out)])


WHOLE = {"alfworld": [50, 80, 90], "webshop": [33], "hotpotqa": [32, 42], "programming": [150]}
