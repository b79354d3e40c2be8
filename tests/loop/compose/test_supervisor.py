"""As a worker under langgraph-supervisor."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph_supervisor import create_supervisor
from langgraph_supervisor.handoff import create_forward_message_tool

from langgraph_reflexion.testing import ScriptedChatModel
from tests.support import compositions as ways
from tests.support.composing import SOLVED, TASK, Guessing, call

# langgraph-supervisor 0.0.31 stands on `create_react_agent`, which LangGraph has moved.
pytestmark = pytest.mark.filterwarnings("ignore:create_react_agent has been moved")


async def test_a_supervisor_hands_over_and_hears_the_answer() -> None:
    guessing = Guessing()
    way = ways.supervisor(guessing)
    final = await way.graph.ainvoke(way.input)
    messages = final["messages"]
    assert messages[-1].text == "I heard: It is 3."
    [answer] = [message for message in messages if "reflexion" in message.response_metadata]
    assert (answer.name, answer.text, answer.response_metadata["reflexion"]) == ("guesser", "It is 3.", SOLVED)
    guessing.expect_lessons()


def test_with_its_full_history_it_adds_its_answer_once() -> None:
    guessing = Guessing()
    worker = guessing.graph().compile(name="guesser")
    builder = create_supervisor([worker], model=guessing.caller("transfer_to_guesser"), output_mode="full_history")
    texts = [message.text for message in builder.compile().invoke(ways.MESSAGES)["messages"]]
    assert texts.count(TASK) == texts.count("It is 3.") == 1


def test_a_supervisor_forwards_the_answer_by_the_workers_name() -> None:
    guessing = Guessing()
    worker = guessing.graph().compile(name="guesser")

    def reply(messages: list[Any]) -> Any:
        if "Could not find" in messages[-1].text:
            return AIMessage("The worker has no name.")
        heard = any("It is 3." in message.text for message in messages)
        return call("forward_message", from_agent="guesser") if heard else call("transfer_to_guesser")

    builder = create_supervisor(
        [worker], model=ScriptedChatModel(replies=reply), tools=[create_forward_message_tool("supervisor")]
    )
    last = builder.compile().invoke(ways.MESSAGES)["messages"][-1]
    assert (last.name, last.text) == ("supervisor", "It is 3.")


def test_a_supervisors_worker_that_fails_says_so() -> None:
    guessing = Guessing()
    worker = guessing.graph(max_trials=2).compile(name="guesser")
    supervisor = create_supervisor([worker], model=guessing.caller("transfer_to_guesser"))
    messages = supervisor.compile().invoke(ways.MESSAGES)["messages"]
    [answer] = [message for message in messages if "reflexion" in message.response_metadata]
    assert answer.text == "It is 2."
    assert answer.response_metadata["reflexion"] == {
        "status": "failed", "trials": 2, "best": 2, "score": 0.0, "fault": ""
    }  # fmt: skip
