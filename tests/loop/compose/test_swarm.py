"""As one of a langgraph-swarm, handed to and handing on."""

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_swarm import create_handoff_tool, create_swarm

from langgraph_reflexion.testing import ScriptedChatModel
from tests.support import compositions as ways
from tests.support.composing import LESSON, SOLVED, TASK, THREAD, Guessing, call


async def test_another_agent_hands_over_to_it() -> None:
    guessing = Guessing()
    way = ways.swarm(guessing)
    final = await way.graph.ainvoke(way.input)
    answer = final["messages"][-1]
    assert (answer.name, answer.text, answer.response_metadata["reflexion"]) == ("guesser", "It is 3.", SOLVED)
    assert final["active_agent"] == "guesser"
    guessing.expect_lessons()


def test_it_stays_active_for_the_next_message() -> None:
    guessing = Guessing()
    way = ways.swarm(guessing, InMemorySaver())
    way.graph.invoke(way.input, THREAD)
    final = way.graph.invoke({"messages": [HumanMessage(TASK)]}, THREAD)
    assert [message.response_metadata["reflexion"]["trials"] for message in final["messages"][-3::2]] == [3, 3]
    assert len(guessing.guesses.prompts) == 12


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_the_wrapped_agent_hands_on_in_the_middle_of_a_trial(how: str) -> None:
    def reply(messages: list[Any]) -> AIMessage:
        told = any(LESSON in message.text for message in messages)
        return call("transfer_to_bob") if told else AIMessage("It is 1.")

    guessing = Guessing()
    agent = create_agent(ScriptedChatModel(replies=reply), [create_handoff_tool(agent_name="bob")])
    worker = guessing.graph(agent).compile(name="guesser")
    bob = create_agent(ScriptedChatModel(replies=["Bob here."]), [], name="bob")
    swarm = create_swarm([worker, bob], default_active_agent="guesser").compile()
    final = swarm.invoke(ways.MESSAGES) if how == "invoke" else await swarm.ainvoke(ways.MESSAGES)
    assert final["active_agent"] == "bob"
    assert len(guessing.reflects.prompts) == 1, "the first trial failed, the second one handed on"
    # What was a note of the agent's to itself is not said to the others.
    assert [message.text for message in final["messages"]] == [
        TASK, "", "Successfully transferred to bob", "Bob here."
    ]  # fmt: skip
