"""The mistakes that people make first: what they are told, or that it is none."""

import pytest
from langchain.agents import create_agent

from langgraph_reflexion import ConfigurationError, create_reflexion
from langgraph_reflexion.testing import ScriptedChatModel


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("agent", "actor=AGENT"),
        ("lessons", r"memory=Memory\(lessons="),
        ("reset", r"WrappedAgent\(AGENT, reset="),
        ("checkpointer", r"compile\(checkpointer="),
        ("evaluater", "evaluator"),
    ],
)
def test_an_unknown_argument_says_where_it_belongs(name, says):
    with pytest.raises(ConfigurationError, match=rf"no argument '{name}' \(did you mean .*{says}"):
        create_reflexion("demo", **{name: object()})


def test_an_agent_in_the_first_place_is_the_actor():
    agent = create_agent(ScriptedChatModel(replies=["29"]), [])
    final = create_reflexion(agent, evaluator=lambda result: result == "29").compile().invoke({"task": "q"})
    assert final["status"] == "solved"


@pytest.mark.parametrize("method", ["invoke", "ainvoke", "stream", "batch"])
def test_a_graph_that_is_not_compiled_says_so(method):
    graph = create_reflexion("demo", "alfworld")
    with pytest.raises(AttributeError, match=rf"\.compile\(\)\.{method}"):
        getattr(graph, method)
