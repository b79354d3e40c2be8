"""The drawing of the graph is the algorithm of the paper, under every strategy."""

from langgraph_reflexion import Strategy, create_reflexion
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import Counter


def drawing(**options):
    graph = create_reflexion(ScriptedChatModel(replies=[]), Counter(), **options)
    return graph.compile().get_graph().draw_mermaid()


def test_the_drawing_is_the_committed_one(snapshot):
    assert drawing() == snapshot


def test_no_setting_changes_the_drawing():
    others = ({"actor": "tools"}, {"evaluator": "llm"}, {"profile": "upstream"})
    for options in (*({"strategy": str(strategy)} for strategy in Strategy), *others):
        assert drawing(**options) == drawing()
