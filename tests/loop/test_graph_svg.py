import xml.etree.ElementTree as ET

from langgraph.graph import END, START, MessagesState, StateGraph

from langgraph_reflexion import create_reflexion
from langgraph_reflexion.experiments.graph_svg import Drawing
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import Counter

SVG = "{http://www.w3.org/2000/svg}"


def test_every_node_and_every_edge_is_drawn() -> None:
    graph = create_reflexion(ScriptedChatModel(replies=[]), Counter()).compile()
    drawn = graph.get_graph()
    svg = ET.fromstring(Drawing(graph)._repr_svg_())
    names = [text.text for text in svg.iter(f"{SVG}text")]
    assert names == ["start", "reset", "act", "observe", "heuristic_check", "evaluate", "reflect", "end"]
    arrows = [path for path in svg.iter(f"{SVG}path") if path.get("marker-end")]
    assert len(arrows) == len(drawn.edges)
    assert sum(path.get("stroke-dasharray") != "none" for path in arrows) == sum(e.conditional for e in drawn.edges)


def test_the_text_lists_the_successors_of_each_node() -> None:
    builder = StateGraph(MessagesState)
    builder.add_node("<b>one</b>", lambda state: state)
    builder.add_edge(START, "<b>one</b>")
    builder.add_edge("<b>one</b>", END)
    drawing = Drawing(builder.compile())
    assert [line.split() for line in repr(drawing).splitlines()] == [
        ["start", "→", "<b>one</b>"],
        ["<b>one</b>", "→", "end"],
    ]
    assert "<b>" not in drawing._repr_svg_()
