"""The client that costs half as much sends the same requests, and is the plain one wherever it cannot."""

import json
import threading
import time
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_openai import AzureChatOpenAI, ChatOpenAI
from pydantic import BaseModel, SecretStr

from langgraph_reflexion import load_model
from langgraph_reflexion.models.answers import Answers
from langgraph_reflexion.models.calls import Call
from langgraph_reflexion.models.client import Client
from langgraph_reflexion.models.lean import lean, lean_class, lean_payload
from langgraph_reflexion.models.load import without_own_retries
from langgraph_reflexion.models.secrets import secrets_of
from langgraph_reflexion.nodes.node import run_blocking
from langgraph_reflexion.testing import ModelServer, ScriptedChatModel

KEY = "sk-0123456789"
TEXT = [SystemMessage("You walk."), HumanMessage("Où êtes-vous?"), AIMessage("Here."), HumanMessage("Go on.")]
CALLED = AIMessage("", tool_calls=[{"name": "walk", "args": {"steps": 3}, "id": "call_1", "type": "tool_call"}])
PIXEL = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo=", "detail": "low"}}
PARTS = [HumanMessage([{"type": "text", "text": "What is this?"}, PIXEL])]
WALK = {
    "type": "function",
    "function": {
        "name": "walk",
        "description": "Walk.",
        "parameters": {"type": "object", "properties": {"steps": {"type": "integer"}}, "required": ["steps"]},
    },
}


class Place(BaseModel):
    """A place."""

    name: str


@pytest.fixture(scope="module")
def server():
    with ModelServer(ScriptedChatModel(replies=lambda messages: '{"name": "here"}')) as server:
        yield server


def plain(server, **settings):
    return ChatOpenAI(model="any", base_url=server.url, api_key=SecretStr(KEY), max_retries=0, **settings)


def sent(server, ask, model):
    """What a call sends: the body with its keys in order, and the headers."""
    ask(model)
    request = server.requests[-1]
    return json.dumps(request.body), request.headers


CALLS = {
    "text": lambda model: model.invoke(TEXT),
    "a string": lambda model: model.invoke("Go."),
    "tool calls and results": lambda model: model.invoke(
        [*TEXT, CALLED, ToolMessage("Done.", tool_call_id="call_1")]
    ),
    "image parts": lambda model: model.invoke(PARTS),
    "stop and seed": lambda model: model.invoke(TEXT, stop=["\nObservation:"], seed=7),
    "a body of the user's": lambda model: model.invoke(TEXT, extra_body={"ttl": 300, "model": "theirs"}),
    "messages of the user's": lambda model: model.invoke(
        TEXT, extra_body={"messages": [{"role": "user", "content": "?"}]}
    ),
    "tools": lambda model: model.bind_tools([WALK], tool_choice="walk").invoke(TEXT),
    "tools, and a body": lambda model: model.bind_tools([WALK]).invoke(TEXT, extra_body={"ttl": 300}),
    "a stream": lambda model: list(model.stream(TEXT)),
    "structured": lambda model: model.with_structured_output(Place).invoke(TEXT),
}


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")  # of LangChain's, in older versions
@pytest.mark.parametrize("ask", CALLS.values(), ids=CALLS)
def test_requests_are_the_same_on_the_wire(server, ask):
    model = plain(server, temperature=0.5, stream_usage=True)
    cheaper = lean(model)
    assert type(cheaper) is not type(model)
    assert sent(server, ask, cheaper) == sent(server, ask, model)


@pytest.mark.parametrize(
    "settings", [{"extra_body": {"ttl": 1}}, {"model_kwargs": {"user": "me"}}, {"max_tokens": 9}]
)
def test_so_they_are_with_settings_of_the_model(server, settings):
    model = plain(server, **settings)
    assert sent(server, CALLS["tools"], lean(model)) == sent(server, CALLS["tools"], model)


def test_so_they_are_from_coroutines(server):
    async def ask(model):
        await model.bind_tools([WALK]).ainvoke([*TEXT, CALLED, ToolMessage("Done.", tool_call_id="call_1")])
        return [chunk async for chunk in model.astream(TEXT)]

    model = plain(server)
    for each in (model, lean(model)):
        run_blocking(ask(each))
    plainly, streamed, leanly, lean_stream = [(json.dumps(each.body), each.headers) for each in server.requests[-4:]]
    assert (leanly, lean_stream) == (plainly, streamed)


def test_messages_and_tools_go_past_the_sdk(server):
    """Otherwise the tests above would compare the plain client with itself."""
    payload = lean(plain(server))._get_request_payload(TEXT, tools=[WALK])
    assert (payload["messages"], payload["tools"]) == ([], [])
    assert len(payload["extra_body"]["messages"]) == len(TEXT)


