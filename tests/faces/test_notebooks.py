"""The notebooks as committed, and executed again."""

import json
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.docs.names import GROUPS
from tests.docs.notebooks import NOTEBOOKS, executed

NO_SANDBOX = "Not on this machine"
OF_A_MACHINE = rf"/(tmp|root|home|Users)/|Warning|{NO_SANDBOX}|commit [0-9a-f]"


def outputs(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [output for cell in notebook["cells"] for output in cell.get("outputs", [])]


def source(notebook: dict[str, Any], kind: str) -> str:
    return "\n".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == kind)


def test_committed_notebooks_are_valid() -> None:
    assert [path.stem[:2] for path in NOTEBOOKS] == ["01", "02", "03", "04", "05"]
    for path in NOTEBOOKS:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1)), path.stem
        assert not [cell["metadata"] for cell in code if cell["metadata"]], f"{path.stem}: times of execution"
        found = outputs(notebook)
        assert 0 < len(json.dumps(found)) < 150_000, path.stem
        for output in found:
            assert (output["output_type"] != "error", output.get("name") != "stderr") == (True, True), path.stem
            assert not re.search(OF_A_MACHINE, json.dumps(output)), path.stem
        assert re.search(r"no (LLM|language model)|not an LLM", source(notebook, "markdown")), path.stem


def test_notebooks_import_public_modules_only() -> None:
    public = {group.module for group in GROUPS}
    for path in NOTEBOOKS:
        code = source(json.loads(path.read_text(encoding="utf-8")), "code")
        assert set(re.findall(r"(?:from|import) (langgraph_reflexion[\w.]*)", code)) <= public, path.stem


def test_the_first_notebook_ends_in_a_figure() -> None:
    notebook = json.loads(NOTEBOOKS[0].read_text(encoding="utf-8"))
    assert "image/svg+xml" in notebook["cells"][-1]["outputs"][-1]["data"]


def shown(notebook: dict[str, Any]) -> list[str]:
    """The outputs as text and as HTML, without times and versions; of a figure, its texts and the numbers in it."""
    found = []
    for output in outputs(notebook):
        data = output.get("data", {})
        pieces = [output.get("text", ""), *(data.get(kind, "") for kind in ("text/plain", "text/html"))]
        pieces.append(data.get("image/svg+xml", ""))
        text = re.sub(r"<svg.*?</svg>", figure, "\n".join(pieces), flags=re.DOTALL)
        text = re.sub(r'<tr><th scope="row">seconds.*?</tr>', "", text)
        found.append(re.sub(r"\d+(\.\d+)? ?s(econds)?\b|version [\d.]+", "…", text))
    return found


def figure(svg: re.Match[str]) -> str:
    return " ".join(re.findall(r"<(?:text|title)[^>]*>([^<]*)", svg[0]))


@pytest.mark.long
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs_with_the_same_outputs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", "/nonexistent")  # outputs name the version, not a commit
    before, after = shown(nbformat.read(path, as_version=4)), shown(executed(path))
    if NO_SANDBOX in "".join(after):
        pytest.skip("some cells need a sandbox, which this machine has none of")
    assert after == before
