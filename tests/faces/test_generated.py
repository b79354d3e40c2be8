"""What comes out of the code is on the pages as the code has it, and pictures of the graph show this graph."""

import re
from itertools import pairwise

import pytest

import langgraph_reflexion
from langgraph_reflexion import Strategy, create_reflexion
from langgraph_reflexion.envs import ENVIRONMENTS
from langgraph_reflexion.testing import ScriptedChatModel
from tests.docs.generated import REGION, regenerated, writers
from tests.docs.pages import BY_NAME, DOCS, PAGES, Page
from tests.support.toys import Counter

FAULTS = {("reset", "evaluate"), ("act", "evaluate"), ("observe", "evaluate"), ("reflect", "end")}
"""Where a fault goes; the README leaves these arrows out."""


@pytest.mark.parametrize("page", [page for page in PAGES if REGION.search(page.text)], ids=lambda page: page.name)
def test_generated_part_is_up_to_date(page: Page) -> None:
    assert regenerated(page.text) == page.text, "write it anew: python -m tests.docs.generated"


def test_every_generated_part_is_on_a_page() -> None:
    assert {name for page in PAGES for _, name, _ in REGION.findall(page.text)} == set(writers())


def test_every_environment_has_a_page() -> None:
    assert {page for page in BY_NAME if page.startswith("docs/environments/")} == {
        f"docs/environments/{name}.md" for name in ENVIRONMENTS
    }


def test_reference_lists_every_public_name() -> None:
    page = BY_NAME["docs/reference/python.md"]
    in_short = {link.removeprefix("#") for link in page.links}
    assert set(langgraph_reflexion.__all__) <= {name.rpartition(".")[2] for name in page.docstrings}
    assert set(page.docstrings) <= in_short


# Drawings.


@pytest.fixture(scope="module")
def compiled() -> set[tuple[str, str]]:
    """The arrows of the graph as it is compiled, under all strategies together."""
    found = set()
    for strategy in Strategy:
        graph = create_reflexion(ScriptedChatModel(replies=[]), Counter(), strategy=strategy).compile().get_graph()
        found |= {(edge.source.strip("_"), edge.target.strip("_")) for edge in graph.edges}
    return found


def test_graph_diagram_matches_the_compiled_graph(compiled: set[tuple[str, str]]) -> None:
    arrows = re.findall(r'data-id="l_(\w+)_0"', (DOCS / "drawings" / "graph.svg").read_text(encoding="utf-8").lower())
    assert set(arrows) == {f"{start}_{end}" for start, end in compiled}


def test_readme_diagram_matches_the_compiled_graph_without_faults(compiled: set[tuple[str, str]]) -> None:
    [drawing] = [block.text for block in BY_NAME["README.md"].blocks if block.language == "mermaid"]
    arrows = set()
    for line in drawing.splitlines():
        ends = re.split(r"\s*(?:-->|-\. [^.]+ \.->)\s*", line.strip())
        arrows |= set(pairwise(end.partition("((")[0].lower() for end in ends))
    assert arrows == compiled - FAULTS
    assert compiled > FAULTS
