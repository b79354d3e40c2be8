"""What comes out of the code is on the pages as the code has it, and drawings are of this code."""

import re

import pytest
from typer.main import get_command

import langgraph_reflexion
from langgraph_reflexion import Strategy, create_reflexion
from langgraph_reflexion.cli import app
from langgraph_reflexion.envs import ENVIRONMENTS
from langgraph_reflexion.testing import ScriptedChatModel
from tests.docs.drawings import DRAWINGS, GENERATED, digest, edges
from tests.docs.generated import REGION, one_line, regenerated, writers
from tests.docs.pages import BY_NAME, PAGES, ROOT, Page
from tests.support.toys import Counter

FAULTS = {("reset", "evaluate"), ("act", "evaluate"), ("observe", "evaluate"), ("reflect", "end")}
"""Where a fault goes; the README leaves these arrows out."""


@pytest.mark.parametrize("page", [page for page in PAGES if REGION.search(page.text)], ids=lambda page: page.name)
def test_a_generated_part_is_what_the_code_says(page: Page) -> None:
    assert regenerated(page.text) == page.text, "write it anew: python -m tests.docs.generated"


def test_every_generated_part_is_shown() -> None:
    assert {name for page in PAGES for _, name, _ in REGION.findall(page.text)} == set(writers())


def test_every_environment_has_a_page() -> None:
    assert {page for page in BY_NAME if page.startswith("docs/environments/")} == {
        f"docs/environments/{name}.md" for name in ENVIRONMENTS
    }


def test_the_reference_has_every_public_name() -> None:
    page = BY_NAME["docs/reference/python.md"]
    in_short = {link.removeprefix("#") for link in page.links}
    assert set(langgraph_reflexion.__all__) <= {name.rpartition(".")[2] for name in page.docstrings}
    assert set(page.docstrings) <= in_short


def test_the_reference_lists_the_commands_of_a_group_by_what_they_do_themselves() -> None:
    page = BY_NAME["docs/reference/command-line.md"].text
    section = page.partition("## `langgraph-reflexion lessons`\n")[2].partition("\n###")[0]
    listed = dict(re.findall(r"^\* `([a-z]+)`: (.+)$", section, re.MULTILINE))
    commands = get_command(app).commands["lessons"].commands  # type: ignore[attr-defined]
    assert set(listed) == set(commands)
    for name, command in commands.items():
        assert one_line(command.help).startswith(listed[name])


# Drawings.


@pytest.fixture(scope="module")
def compiled() -> set[tuple[str, str]]:
    """The arrows of the graph as it is compiled, under all strategies together."""
    found = set()
    for strategy in Strategy:
        graph = create_reflexion(ScriptedChatModel(replies=[]), Counter(), strategy=strategy).compile().get_graph()
        found |= {(edge.source.strip("_"), edge.target.strip("_")) for edge in graph.edges}
    return found


def test_the_drawing_of_the_graph_is_the_compiled_graph(compiled: set[tuple[str, str]]) -> None:
    assert edges((DRAWINGS / "graph.mmd").read_text(encoding="utf-8")) == compiled


def test_the_drawing_in_the_readme_is_the_compiled_graph_without_faults(compiled: set[tuple[str, str]]) -> None:
    [drawing] = [block.text for block in BY_NAME["README.md"].blocks if block.language == "mermaid"]
    assert edges(drawing) == compiled - FAULTS
    assert compiled > FAULTS


@pytest.mark.parametrize("name", GENERATED)
def test_a_drawing_of_the_code_is_of_this_code(name: str) -> None:
    source = (DRAWINGS / f"{name}.mmd").read_text(encoding="utf-8")
    assert source == GENERATED[name](), "draw it anew: python -m tests.docs.drawings"


def test_the_way_of_an_action_names_files_and_calls_that_there_are() -> None:
    lines = (DRAWINGS / "action.mmd").read_text(encoding="utf-8").splitlines()
    parts = dict(line.split(maxsplit=1)[1].split(" as ") for line in lines if "participant" in line)
    files = {
        short: next(iter([*ROOT.glob(name), *ROOT.glob(f"src/*/{name}")]), None) for short, name in parts.items()
    }
    assert [short for short, file in files.items() if file is None] == ["E"], "an Episode is anybody's"
    for line in lines:
        arrow, _, said = line.strip().partition(": ")
        called = said.partition("(")[0].rpartition(" ")[2] if "(" in said else ""
        file = files.get(arrow.rpartition(">")[2]) if called else None
        if file is not None:
            assert f"def {called}(" in file.read_text(encoding="utf-8"), line


@pytest.mark.parametrize("source", sorted(DRAWINGS.glob("*.mmd")), ids=lambda path: path.stem)
def test_a_picture_is_drawn_from_its_source(source) -> None:
    picture = source.with_suffix(".svg").read_text(encoding="utf-8")
    assert digest(source.read_text(encoding="utf-8")) in picture, "draw it anew: python -m tests.docs.drawings"
