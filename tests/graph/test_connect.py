"""Nodes that are connected by hand: another input and output, a node of one's own, a graph that is drawn as ever."""

import pytest
from langgraph.graph import StateGraph
from typing_extensions import TypedDict

from langgraph_reflexion import ConfigurationError, ReflexionState, connect, create_reflexion, reflexion_nodes
from langgraph_reflexion.testing import ScriptedChatModel
from tests.toys import Counter, Timeless, count_to, counting_badly

INPUT = {"task": count_to(3)}


def made(**options):
    return create_reflexion(ScriptedChatModel(replies=counting_badly), Counter(), **options)


class Form(TypedDict):
    """The input of a graph of one's own."""

    target: int


class Asked(ReflexionState, total=False):
    """Its state."""

    target: int


class Outcome(TypedDict):
    """Its output."""

    status: str


def run(graph, **options):
    return graph.compile(**options).invoke(INPUT, {"recursion_limit": 1000})


def test_connected_again_they_are_the_same_graph():
    graph = made()
    again = connect(StateGraph(ReflexionState), reflexion_nodes(graph), "reflexion")
    assert run(again) == Timeless(run(made()))
    assert again.compile().get_graph().draw_mermaid() == graph.compile().get_graph().draw_mermaid()


@pytest.mark.parametrize(("strategy", "reflections"), [("retry", 0), ("reflexion", 2)])
def test_the_strategy_decides_whether_a_failed_trial_is_reflected_on(strategy, reflections):
    graph = connect(StateGraph(ReflexionState), reflexion_nodes(made()), strategy)
    assert len(run(graph)["reflections"]) == reflections


def test_a_form_as_input_and_an_outcome_as_output():
    nodes = reflexion_nodes(made())
    reset = nodes["reset"]

    async def begin(state, config):
        task = {"task": count_to(state["target"])} if "task" not in state else {}
        return await reset({**state, **task}, config)

    graph = connect(
        StateGraph(Asked, input_schema=Form, output_schema=Outcome),
        {**nodes, "reset": begin},
        "reflexion",
        metadata={"reset": {"description": "begin a trial"}},
    ).compile()
    assert graph.invoke({"target": 3}, {"recursion_limit": 1000}) == {"status": "solved"}
    assert graph.get_graph().nodes["reset"].metadata == {"description": "begin a trial"}


@pytest.mark.parametrize("awaited", [True, False])
def test_a_node_of_ones_own_takes_the_place_of_another(awaited):
    def stop(state, config):
        return {"stop_reason": "enough" if state["trajectory"] else None}

    async def stop_later(state, config):
        return stop(state, config)

    nodes = {**reflexion_nodes(made(max_trials=1)), "heuristic_check": stop_later if awaited else stop}
    final = run(connect(StateGraph(ReflexionState), nodes, "retry"))
    assert [(trial["stop_reason"], trial["actions"]) for trial in final["trials"]] == [("enough", 1)]


def test_what_is_no_loop_is_refused():
    nodes = reflexion_nodes(made())
    with pytest.raises(ConfigurationError, match="strategy='reflection': choose one of retry"):
        connect(StateGraph(ReflexionState), nodes, "reflection")
    with pytest.raises(ConfigurationError, match="the loop has exactly reset, act"):
        connect(StateGraph(ReflexionState), {"reset": nodes["reset"]}, "retry")
