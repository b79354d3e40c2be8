"""Trials that the heuristic ends: when the agent is stopped, and what such a trial has answered."""

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_reflexion import ReflexionMiddleware, create_reflexion
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.composing import call


def searched(number):
    """A call of a tool, and its result."""
    asked = call("search", id=str(number))
    return [asked, ToolMessage("nothing", tool_call_id=asked.tool_calls[0]["id"])]


def chain(*nodes):
    """A graph that visits nodes in turn, each of which says some messages."""
    graph = StateGraph(MessagesState)
    before = START
    for number, said in enumerate(nodes):
        name = f"node {number}"
        graph.add_node(name, lambda state, said=said: {"messages": said})
        graph.add_edge(before, name)
        before = name
    return graph.compile()


def test_an_agent_whose_loop_is_over_at_its_next_step_goes_on():
    loops = [message for number in range(4) for message in searched(number)]
    agent = chain([*loops, AIMessage("I found nothing.")], searched("other"), [AIMessage("Nothing is known.")])
    graph = create_reflexion(actor=agent, evaluator=lambda result: True, strategy="retry").compile()
    # It would be called again and again within one trial.
    final = graph.invoke({"task": "Review it."}, {"recursion_limit": 40})
    assert (final["status"], final["trial"], final["result"]) == ("solved", 1, "Nothing is known.")


PAGE = "Page: Paris is the capital of France."


def search(words: str) -> str:
    """Search."""
    return PAGE


def looping():
    return ScriptedChatModel(replies=lambda messages: call("search", words="France"))


def names_paris(result):
    return "Paris" in result


def test_what_a_tool_has_returned_is_not_the_answer_of_a_trial_that_was_stopped():
    agent = create_agent(looping(), tools=[search])
    graph = create_reflexion(actor=agent, evaluator=names_paris, strategy="retry", max_trials=1).compile()
    final = graph.invoke({"task": "Name the capital of France."})
    assert final["trials"][0]["stop_reason"] == "hallucination"
    assert (final["status"], final["result"]) == ("failed", "")


def test_with_the_middleware_it_is_not_either():
    middleware = ReflexionMiddleware(evaluator=names_paris, strategy="retry", max_trials=1)
    agent = create_agent(looping(), tools=[search], middleware=[middleware])
    final = agent.invoke({"messages": [("user", "Name the capital of France.")]})
    (outcome,) = [each.response_metadata["reflexion"] for each in final["messages"] if each.response_metadata]
    assert outcome["status"] == "failed"


@pytest.mark.parametrize("tool_ends", [True, False])
def test_an_agent_that_ends_by_itself_may_end_with_the_result_of_a_tool(tool_ends):
    said = searched(1)
    if not tool_ends:
        said = [*said, AIMessage("It is nothing.")]
    graph = create_reflexion(actor=chain(said), evaluator=lambda result: True, strategy="retry").compile()
    expected = "nothing" if tool_ends else "It is nothing."
    assert graph.invoke({"task": "Search."})["result"] == expected
