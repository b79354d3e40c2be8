"""Settings that a call changes by LangGraph's runtime context."""

from dataclasses import dataclass

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolRuntime

from langgraph_reflexion import ConfigurationError, create_reflexion
from langgraph_reflexion.testing import ScriptedChatModel


def never_right(**options):
    model = ScriptedChatModel(replies=lambda messages: "Try again.")
    agent = RunnableLambda(lambda messages: "41")
    return create_reflexion(model, actor=agent, evaluator=lambda task, result: False, **options).compile()


def test_max_trials_is_the_calls():
    graph = never_right(max_trials=3)
    assert graph.invoke({"task": "Guess."}, context={"max_trials": 1})["trial"] == 1
    assert graph.invoke({"task": "Guess."})["trial"] == 3


def test_max_trials_that_is_no_number_is_refused():
    with pytest.raises(ConfigurationError, match="max_trials"):
        never_right().invoke({"task": "Guess."}, context={"max_trials": "many"})


async def test_an_unknown_setting_is_refused():
    with pytest.raises(ConfigurationError, match=r"'max_trial': it takes max_trials, user_id"):
        never_right().invoke({"task": "Guess."}, context={"max_trial": 1})
    with pytest.raises(ConfigurationError, match="max_trial"):
        await never_right().ainvoke({"task": "Guess."}, context={"max_trial": 1})


def test_a_node_of_a_graph_ignores_other_settings_in_its_context():
    parent = StateGraph(MessagesState, context_schema=dict).add_node("guess", never_right()).add_edge(START, "guess")
    question = {"messages": [{"role": "user", "content": "Guess."}]}
    final = parent.compile().invoke(question, context={"max_trials": 1, "tone": "kind"})
    assert final["messages"][-1].response_metadata["reflexion"]["trials"] == 1


def test_a_graph_shows_the_settings_of_a_call():
    assert never_right().get_context_jsonschema()["properties"].keys() == {"max_trials", "user_id"}


@dataclass
class Customer:
    """The context of an agent."""

    name: str
    max_trials: int = 1


def test_an_agents_own_context_reaches_its_tools_and_may_set_the_trials():
    names = []

    @tool
    def greet(runtime: ToolRuntime[Customer]) -> str:
        """Greet the customer."""
        names.append(runtime.context.name)
        return "Hello."

    asking = AIMessage("", tool_calls=[{"name": "greet", "args": {}, "id": "1"}])
    agent = create_agent(ScriptedChatModel(replies=[asking, "Done."]), [greet], context_schema=Customer)
    model = ScriptedChatModel(replies=[])
    graph = create_reflexion(model, actor=agent, evaluator=lambda task, result: False).compile()
    final = graph.invoke({"task": "Greet."}, context=Customer("Ann"))
    assert (names, final["trial"]) == (["Ann"], 1)
