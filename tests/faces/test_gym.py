"""Frozen lakes of Gymnasium's, run, recorded and reported on the command line."""

import json
from pathlib import Path

import pytest

from langgraph_reflexion.testing import ModelServer, ScriptedChatModel
from tests.support.cli import call
from tests.support.lake import LAKES, lake_model

pytestmark = pytest.mark.extra("gym")


@pytest.mark.long
def test_lakes_are_solved_with_reflections_alone(tmp_path: Path) -> None:
    (tmp_path / "lakes.py").write_text(LAKES)
    with ModelServer(ScriptedChatModel(replies=lake_model)) as server:
        model = ("--model", "openai:rules", "--base-url", server.url)
        for strategy in ("retry", "reflexion"):
            args = ("--strategy", strategy, "--max-trials", "3", "--out", strategy)
            status, _, err = call(tmp_path, "run", "lakes.py:lakes", *model, *args)
            assert (status, err) == (0, "")

    rows = [json.loads(line) for line in (tmp_path / "reflexion" / "trials.jsonl").read_text().splitlines()]
    first = [row for row in rows if row["task_id"] == "seed-1"]
    assert [(row["success"], row["score"], row["actions"]) for row in first] == [
        (False, 0, 1),
        (False, 0, 3),
        (True, 1, 6),
    ]
    assert first[0]["reflection"] == "There is a hole at (0, 1). Next time I walk around it."

    status, out, err = call(tmp_path, "report", "retry", "reflexion", "--json", "--html", "page.html")
    assert (status, err) == (0, "")
    assert [run["solved"][-1] for run in json.loads(out)["runs"]] == [1, 3]
    assert "[F red]" in (tmp_path / "page.html").read_text()
