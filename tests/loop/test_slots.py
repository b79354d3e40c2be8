"""Servers that answer few calls at once: waiting for them is no fault."""

import asyncio
import logging

from langchain_openai import ChatOpenAI

from langgraph_reflexion import ModelOptions, create_reflexion
from langgraph_reflexion.retries import WAITING, Retries
from langgraph_reflexion.testing import ModelServer, ScriptedChatModel
from tests.support.toys import Counter, count_to

TASKS = 6
SECONDS = 0.15
"""Time of an answer."""


def play(server, timeout):
    model = ChatOpenAI(model="any", base_url=server.url, api_key="any", timeout=timeout)
    options = ModelOptions(retries=Retries(attempts=4, first_wait=0.01))
    graph = create_reflexion(model, Counter(), options=options, max_trials=1, strategy="retry").compile()

    async def all_at_once():
        tasks = [count_to(3) | {"id": f"task {number}"} for number in range(TASKS)]
        return await asyncio.gather(*(graph.ainvoke({"task": task}) for task in tasks))

    return [final["status"] for final in asyncio.run(all_at_once())]


def server(**options):
    return ModelServer(ScriptedChatModel(replies=lambda _: "Action: add 3"), slots=1, seconds=SECONDS, **options)


def test_a_time_out_begins_when_a_slot_is_free(caplog):
    caplog.set_level(logging.INFO, WAITING.name)
    with server() as asked:
        assert play(asked, timeout=3 * SECONDS) == ["solved"] * TASKS
        assert len(asked.requests) == TASKS
    assert "5 calls wait: the model's server answers 1 at once" in caplog.text


def test_fewer_calls_are_sent_to_a_server_that_keeps_them_waiting(caplog):
    caplog.set_level(logging.INFO, WAITING.name)
    with server(names_slots=False) as asked:
        assert play(asked, timeout=4 * SECONDS) == ["solved"] * TASKS
    assert "a call timed out" in caplog.text
    assert "retry 1 of 3" in caplog.text
