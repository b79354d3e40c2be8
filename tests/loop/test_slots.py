"""Servers that answer few calls at once: waiting for them is not a fault."""

import asyncio
import logging
import threading
import time

import pytest
from langchain_core.messages import AIMessage
from langchain_openai import ChatOpenAI

from langgraph_reflexion import ModelOptions, create_reflexion
from langgraph_reflexion.errors import ModelFault
from langgraph_reflexion.models.slots import PATIENCE, SECONDS_TO_ASK, Progress, Slots
from langgraph_reflexion.support.retries import WAITING, Retries
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support import toys
from tests.support.loopback import Answer, Listener
from tests.support.model_server import ModelServer, events
from tests.support.toys import count_to

pytestmark = pytest.mark.slow

TASKS = 6
SECONDS = 0.15
"""Time of an answer."""


def play(server, timeout, patience=None, tasks=TASKS):
    model = ChatOpenAI(model="any", base_url=server.url, api_key="any", timeout=timeout)
    options = ModelOptions(retries=Retries(attempts=4, first_wait=0.01), timeout=patience)
    graph, _ = toys.compiled(model, options=options)

    async def all_at_once():
        played = [count_to(3) | {"id": f"task {number}"} for number in range(tasks)]
        return await asyncio.gather(*(graph.ainvoke({"task": task}) for task in played))

    return [final["status"] for final in asyncio.run(all_at_once())]


def server(seconds=SECONDS, slots=1):
    model = ScriptedChatModel(replies=lambda _: "Action: add 3")
    return ModelServer(model, faults=lambda _: time.sleep(seconds), slots=slots)


def test_a_time_out_begins_when_a_slot_is_free(caplog):
    caplog.set_level(logging.INFO, WAITING.name)
    with server() as asked:
        assert play(asked, timeout=3 * SECONDS) == ["solved"] * TASKS
        assert len(asked.requests) == TASKS
    assert "calls waiting for a slot: 5 (slots: 1)" in caplog.text


@pytest.mark.parametrize(
    "props",
    [
        Answer(b'{"total_slots": true}'),
        Answer(b'{"total_slots": -1}'),
        Answer(b'{"total_slots": 1}', 500),
        Answer(b"[" * 100_000),
        Answer(b"<html>"),
        pytest.param(Answer(b"", ending="drip"), marks=pytest.mark.long),
    ],
    ids=["true", "negative", "error", "deep", "page", "drip"],
)
async def test_a_server_that_names_no_slots_has_any_number(props):
    listener = Listener(0, lambda call: props)
    slots = Slots(ChatOpenAI(model="any", base_url=listener.url, api_key="any"))
    async with asyncio.timeout(2 * SECONDS_TO_ASK), slots.one():
        assert slots.most is None
    await asyncio.to_thread(listener.close)


def test_fewer_calls_are_sent_to_a_server_that_keeps_them_waiting(caplog):
    caplog.set_level(logging.INFO, WAITING.name)
    one = threading.Lock()

    def wait(request):
        with one:
            time.sleep(SECONDS)

    with ModelServer(ScriptedChatModel(replies=lambda _: "Action: add 3"), faults=wait) as asked:
        assert play(asked, timeout=4 * SECONDS) == ["solved"] * TASKS
    assert "a call timed out" in caplog.text
    assert "retry 1 of 3" in caplog.text


@pytest.mark.long
def test_a_silent_server_that_names_its_slots_is_at_work(caplog):
    caplog.set_level(logging.INFO, WAITING.name)
    with server(seconds=4.0) as asked:
        assert play(asked, timeout=60, patience=3.0, tasks=1) == ["solved"]
        assert len(asked.requests) == 1
    assert "the server is at work, and silent" in caplog.text


def stream(pause, timeout):
    """Play a task whose only reply arrives in pieces, and return its status and the number of requests."""
    reply = AIMessage("Thought: I have 0 and the goal is 3, so 3 are missing.\nAction: add 3")

    def slowly(request):
        return lambda _: Answer(events(request, reply), pause=pause)

    with ModelServer(ScriptedChatModel(replies=[reply]), faults=slowly) as asked:
        model = ChatOpenAI(model="any", base_url=asked.url, api_key="any", streaming=True)
        options = ModelOptions(timeout=timeout, retries=Retries(attempts=1))
        return toys.play(model, options=options)[0]["status"], len(asked.requests)


def test_a_reply_that_keeps_arriving_does_not_time_out_and_a_silent_server_does():
    assert stream(pause=0.05, timeout=0.6) == ("solved", 1)
    with pytest.raises(ModelFault, match=r"no part of .* reply arrived within 0\.1 seconds"):
        stream(pause=0.5, timeout=0.1)


async def endless(seconds):
    """Pieces of a reply that never ends; returns why it was given up."""
    try:
        async with asyncio.timeout(seconds) as deadline:
            progress = Progress(deadline, seconds)
            while True:
                await asyncio.sleep(seconds / 5)
                await progress.on_llm_new_token("x")
    except TimeoutError:
        return progress.late()


async def test_a_reply_that_never_ends_times_out():
    assert await endless(0.1) == f"the model's reply did not end within {0.1 * PATIENCE:g} seconds"


def test_the_models_of_all_trials_share_the_slots_of_their_server():
    in_flight = []

    def count(_):
        # Others have the time to arrive.
        time.sleep(0.05)
        # Those that have been answered were counted.
        in_flight.append(len(asked.requests) - len(in_flight))

    model = ScriptedChatModel(replies=lambda _: "Action: add 9")
    with ModelServer(model, faults=count, slots=1) as asked:
        models = [
            ChatOpenAI(model=name, base_url=asked.url, api_key="any", temperature=0.1) for name in ("a", "b", "c")
        ]
        graph = create_reflexion(models, toys.Counter(limit=2), strategy="retry", max_trials=3).compile()

        async def all_at_once():
            played = [count_to(3) | {"id": f"task {number}"} for number in range(TASKS)]
            return await asyncio.gather(*(graph.ainvoke({"task": task}) for task in played))

        asyncio.run(all_at_once())
    assert set(in_flight) == {1}


def test_a_server_that_one_model_has_reached_has_answered_the_others():
    model = ScriptedChatModel(replies=lambda _: "Action: add 9")
    with ModelServer(model, faults=[None, "500", None]) as asked:
        models = [
            ChatOpenAI(model="any", base_url=asked.url, api_key="any", temperature=number) for number in (0.1, 0.2)
        ]
        options = ModelOptions(retries=Retries(attempts=1))
        graph = create_reflexion(models, toys.Counter(limit=1), strategy="retry", max_trials=2, options=options)
        final = graph.compile().invoke({"task": count_to(3)})
    # And not an error, which would end a run.
    assert final["status"] == "fault"
