"""The drawing of the graph is the algorithm of the paper, under every strategy."""

import xml.etree.ElementTree as ET

from langgraph.graph import END, START, MessagesState, StateGraph

from langgraph_reflexion import Strategy, create_reflexion
from langgraph_reflexion.experiments.graph_svg import Drawing
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import Counter

SVG = "{http://www.w3.org/2000/svg}"
NODES = ["reset", "act", "observe", "heuristic_check", "evaluate", "reflect"]


def compiled(**options):
    return create_reflexion(ScriptedChatModel(replies=[]), Counter(), **options).compile()


def drawing(**options):
    return compiled(**options).get_graph()


def test_the_drawing_is_the_committed_one(snapshot):
    assert drawing().draw_mermaid() == snapshot


def test_no_setting_changes_the_drawing():
    others = ({"actor": "tools"}, {"evaluator": "llm"}, {"profile": "upstream"})
    for options in (*({"strategy": str(strategy)} for strategy in Strategy), *others):
        assert drawing(**options).draw_mermaid() == drawing().draw_mermaid()


def test_the_picture_has_every_node_and_edge():
    svg = ET.fromstring(Drawing(compiled())._repr_svg_())
    assert [text.text for text in svg.iter(f"{SVG}text")] == ["start", *NODES, "end"]
    arrows = [path for path in svg.iter(f"{SVG}path") if path.get("marker-end")]
    edges = drawing().edges
    assert len(arrows) == len(edges)
    assert sum(path.get("stroke-dasharray") != "none" for path in arrows) == sum(e.conditional for e in edges)


def test_names_are_escaped_in_the_picture():
    builder = StateGraph(MessagesState)
    builder.add_node("<b>one</b>", lambda state: state)
    builder.add_edge(START, "<b>one</b>")
    builder.add_edge("<b>one</b>", END)
    picture = Drawing(builder.compile())
    assert repr(picture).split() == ["start", "→", "<b>one</b>", "<b>one</b>", "→", "end"]
    assert "<b>" not in picture._repr_svg_()
