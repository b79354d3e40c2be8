"""The notebooks as committed, and executed again.

`NOTEBOOK_OUTPUTS=01_quickstart,05_results` compares the outputs of these.
"""

import json
import os
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
COMPARED = os.environ.get("NOTEBOOK_OUTPUTS", "04_time_travel").split(",")
OF_A_MACHINE = r"/(tmp|root|home|Users)/|Warning|Not on this machine|commit [0-9a-f]"


def outputs(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [output for cell in notebook["cells"] for output in cell.get("outputs", [])]


def test_committed_notebooks_are_valid() -> None:
    assert [path.stem[:2] for path in NOTEBOOKS] == ["01", "02", "03", "04", "05"]
    for path in NOTEBOOKS:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1)), path.stem
        assert not [cell["metadata"] for cell in code if cell["metadata"]], f"{path.stem}: times of execution"
        shown = outputs(notebook)
        assert 0 < len(json.dumps(shown)) < 150_000, path.stem
        for output in shown:
            assert (output["output_type"] != "error", output.get("name") != "stderr") == (True, True), path.stem
            assert not re.search(OF_A_MACHINE, json.dumps(output)), path.stem
        text = "".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown")
        assert re.search(r"no (LLM|language model)|not an LLM", text), path.stem


def texts(notebook: dict[str, Any]) -> list[str]:
    """The text output of each cell, with times masked."""
    found = []
    for cell in notebook["cells"]:
        pieces = [each.get("text") or each["data"].get("text/plain", "") for each in cell.get("outputs", [])]
        found.append(re.sub(r"\d+(\.\d+)? ?s(econds)?\b", "TIME", "".join(pieces)))
    return found


@pytest.mark.long
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs_with_the_same_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    again = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": path.parent}}).execute()
    if path.stem in COMPARED:
        assert texts(again) == texts(nbformat.read(path, as_version=4))
