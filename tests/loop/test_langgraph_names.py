"""The undocumented names that the package relies on: a test fails when LangGraph or LangChain drops one."""

from langchain.agents import create_agent

from langgraph_reflexion._langgraph import AGENT_NAME
from langgraph_reflexion.testing import ScriptedChatModel


def test_an_agent_of_langchains_has_its_name_under_the_key():
    agent = create_agent(ScriptedChatModel(replies=["Hello."]), [], name="hal")
    found = [metadata.get(AGENT_NAME) for _, metadata in agent.stream({"messages": "hi"}, stream_mode="messages")]
    assert set(found) == {"hal"}
