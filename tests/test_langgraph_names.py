"""The undocumented names that the package relies on: a test fails when LangGraph or LangChain drops one."""

from langchain.agents import create_agent
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict

from langgraph_reflexion._langgraph import AGENT_NAME, CHECKPOINTER
from langgraph_reflexion.testing import ScriptedChatModel

THREAD = RunnableConfig(configurable={"thread_id": "1"})


class Nothing(TypedDict, total=False):
    """An empty state."""

    said: str


def test_a_node_finds_the_runs_checkpointer_under_its_key():
    seen = []
    inner, outer = StateGraph(Nothing), StateGraph(Nothing)
    inner.add_node("look", lambda state, config: seen.append(config["configurable"].get(CHECKPOINTER)))
    inner.add_edge(START, "look")
    outer.add_node("inner", inner.compile())
    outer.add_edge(START, "inner")
    outer.compile().invoke({}, THREAD)
    outer.compile(checkpointer=InMemorySaver()).invoke({}, THREAD)
    assert seen[0] is None
    # A subgraph sees its parent's.
    assert isinstance(seen[1], InMemorySaver)


def test_an_agent_of_langchains_has_its_name_under_the_key():
    agent = create_agent(ScriptedChatModel(replies=["Hello."]), [], name="hal")
    found = [metadata.get(AGENT_NAME) for _, metadata in agent.stream({"messages": "hi"}, stream_mode="messages")]
    assert set(found) == {"hal"}
