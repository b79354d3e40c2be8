"""Runs of one's own in the papers' tables: which numbers they stand beside, and what is counted of them."""

from pathlib import Path
from typing import Any

import pytest

from langgraph_reflexion.replication.paper import Line, compare
from langgraph_reflexion.replication.paper_tables import beside_published
from tests.bench.runs import folder, row


def beside(path: Path) -> dict[tuple[str, str, str], Line]:
    """The lines that a run has, by table, row and column."""
    found = {}
    for title, lines in compare([path]).tables.items():
        for line in lines:
            if line.runs:
                found[title.split(",")[0].split(":")[0], line.number.row, line.number.column] = line
    return found


def test_a_programming_run_on_the_papers_problems(tmp_path: Path) -> None:
    rows = [
        # A first implementation that the self-written tests refused is not what was submitted.
        row("a", 1, False, False),
        row("a", 2, True, True),
        row("b", 1, False, True),
        row("c", 1, False, False),
        row("c", 2, True, False),
        row("d", 1, False, False),
        row("d", 2, False, False),
    ]
    own = folder(
        tmp_path / "own",
        rows,
        ["a", "b", "c", "d"],
        environment="programming",
        split="file",
        options={"path": "data/humaneval-rs-hardest50.jsonl.gz", "language": "rust"},
        actor="code",
        evaluator="tests",
        max_trials=2,
    )
    lines = beside(own)
    assert {table for table, _, _ in lines} == {"Table 1", "Table 2", "Table 3"}
    assert {name for _, name, _ in lines} == {"HumanEval (RS)", "Reflexion"}
    counted = {column: lines["Table 2", "HumanEval (RS)", column].counted for column in ("TP", "FP", "FN", "TN")}
    assert counted == {"TP": "1/2", "FP": "1/2", "FN": "1/2", "TN": "1/2"}
    assert lines["Table 3", "Reflexion", "both"].counted == "2/4"


@pytest.mark.parametrize(
    ("settings", "rows_of"),
    [
        ({"environment": "hotpotqa", "actor": "tools"}, {"ReAct + Reflexion"}),
        ({"environment": "hotpotqa", "actor": "cot-gt"}, {"CoT (GT) + Reflexion"}),
        ({"environment": "hotpotqa", "actor": "cot", "strategy": "retry"}, {"CoT"}),
        ({"environment": "alfworld", "actor": "react", "strategy": "retry"}, {"ReAct"}),
        ({"environment": "webshop", "actor": "react"}, {"ReAct + Reflexion"}),
        ({"environment": "programming", "actor": "code", "split": "own"}, set()),
        ({"environment": "workspace", "actor": "react"}, set()),
    ],
)
def test_a_run_stands_beside_the_numbers_of_its_kind(
    tmp_path: Path, settings: dict[str, Any], rows_of: set[str]
) -> None:
    rows = [row("a", 1, True), *(row("b", trial, False) for trial in range(1, 13))]
    own = folder(tmp_path / "own", rows, ["a", "b"], **({"options": {}, "max_trials": 12} | settings))
    lines = beside(own)
    assert {name for _, name, _ in lines} == rows_of
    # How many tasks were solved is not compared: the run has fewer than the paper's.
    assert not [line for line in lines.values() if line.number.unit == "tasks"]


def test_a_notebook_shows_a_table_of_the_papers_beside_a_run(tmp_path: Path) -> None:
    own = folder(
        tmp_path / "own", [row("a", 1, True), row("b", 1, False)], ["a", "b"], max_trials=1, strategy="retry"
    )
    title = "ALFWorld: Figure 3a of the NeurIPS version, Figure 2 of the preprint"
    grid = beside_published(compare([own]), title)
    assert ("ReAct, %, trial 1", "63", "50.0", str(own)) in grid.rows
    assert not [cells for cells in grid.rows if "trial 12" in str(cells[0])]
    assert "demo model, not an LLM" in grid._repr_html_()
