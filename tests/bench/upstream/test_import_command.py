"""`import-upstream` and `report --paper`, as processes."""

import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench.upstream.clone import write_env_results
from tests.bench.upstream.logs import ALFWORLD, ROOT, write_all
from tests.bench.upstream.test_pickles import Runs


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    run = [sys.executable, "-m", "langgraph_reflexion", *map(str, arguments)]
    return subprocess.run(run, capture_output=True, text=True, check=False, encoding="utf-8")


@pytest.mark.long
def test_the_command_names_what_is_irregular_and_exits_with_0(tmp_path: Path) -> None:
    clone, out, marker = tmp_path / "clone", tmp_path / "out", tmp_path / "made"
    path = write_all(clone)["programming"]
    path.write_bytes(path.read_bytes()[:-20])
    folder = clone / f"hotpotqa_runs/{ROOT}/CoT/context/last_trial/100_questions_5_trials"
    folder.mkdir(parents=True)
    for number in range(3):
        (folder / f"{number}.joblib").write_bytes(pickle.dumps({"agent": Runs(marker)}))
    told = command("import-upstream", clone, "--out", out)
    assert told.returncode == 0, told.stderr
    assert "alfworld-reflexion_run_logs: 50 80 90 of 134" in told.stdout
    assert "4 logs imported" in told.stdout
    assert "line 164 is cut off in the middle, and is left out" in told.stderr
    of = f"hotpotqa_runs/{ROOT}/CoT/context/last_trial/100_questions_5_trials"
    refused = f"0.joblib and 2 more in {of}: left out: refused"
    assert refused in told.stderr
    assert not marker.exists()
    again = json.loads(command("import-upstream", clone, "--out", out, "--json").stdout)
    counted = [(run["tasks"], run["solved"]) for run in again["runs"]]
    assert counted == [(134, [50, 80, 90]), (100, [32, 42]), (163, [150]), (100, [33])]
    assert len(again["left_out"]) == 3


@pytest.mark.long
def test_the_papers_tables_with_a_run_of_ones_own(tmp_path: Path) -> None:
    write_all(tmp_path / "clone")
    out, mine = tmp_path / "out", tmp_path / "mine"
    assert command("import-upstream", tmp_path / "clone", "--out", out).returncode == 0
    own = ("run", "alfworld", "--limit", 3, "--max-trials", 1, "--strategy", "retry", "--out", mine)
    assert command(*own).returncode == 0
    told = command("report", "--paper", out, mine)
    assert (told.returncode, told.stderr) == (0, "")
    assert "demo model, not an LLM · actor react · profile paper · oracle" in told.stdout
    assert f"yours: {mine}" in told.stdout
    assert "no log" in told.stdout
    assert "temperature 0.7" in told.stdout
    as_json = json.loads(command("report", mine, "--paper", out, "--json").stdout)
    assert [(run["imported"], run["environment"]) for run in as_json["runs"]][-1] == (False, "alfworld")
    assert [len(run["solved"]) for run in as_json["runs"]] == [3, 2, 1, 1, 1]
    (table,) = (table for table in as_json["tables"] if table["title"].startswith("ALFWorld"))
    beside = [number for number in table["numbers"] if number["runs"] == [str(mine)]]
    assert {(number["row"], number["column"]) for number in beside} >= {("ReAct", "%, trial 1")}
    assert as_json["mismatches"]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["import-upstream", "nowhere", "--out", "out"], "nowhere is not there"),
        (["import-upstream", "empty", "--out", "out"], "empty holds no log of the original repository"),
        (["import-upstream", "clone", "--out", "full"], "full holds something else"),
        (["import-upstream", "clone"], "--out"),
        (["report", "--paper", "empty"], "empty holds no import"),
        (["report", "--paper", "full"], "full holds no import"),
    ],
)
def test_wrong_use_is_one_line_and_exits_with_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    write_env_results(tmp_path / "clone" / ALFWORLD, [1], 3)
    told = command(*arguments)
    assert (told.returncode, told.stdout, told.stderr.count("\n")) == (2, "", 1)
    assert why in told.stderr
