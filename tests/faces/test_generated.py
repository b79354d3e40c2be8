"""Generated parts of pages are up to date, and diagrams of the graph match the compiled graph."""

import re

import pytest

import langgraph_reflexion
from langgraph_reflexion import Strategy, create_reflexion, load_environment
from langgraph_reflexion.testing import ScriptedChatModel
from tests.docs.generated import REGION, regenerated, writers
from tests.docs.pages import BY_NAME, DOCS, PAGES, Page
from tests.support.toys import Counter


@pytest.mark.parametrize("page", [page for page in PAGES if REGION.search(page.text)], ids=lambda page: page.name)
def test_generated_part_is_up_to_date(page: Page) -> None:
    assert regenerated(page.text) == page.text, "rewrite it: python -m tests.docs.generated"


def test_every_generated_part_is_on_a_page() -> None:
    assert {name for page in PAGES for _, name, _ in REGION.findall(page.text)} == set(writers())


def test_reference_lists_every_public_name() -> None:
    in_full = {name for page in PAGES for name in page.docstrings}
    in_short = {link.rpartition("#")[2] for link in BY_NAME["docs/reference/python.md"].links}
    assert set(langgraph_reflexion.__all__) <= {name.rpartition(".")[2] for name in in_full}
    assert in_full == in_short


def test_tokens_in_the_traced_tree_are_those_of_the_run() -> None:
    environment = load_environment("hotpotqa")
    final = create_reflexion("demo", environment, max_trials=2).compile().invoke({"task": environment.tasks()[1]})
    first, second = (trial["usage"] for trial in final["trials"])
    spent = [each["input_tokens"] + each["output_tokens"] for each in (first["act"], first["reflect"], second["act"])]
    [tree] = (block.text for block in BY_NAME["docs/howto/tracing.md"].blocks if block.title == "tree.txt")
    chains = tree.split("\n  chain ")[1:]
    assert [sum(map(int, re.findall(r"(\d+) tokens", chain))) for chain in chains] == spent


def test_graph_diagram_matches_the_compiled_graph() -> None:
    """For all strategies together."""
    compiled = set()
    for strategy in Strategy:
        graph = create_reflexion(ScriptedChatModel(replies=[]), Counter(), strategy=strategy).compile().get_graph()
        compiled |= {f"{edge.source.strip('_')}_{edge.target.strip('_')}" for edge in graph.edges}
    drawn = (DOCS / "drawings" / "graph.svg").read_text(encoding="utf-8").lower()
    assert set(re.findall(r'data-id="l_(\w+)_0"', drawn)) == compiled
