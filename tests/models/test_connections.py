"""The connections of a sweep: over aiohttp where that is to be had, and closed with the event loop."""

import asyncio
import logging

import pytest
from openai import DefaultAsyncHttpxClient

from langgraph_reflexion import load_model
from langgraph_reflexion.models.connections import connections
from langgraph_reflexion.testing import ModelServer, ScriptedChatModel


@pytest.fixture(scope="module")
def server():
    with ModelServer(ScriptedChatModel(replies=lambda messages: "Here.")) as server:
        yield server


def test_they_close_with_the_loop_and_send_the_usual_requests(server, caplog):
    if connections("openai:any") is None:
        pytest.skip("this version of the SDK has no connections over aiohttp: the client's own are used")
    made = []

    async def ask(over):
        made.append(over)
        model = load_model("openai:any", base_url=server.url, connections=over)
        return (await model.ainvoke("Where?")).text

    async def ask_as_usual():
        async with DefaultAsyncHttpxClient() as client:
            return await ask(client)

    with caplog.at_level(logging.WARNING):
        assert asyncio.run(ask(connections("openai:any", None))) == "Here."
        assert asyncio.run(ask_as_usual()) == "Here."
    assert made[0].is_closed
    assert caplog.messages == []
    ours, usual = server.requests
    assert ours.body == usual.body
    assert list(ours.body) == list(usual.body)
    assert ours.headers == usual.headers


def test_only_models_of_openai_have_them():
    assert connections("demo", None) is None
    assert connections("anthropic:any") is None


def test_an_address_with_a_password_has_the_clients_own(server):
    over = connections("openai:any")
    model = load_model("openai:any", base_url=server.url.replace("//", "//me:secret@"), connections=over)
    assert model.http_async_client is None  # type: ignore[attr-defined]
    assert load_model("openai:any", base_url=server.url, connections=over).http_async_client is over  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("fault", "error"), [("refused", "Connection"), ("reset", "Connection"), ("hang", "Timeout")]
)
def test_troubles_have_their_usual_names(fault, error):
    async def trouble(url, over):
        try:
            await load_model("openai:any", base_url=url, timeout=0.2, connections=over).ainvoke("Where?")
        except Exception as error:
            return type(error)

    with ModelServer(faults=[] if fault == "refused" else [fault] * 2) as server:
        url = "http://127.0.0.1:9/v1" if fault == "refused" else server.url
        ours, usual = (asyncio.run(trouble(url, over)) for over in (connections("openai:any"), None))
    assert ours is usual
    assert error in ours.__name__
