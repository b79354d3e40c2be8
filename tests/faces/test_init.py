"""The command `init`, and what its projects do in this process; tests/long/test_packaging.py does the rest."""

import json
import sys
from pathlib import Path

import pytest

from tests.support.cli import call, one_line

RUN = {
    "agent": ("agent.py:agent", "--tasks", "tasks.jsonl", "--evaluator", "agent.py:check"),
    "environment": ("environment.py:Numbers", "--model", "environment.py:model", "--max-trials", "3"),
}


@pytest.fixture
def home(tmp_path: Path):
    yield tmp_path
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.mark.parametrize(("kind", "solved"), [("agent", [0, 3, 3]), ("environment", [1, 3, 3])])
def test_project_runs_at_once(home: Path, kind: str, solved: list[int]) -> None:
    status, out, err = call(home, "init", "mine", "--kind", kind)
    assert (status, err) == (0, "")
    command = " ".join(("langgraph-reflexion run", *RUN[kind], "--out runs/first"))
    assert {"cd mine", command, "pytest"} < {line.partition("#")[0].strip() for line in out.splitlines()}
    status, out, err = call(home / "mine", "run", *RUN[kind], "--json")
    assert (status, json.loads(out)["solved"]) == (0, solved)


def test_nothing_is_overwritten(home: Path) -> None:
    (home / "tasks.jsonl").write_text("mine")
    status, _, err = call(home, "init")
    assert (status, "tasks.jsonl is already there" in one_line(err)) == (2, True)
    assert [file.name for file in home.iterdir()] == ["tasks.jsonl"]
    assert "agent, environment" in one_line(call(home, "init", "--kind", "world")[2])
