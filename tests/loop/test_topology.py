"""The drawing of the graph is the algorithm of the paper, under every strategy."""

import pytest

from langgraph_reflexion import Strategy, create_reflexion
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import Counter

NODES = ["reset", "act", "observe", "heuristic_check", "evaluate", "reflect"]


def drawing(**options):
    return create_reflexion(ScriptedChatModel(replies=[]), Counter(), **options).compile().get_graph()


def test_exactly_six_nodes():
    assert list(create_reflexion(ScriptedChatModel(replies=[]), Counter()).nodes) == NODES
    assert set(drawing().nodes) == {*NODES, "__start__", "__end__"}


def test_the_drawing_is_reviewed(snapshot):
    assert drawing().draw_mermaid() == snapshot


@pytest.mark.parametrize(
    "options",
    [
        *({"strategy": str(strategy)} for strategy in Strategy),
        {"actor": "tools"},
        {"evaluator": "llm"},
        {"profile": "upstream"},
    ],
    ids=str,
)
def test_no_setting_changes_the_drawing(options):
    assert drawing(**options).draw_mermaid() == drawing().draw_mermaid()


def test_the_graph_is_the_callers_to_compile_and_name():
    graph = create_reflexion(ScriptedChatModel(replies=["Action: add 3"]), Counter())
    compiled = graph.compile(name="mine")
    assert compiled.name == "mine"
    assert compiled.invoke({"task": Counter().tasks()[0]})["status"] == "solved"
