"""The notebooks as they are committed. Whether they run is what nbmake tests.

`NOTEBOOK_OUTPUTS=01_quickstart,05_results` executes these again, and compares what they say.
"""

import json
import os
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request: pytest.FixtureRequest) -> dict[str, Any]:
    return dict(json.loads(request.param.read_text(encoding="utf-8")))


def outputs(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [output for cell in notebook["cells"] for output in cell.get("outputs", [])]


def test_there_are_five() -> None:
    assert [path.stem[:2] for path in NOTEBOOKS] == ["01", "02", "03", "04", "05"]


def test_it_was_executed_from_top_to_bottom(notebook: dict[str, Any]) -> None:
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert outputs(notebook)
    assert not [cell["metadata"] for cell in code if cell["metadata"]], "when it was executed belongs to nobody"


def test_it_shows_no_warning_no_error_and_nothing_of_a_machine(notebook: dict[str, Any]) -> None:
    for output in outputs(notebook):
        assert output["output_type"] != "error"
        assert output.get("name") != "stderr"
        assert not re.search(
            r"/(tmp|root|home|Users)/|Warning|Not on this machine|commit [0-9a-f]", json.dumps(output)
        )


def test_its_outputs_are_small(notebook: dict[str, Any]) -> None:
    assert len(json.dumps(outputs(notebook))) < 150_000


def test_the_demo_model_is_said_to_be_no_language_model(notebook: dict[str, Any]) -> None:
    text = "".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown")
    assert re.search(r"no (LLM|language model)", text)


def texts(notebook: dict[str, Any]) -> list[str]:
    """What each cell says as text, times masked. In how many pieces it was printed does not matter."""
    said = []
    for cell in notebook["cells"]:
        told = [each.get("text") or each["data"].get("text/plain", "") for each in cell.get("outputs", [])]
        said.append(re.sub(r"\d+(\.\d+)? ?s(econds)?\b", "TIME", "".join(told)))
    return said


@pytest.mark.long
@pytest.mark.parametrize("name", os.environ.get("NOTEBOOK_OUTPUTS", "04_time_travel").split(","))
def test_executed_again_it_says_the_same(name: str) -> None:
    path = next(path for path in NOTEBOOKS if path.stem == name)
    committed = nbformat.read(path, as_version=4)
    again = NotebookClient(
        nbformat.read(path, as_version=4), timeout=120, resources={"metadata": {"path": path.parent}}
    )
    assert texts(again.execute()) == texts(committed)