def test_the_named_model_is_the_cheaper_one_and_passes_for_the_plain_one(server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    model = load_model("openai:any", base_url=server.url)
    same = plain(server, use_responses_api=False, stream_usage=True)
    assert type(model) is lean_class(ChatOpenAI) is not ChatOpenAI
    assert isinstance(model, ChatOpenAI)
    assert model.get_name() == same.get_name() == "ChatOpenAI"
    assert (model.model_name, model._llm_type, model.lc_id()) == (same.model_name, same._llm_type, same.lc_id())
    assert type(model).model_fields.keys() == ChatOpenAI.model_fields.keys()
    assert secrets_of(model) == secrets_of(same) == [KEY]
    assert type(without_own_retries(model.model_copy(update={"max_retries": 2}))) is type(model)
    key = TEXT, Call(0, "walk", 1, "act 0"), ()
    assert Answers(None, model)._key(*key) == Answers(None, same)._key(*key)


def test_a_users_own_model_is_left_alone(server):
    model = plain(server)
    assert Client(model).model is model
    assert type(model) is ChatOpenAI
    lean(model)
    assert type(model) is ChatOpenAI


# Where it cannot be had.


class Renamed(BaseModel):
    """A client of another day, which puts its requests together under another name."""

    def _request_payload(self, messages):
        return {"messages": messages}


class Reshaped(Renamed):
    """The name is there, and is no method any more."""

    @property
    def _get_request_payload(self):
        return {"messages": []}


class Otherwise(BaseModel):
    """The methods are there, and return something else."""

    include_response_headers: bool = False

    def _get_request_payload(self, messages, **options):
        return ("any", messages)

    async def _agenerate(self, messages, **options):
        return self._create_chat_result(self._get_request_payload(messages, **options))

    def _create_chat_result(self, reply):
        return reply


@pytest.mark.parametrize("client", [Renamed, Reshaped])
def test_without_the_hook_the_class_is_the_plain_one(client):
    assert lean_class(client) is client


async def test_what_has_another_shape_is_sent_as_it_is():
    assert lean_class(Otherwise) is not Otherwise
    assert await lean_class(Otherwise)()._agenerate(TEXT) == ("any", TEXT)


@pytest.mark.parametrize(
    "payload",
    [
        {"messages": [{"role": "user", "content": Path("picture.png")}]},
        {"messages": [{"role": "user", "content": [{"type": "place", "place": Place(name="here")}]}]},
        {"messages": [{"role": "user", "content": ("a", "b")}]},
        {"messages": ({"role": "user", "content": "Go."},)},
        {"messages": [{"role": "user", "content": "Go."}], "response_format": Place},
        {"messages": [{"role": "user", "content": "Go."}], "extra_body": {"messages": []}},
        {"messages": [{"role": "user", "content": "Go."}], "extra_body": ["no", "mapping"]},
        {"messages": [{"role": "user", "content": "Go."}], "tools": [{"function": Place}]},
        {"input": [{"role": "user", "content": "Go."}]},
    ],
)
def test_what_the_sdk_has_to_see_it_sees(payload):
    assert lean_payload(payload) is payload


def test_the_responses_api_and_azure_have_the_usual_requests():
    responses = ChatOpenAI(model="any", api_key=SecretStr(KEY), use_responses_api=True)
    assert lean(responses)._get_request_payload(TEXT) == responses._get_request_payload(TEXT)
    azure = AzureChatOpenAI(
        azure_endpoint="https://azure.invalid", api_version="2025-01-01", api_key=SecretStr(KEY), model="any"
    )
    assert lean(azure) is azure


def test_it_costs_less(server):
    """Of a call's CPU, putting the request together is the larger part: here, a quarter less is enough."""
    model, messages = plain(server), [HumanMessage("x" * 500)] * 40

    def cpu(each):
        begin = time.thread_time()
        for _ in range(5):
            each.invoke(messages)
        return time.thread_time() - begin

    cpu(lean(model)), cpu(model)
    assert min(cpu(lean(model)) for _ in range(3)) < 0.75 * min(cpu(model) for _ in range(3))


# What comes back.


async def outcome(model, messages=TEXT, **options):
    """What a call comes to: the reply without its id, or the error."""
    try:
        reply = await model.ainvoke(messages, **options)
    except Exception as error:
        kept = {name: getattr(error, name, None) for name in ("status_code", "code", "param")}
        return type(error), str(error), kept, type(error.__cause__), hasattr(error, "response")
    return {**reply.model_dump(), "id": None, "response_metadata": {**reply.response_metadata, "id": None}}


FAULTS = ["ok", "429", "500", "reset", "invalid-json", "empty-choices", "empty-text", "refusal", "broken-tool-call"]
FAULTS += ["context", "quota", "wrong-key", "unknown-model", "refuses-stop"]


@pytest.mark.parametrize("fault", FAULTS)
def test_replies_and_errors_are_the_same(fault):
    with ModelServer(ScriptedChatModel(replies=lambda messages: "Here."), faults=[fault, fault]) as server:
        model = plain(server, timeout=5)
        tools = {"tools": [WALK]} if fault == "broken-tool-call" else {}
        ours, usual = (run_blocking(outcome(each, stop=["\n"], **tools)) for each in (lean(model), model))
        assert ours == usual
        assert len(server.requests) == 2


class Traced(ChatOpenAI):
    """Says in which thread a reply is read."""

    def _create_chat_result(self, *args):
        read = super()._create_chat_result(*args)
        read.llm_output["system_fingerprint"] = threading.current_thread().name
        return read


def test_a_reply_is_read_in_the_thread_of_the_loop(server):
    async def threads(kind):
        model = kind(model="any", base_url=server.url, api_key=SecretStr(KEY))
        reply = await model.ainvoke(TEXT)
        return reply.response_metadata["system_fingerprint"], threading.current_thread().name

    read, own = run_blocking(threads(lean_class(Traced)))
    assert read == own
    read, own = run_blocking(threads(Traced))
    assert read != own


def test_response_headers_come_in_the_usual_way(server):
    reply = run_blocking(lean(plain(server, include_response_headers=True)).ainvoke(TEXT))
    assert reply.response_metadata["headers"]["content-type"] == "application/json"
