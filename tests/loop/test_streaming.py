"""What a run streams: an agent's answer by token, and events of its progress."""

import pytest
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda

from langgraph_reflexion import ReflexionMiddleware, create_reflexion
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import Counter

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


def test_an_agents_answer_is_streamed_by_token_once():
    assert said(around_an_agent().stream(TASK, stream_mode="messages")) == TOKENS


async def test_it_is_streamed_by_token_once_asynchronously():
    stream = around_an_agent().astream(TASK, stream_mode=["messages", "values"])
    assert said([chunk async for mode, chunk in stream if mode == "messages"]) == TOKENS


def test_with_subgraphs_it_is_streamed_once_too():
    stream = around_an_agent().stream(TASK, stream_mode="messages", subgraphs=True)
    assert said([chunk for _, chunk in stream]) == TOKENS


def test_in_version_2_it_belongs_to_the_outermost_graph():
    parts = list(around_an_agent().stream(TASK, stream_mode="messages", version="v2"))
    assert said([part["data"] for part in parts]) == TOKENS
    assert {part["ns"] for part in parts} == {()}


def test_streamed_messages_know_their_trial():
    trials = [about["reflexion_trial"] for _, about in around_an_agent().stream(TASK, stream_mode="messages")]
    assert trials == [1] * 5 + [2] * 5


def test_the_answer_has_the_id_under_which_it_was_streamed():
    graph = around_an_agent()
    chunks = list(graph.stream(TASK, stream_mode=["messages", "values"]))
    streamed = [message.id for mode, (message, _) in [c for c in chunks if c[0] == "messages"]]
    assert chunks[-1][1]["messages"][-1].id == streamed[-1]


def test_an_environments_events_tell_of_trials_actions_verdicts_and_reflections():
    replies = ["Action: add 1", "Action: add 9", "Add less.", "Action: add 3"]
    environment = Counter(limit=2)
    graph = create_reflexion(ScriptedChatModel(replies=replies), environment).compile()
    events = list(graph.stream({"task": environment.tasks()[0]}, stream_mode="custom"))
    assert [(each["event"], each["trial"]) for each in events] == [
        ("trial_started", 1),
        ("action", 1),
        ("action", 1),
        ("verdict", 1),
        ("reflection", 1),
        ("trial_started", 2),
        ("action", 2),
        ("verdict", 2),
    ]
    assert events[1] | {"task": ""} == {
        "event": "action",
        "task": "",
        "trial": 1,
        "number": 1,
        "name": "add",
        "args": {"amount": "1"},
        "text": "add 1",
        "observation": "The counter stands at 1.",
    }
    assert events[4]["text"] == "Add less."
    assert [(each["verdict"], each["status"]) for each in (events[3], events[7])] == [
        (False, "running"),
        (True, "solved"),
    ]


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
        ("trial_started", 1),
        ("verdict", 1),
        ("reflection", 1),
        ("trial_started", 2),
        ("verdict", 2),
    ]
