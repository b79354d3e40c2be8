"""Connecting the nodes in another graph: input, output, a replaced node, the drawing."""

import pytest
from langgraph.graph import StateGraph
from typing_extensions import TypedDict

from langgraph_reflexion import ConfigurationError, ReflexionState, Strategy, connect, create_reflexion
from langgraph_reflexion.profiles import PROFILES
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import Counter, Timeless, count_to, counting_badly

INPUT = {"task": count_to(3)}


def made(**options):
    return create_reflexion(ScriptedChatModel(replies=counting_badly), Counter(), **options)


def connected(nodes, rules=PROFILES["paper"], graph=None):
    graph = graph or StateGraph(ReflexionState)
    connect(graph, nodes, rules)
    return graph.compile()


def run(compiled):
    return compiled.invoke(INPUT, {"recursion_limit": 1000})


def test_the_nodes_connected_again_are_the_same_graph():
    graph = made()
    again = connected(graph.loop, graph.rules)
    assert run(again) == Timeless(run(made().compile()))
    assert again.get_graph().draw_mermaid() == graph.compile().get_graph().draw_mermaid()


def test_no_setting_changes_the_drawing():
    settings = [*({"strategy": strategy} for strategy in Strategy), {"actor": "tools"}, {"profile": "upstream"}]
    drawings = {made(**each).compile().get_graph().draw_mermaid() for each in [*settings, {"evaluator": "llm"}]}
    assert len(drawings) == 1


class Form(TypedDict):
    target: int


class Counting(ReflexionState, total=False):
    target: int


class Outcome(TypedDict):
    status: str


def test_the_graph_can_have_its_own_input_and_output():
    loop = made().loop

    async def begin(state, config):
        task = {"task": count_to(state["target"])} if "task" not in state else {}
        return await loop["reset"]({**state, **task}, config)

    graph = StateGraph(Counting, input_schema=Form, output_schema=Outcome)
    compiled = connected({**loop, "reset": begin}, graph=graph)
    assert compiled.invoke({"target": 3}, {"recursion_limit": 1000}) == {"status": "solved"}


async def test_a_node_can_be_replaced():
    async def stop(state, config):
        return {"stop_reason": "enough" if state["trajectory"] else None}

    retrying = made(max_trials=1, strategy="retry")
    compiled = connected({**retrying.loop, "heuristic_check": stop}, retrying.rules)
    for final in (run(compiled), await compiled.ainvoke(INPUT)):
        assert [(trial["stop_reason"], trial["actions"]) for trial in final["trials"]] == [("enough", 1)]
        assert final["seconds"] > 0


def test_incomplete_nodes_are_refused():
    loop = made().loop
    with pytest.raises(ConfigurationError, match=r"connect: the nodes are reset, act, .*; got reset"):
        connected({"reset": loop["reset"]})
