"""The notebooks as committed, and executed again."""

import json
import re

import nbformat
import pytest

from tests.docs.names import GROUPS
from tests.docs.notebooks import BY_LANGUAGE_MODEL, NOTEBOOKS, executed
from tests.support.model_server import ModelServer
from tests.support.scripts import SmallModel

NO_SANDBOX = "Not on this machine"
OF_A_MACHINE = rf"/(tmp|root|home|Users)/|Warning|{NO_SANDBOX}|commit [0-9a-f]"


def outputs(notebook):
    return [output for cell in notebook["cells"] for output in cell.get("outputs", [])]


def source(notebook, kind):
    return "\n".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == kind)


@pytest.mark.parametrize("path", [*NOTEBOOKS, BY_LANGUAGE_MODEL], ids=lambda path: path.stem)
def test_committed_notebook_is_valid(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert not [cell["metadata"] for cell in code if cell["metadata"]], "times of execution"
    found = outputs(notebook)
    assert 0 < len(json.dumps(found)) < 150_000
    assert not [each for each in found if each["output_type"] == "error" or each.get("name") == "stderr"]
    assert not re.search(OF_A_MACHINE, json.dumps(found))
    assert re.search(r"no (LLM|language model)|not an LLM", source(notebook, "markdown"))
    imported = set(re.findall(r"(?:from|import) (langgraph_reflexion[\w.]*)", source(notebook, "code")))
    assert imported <= {path.rpartition(".")[0] for group in GROUPS for path in group.paths}


def shown(notebook):
    """The outputs as text and as HTML, without times and versions; of a figure, its texts and the numbers in it."""
    found = []
    for output in outputs(notebook):
        kinds = ("text/plain", "text/html", "image/svg+xml")
        text = "\n".join([output.get("text", ""), *(output.get("data", {}).get(kind, "") for kind in kinds)])
        text = re.sub(r"<svg.*?</svg>", figure, text, flags=re.DOTALL)
        text = re.sub(r'<tr><th scope="row">seconds.*?</tr>', "", text)
        found.append(re.sub(r"\d+(\.\d+)? ?s(econds)?\b|version [\d.]+", "…", text))
    return found


def figure(svg):
    return " ".join(re.findall(r"<(?:text|title)[^>]*>([^<]*)", svg[0]))


@pytest.mark.long
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs_with_the_same_outputs(path, monkeypatch):
    monkeypatch.setenv("GIT_DIR", "/nonexistent")  # outputs name the version, not a commit
    before, after = shown(nbformat.read(path, as_version=4)), shown(executed(path))
    if NO_SANDBOX in "".join(after):
        pytest.skip("some cells need a sandbox, which this machine has none of")
    assert after == before


@pytest.mark.long
@pytest.mark.extra("webshop")
def test_notebook_of_a_language_model_runs(monkeypatch):
    """Its outputs are a real model's: here a script replies, which fails each first trial and solves the next one."""
    monkeypatch.setenv("GIT_DIR", "/nonexistent")
    with ModelServer(SmallModel()) as server:
        notebook = executed(BY_LANGUAGE_MODEL, server.url)
        assert len(server.requests) > 10
    said = "".join(shown(notebook))
    if NO_SANDBOX in said:
        pytest.skip("some cells need a sandbox, which this machine has none of")
    assert not [each for each in outputs(notebook) if each["output_type"] == "error"]
    assert said.count("trial 2: verdict: accepted") == 2
    assert "Trial 2: verdict: accepted" in said
