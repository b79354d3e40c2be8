"""The original's own logs, where UPSTREAM_LOGS says that they lie."""

import os
from pathlib import Path
from typing import Any

import pytest

from langgraph_reflexion.replication.imports import import_logs
from langgraph_reflexion.replication.originals import originals
from langgraph_reflexion.replication.paper import compare
from tests.bench.upstream.clone import known, write_clone
from tests.bench.upstream.logs import ROOT, curve, imported

REAL = Path(os.environ.get("UPSTREAM_LOGS", "none"))


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    if not REAL.is_dir():
        pytest.skip("UPSTREAM_LOGS names no folder with the original's logs")
    return compare([import_logs(REAL, tmp_path_factory.mktemp("real") / "out").folder]).as_json()


@pytest.fixture(scope="module")
def real(paper: dict[str, Any]) -> dict[str, Any]:
    return {run["source"]: run for run in paper["runs"]}


@pytest.fixture
def whole(paper: dict[str, Any]) -> dict[str, Any]:
    if not (REAL / "README.md").is_file():
        pytest.skip("UPSTREAM_LOGS names a part of the original repository")
    return paper


@pytest.mark.parametrize(
    ("source", "tasks", "solved"),
    [
        (f"alfworld_runs/{ROOT}/base_run_logs", 134, [84, 94, 97, 98, 100, 101, 101]),
        (f"hotpotqa_runs/{ROOT}/CoT/no_context/base/100_questions_5_trials.txt", 100, [32, 33, 33, 33, 33]),
        (f"hotpotqa_runs/{ROOT}/ReAct/base/100_questions_5_trials.txt", 100, [34, 34, 34, 34, 34]),
        (f"programming_runs/{ROOT}/immediate_reflexion_humaneval_rs_hardest50/", 50, [26]),
        (f"programming_runs/{ROOT}/simple_humaneval_py_hardest50/", 50, [35]),
        (f"programming_runs/{ROOT}/simple_humaneval_rs_hard50/", 50, [30]),
        (f"programming_runs/{ROOT}/simple_mbpp_py/", 397, [318]),
    ],
)
def test_a_real_log(real: dict[str, Any], source: str, tasks: int, solved: list[int]) -> None:
    (run,) = (run for place, run in real.items() if place.startswith(source))
    assert (run["tasks"], run["solved"]) == (tasks, solved)


def test_with_a_verdict_of_a_real_log_altered_its_count_moves(tmp_path: Path) -> None:
    if not REAL.is_dir():
        pytest.skip("UPSTREAM_LOGS names no folder with the original's logs")
    (path,) = (REAL / f"programming_runs/{ROOT}/simple_humaneval_rs_hard50").glob("*.jsonl")
    copy = tmp_path / "clone" / path.relative_to(REAL)
    copy.parent.mkdir(parents=True)
    text = path.read_text(encoding="utf-8")
    copy.write_text(text.replace('"is_solved": true', '"is_solved": false', 1), encoding="utf-8")
    assert curve(imported(tmp_path)) == [29]


@pytest.mark.long
def test_the_whole_repository_holds_the_listed_logs_and_no_others(
    whole: dict[str, Any], real: dict[str, Any]
) -> None:
    submissions = f"programming_runs/{ROOT}/leetcode_metadata/"
    assert {source for source in real if not source.startswith(submissions)} == {
        run["path"] for run in originals().values()
    }


@pytest.mark.long
def test_every_published_number_stands_beside_a_log_of_the_whole_repository(whole: dict[str, Any]) -> None:
    numbers = [number for table in whole["tables"] for number in table["numbers"]]
    assert [f"{number['row']}, {number['column']}" for number in numbers if not number["runs"]] == []


@pytest.mark.long
def test_the_made_up_clone_has_the_counts_of_the_whole_repository(
    whole: dict[str, Any], real: dict[str, Any], tmp_path: Path
) -> None:
    clone = write_clone(tmp_path / "made")
    made = compare([import_logs(clone, tmp_path / "out", known(clone)).folder]).as_json()
    about = ("trials", "solved", "verdicts", "environment", "actor", "strategy", "model", "benchmark")
    for run in made["runs"]:
        assert {key: real[run["source"]][key] for key in about} == {key: run[key] for key in about}
    for mine, table in zip(made["tables"], whole["tables"], strict=True):
        assert {_cell(number) for number in mine["numbers"]} <= {_cell(number) for number in table["numbers"]}


def _cell(number: dict[str, Any]) -> tuple[str, ...]:
    return number["row"], number["column"], number["counted"]
