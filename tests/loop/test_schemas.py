"""What a graph takes and gives: to a caller, to a graph around it, and in its JSON schemas."""

import json
from typing import Any, TypedDict

import pytest
from langchain_core.runnables import RunnableLambda
from langgraph.graph import START, StateGraph

from langgraph_reflexion import AgentState, create_reflexion
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import Counter

ANSWERING = RunnableLambda(lambda messages: "42")


def around_an_agent(**options):
    model = ScriptedChatModel(replies=[])
    return create_reflexion(model, actor=ANSWERING, evaluator=lambda task, result: True, **options).compile()


def in_an_environment():
    return create_reflexion(ScriptedChatModel(replies=[]), Counter()).compile()


class Article(TypedDict, total=False):
    """The state of a graph that has a task and a status of its own."""

    task: str
    status: str
    result: Any


def test_a_graph_around_it_keeps_its_own_task_and_status():
    parent = StateGraph(Article)
    parent.add_node("solve", around_an_agent())
    parent.add_edge(START, "solve")
    article = {"task": "Six times seven?", "status": "draft"}
    assert parent.compile().invoke(article) == article | {"result": "42"}


def test_a_function_in_a_node_gets_the_whole_final_state():
    graph = around_an_agent()
    parent = StateGraph(Article)
    parent.add_node("solve", lambda state: {"status": graph.invoke({"task": state["task"]})["status"]})
    parent.add_edge(START, "solve")
    assert parent.compile().invoke({"task": "Six times seven?"})["status"] == "solved"


@pytest.mark.parametrize("make", [around_an_agent, in_an_environment])
def test_its_json_schemas_show_what_is_given_and_what_comes_back(make):
    graph = make()
    asked, told = graph.get_input_jsonschema(), graph.get_output_jsonschema()
    assert asked["properties"].keys() == {"task", "messages"} < told["properties"].keys() | {"task"}
    assert not told["properties"].keys() & {"task", "status", "episode"}
    assert len(json.dumps(asked)) + len(json.dumps(told)) < 6_000  # with the docstrings that Studio shows


def test_fields_of_a_callers_own_go_in_and_out():
    class Mine(AgentState):
        customer: str

    graph = around_an_agent(state_schema=Mine)
    assert "customer" in graph.get_input_jsonschema()["properties"]
    assert graph.invoke({"task": "Six times seven?", "customer": "Ann"})["customer"] == "Ann"
