"""What a run streams: an agent's answer by token, and events of its progress."""

import pytest
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda

from langgraph_reflexion import ReflexionMiddleware, create_reflexion
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import INPUT, Counter, compiled

TASK = {"task": "Count from four to six."}


def speaking(*texts):
    """A model that streams these texts by word."""
    return GenericFakeChatModel(messages=iter([AIMessage(text) for text in texts]))


def around_an_agent():
    """A graph whose agent fails once, whose evaluator asks a model, and that reflects."""
    private = speaking("Was it good?", "I began at one.", "Was it good?")
    agent = create_agent(speaking("one two three", "four five six"), tools=[])

    def is_right(task, result):
        private.invoke("Judge.")
        return "five" in result

    return create_reflexion(private, actor=agent, evaluator=is_right).compile()


def said(messages):
    """The texts of streamed messages, by id."""
    texts = {}
    for message, _ in messages:
        texts[message.id] = [*texts.get(message.id, []), message.text]
    return list(texts.values())


TOKENS = [["one", " ", "two", " ", "three"], ["four", " ", "five", " ", "six"]]


def test_an_agents_answer_is_streamed_by_token_once_with_its_trial_and_its_id():
    chunks = list(around_an_agent().stream(TASK, stream_mode=["messages", "values"]))
    streamed = [chunk for mode, chunk in chunks if mode == "messages"]
    assert said(streamed) == TOKENS
    assert [about["reflexion_trial"] for _, about in streamed] == [1] * 5 + [2] * 5
    assert chunks[-1][1]["messages"][-1].id == streamed[-1][0].id


@pytest.mark.slow
async def test_it_is_streamed_by_token_once_in_every_other_way():
    stream = around_an_agent().astream(TASK, stream_mode="messages")
    assert said([chunk async for chunk in stream]) == TOKENS
    stream = around_an_agent().stream(TASK, stream_mode="messages", subgraphs=True)
    assert said([chunk for _, chunk in stream]) == TOKENS
    parts = list(around_an_agent().stream(TASK, stream_mode="messages", version="v2"))
    assert said([part["data"] for part in parts]) == TOKENS
    assert {part["ns"] for part in parts} == {()}, "it belongs to the outermost graph"


@pytest.mark.slow
def test_an_environments_events_tell_of_trials_actions_verdicts_and_reflections():
    graph, _ = compiled(["Action: add 1", "Action: add 9", "Add less.", "Action: add 3"], Counter(limit=2))
    events = list(graph.stream(INPUT, stream_mode="custom"))
    first = ["trial_started", "action", "action", "verdict", "reflection"]
    assert [each["event"] for each in events] == [*first, "trial_started", "action", "verdict"]
    assert [each["trial"] for each in events] == [1] * 5 + [2] * 3
    action = {"event": "action", "task": "c3", "trial": 1, "number": 1}
    action |= {"name": "add", "args": {"amount": "1"}, "text": "add 1", "observation": "The counter stands at 1."}
    assert events[1] == action
    assert events[4]["text"] == "Add less."
    assert [(events[at]["verdict"], events[at]["status"]) for at in (3, 7)] == [(False, "running"), (True, "solved")]


def test_an_earlier_reflection_is_not_told_of_as_that_of_a_later_trial():
    useless = "I cannot assist with that."
    model = ScriptedChatModel(replies=["I lost count. Next time I count to five.", useless, useless])
    graph = create_reflexion(model, actor=lambda task: "a b c", evaluator=lambda result: (False, "3 words")).compile()
    events = graph.stream({"task": "Five words."}, stream_mode="custom")
    assert [event["trial"] for event in events if event["event"] == "reflection"] == [1]


@pytest.mark.parametrize("subgraphs", [False, True])
def test_without_messages_a_stream_is_langgraphs_own(subgraphs):
    model = ScriptedChatModel(replies=[])
    graph = create_reflexion(model, actor=RunnableLambda(lambda given: "42"), evaluator=lambda task, result: True)
    chunks = list(graph.compile().stream(TASK, stream_mode="updates", subgraphs=subgraphs))
    nodes = [next(iter(chunk[1] if subgraphs else chunk)) for chunk in chunks]
    assert nodes == ["reset", "act", "observe", "heuristic_check", "evaluate"]


def test_the_middleware_tells_of_its_trials_too():
    model = speaking("one two three", "I began at one.", "four five six")
    right = ReflexionMiddleware(model, evaluator=lambda task, result: "five" in result)
    agent = create_agent(model, tools=[], middleware=[right])
    question = {"messages": [{"role": "user", "content": TASK["task"]}]}
    events = [(each["event"], each["trial"]) for each in agent.stream(question, stream_mode="custom")]
    assert events == [
        *(("trial_started", 1), ("verdict", 1), ("reflection", 1)),
        *(("trial_started", 2), ("verdict", 2)),
    ]
