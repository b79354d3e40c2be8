"""The original's own logs, where UPSTREAM_LOGS says that they lie."""

import os
from pathlib import Path
from typing import Any

import pytest

from langgraph_reflexion.bench.upstream.imports import import_logs
from langgraph_reflexion.bench.upstream.paper import compare
from tests.bench.upstream.logs import ROOT, curve, imported

REAL = Path(os.environ.get("UPSTREAM_LOGS", "none"))


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    if not REAL.is_dir():
        pytest.skip("UPSTREAM_LOGS names no folder with the original's logs")
    done = import_logs(REAL, tmp_path_factory.mktemp("real") / "out")
    return {run["source"]: run for run in compare([done.folder]).as_json()["runs"]}


@pytest.mark.parametrize(
    ("source", "tasks", "solved"),
    [
        (f"alfworld_runs/{ROOT}/base_run_logs", 134, [84, 94, 97, 98, 100, 101, 101]),
        (f"hotpotqa_runs/{ROOT}/CoT/no_context/base/", 100, [32, 33, 33, 33, 33]),
        (f"hotpotqa_runs/{ROOT}/ReAct/base/", 100, [34, 34, 34, 34, 34]),
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
