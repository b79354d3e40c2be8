"""As a tool of an agent."""

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool

from langgraph_reflexion.testing import ScriptedChatModel
from tests.support import compositions as ways
from tests.support.composing import TASK, Guessing


def test_an_agent_has_it_as_a_tool() -> None:
    guessing = Guessing()
    way = ways.as_tool(guessing)
    final = way.graph.invoke(way.input)
    assert [message.type for message in final["messages"]] == ["human", "ai", "tool", "ai"]
    assert [message.text for message in final["messages"][2:]] == ["It is 3.", "I heard: It is 3."]
    guessing.expect_lessons()


async def test_two_calls_at_once_are_two_tasks() -> None:
    guessings = {"a": Guessing(), "b": Guessing()}

    @tool
    async def solve(who: str) -> str:
        """Solve it."""
        final = await guessings[who].graph().compile().ainvoke({"task": TASK})
        return f"{who}: {final['result']} after {final['trial']} trials"

    calls = [{"name": "solve", "args": {"who": who}, "id": who, "type": "tool_call"} for who in guessings]
    model = ScriptedChatModel(replies=[AIMessage("", tool_calls=calls), "Done."])
    final = await create_agent(model, [solve]).ainvoke({"messages": [HumanMessage(TASK)]})
    heard = [message.text for message in final["messages"] if message.type == "tool"]
    assert heard == ["a: It is 3. after 3 trials", "b: It is 3. after 3 trials"]
    for guessing in guessings.values():
        guessing.expect_lessons()
