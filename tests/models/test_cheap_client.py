"""The client that costs half as much sends the same requests, and is the plain one wherever it cannot."""

import asyncio
import json
import threading
import time
from contextlib import closing
from functools import partial, wraps
from inspect import signature
from pathlib import Path
from types import MappingProxyType

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_openai import AzureChatOpenAI, ChatOpenAI
from openai.resources.chat.completions import AsyncCompletions
from pydantic import BaseModel, SecretStr

from langgraph_reflexion import load_model
from langgraph_reflexion.models.answers import Answers
from langgraph_reflexion.models.calls import Call
from langgraph_reflexion.models.client import Client
from langgraph_reflexion.models.lean import lean, lean_class, prepared
from langgraph_reflexion.models.load import without_own_retries
from langgraph_reflexion.models.secrets import secrets_of
from langgraph_reflexion.nodes.node import run_blocking
from langgraph_reflexion.testing import ModelServer, ScriptedChatModel
from langgraph_reflexion.testing.loopback import Answer, Listener

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
    run_blocking(ask(model))
    request = server.requests[-1]
    return json.dumps(request.body), request.headers


async def streamed(model):
    return [chunk async for chunk in model.astream(TEXT)]


async def without_coroutine(model):
    return await asyncio.to_thread(model.invoke, TEXT)


CALLS = {
    "text": lambda model: model.ainvoke(TEXT),
    "a string": lambda model: model.ainvoke("Go."),
    "tool calls and results": lambda model: model.ainvoke(
        [*TEXT, CALLED, ToolMessage("Done.", tool_call_id="call_1")]
    ),
    "image parts": lambda model: model.ainvoke(PARTS),
    "stop and seed": lambda model: model.ainvoke(TEXT, stop=["\nObservation:"], seed=7),
    "a body of the user's": lambda model: model.ainvoke(TEXT, extra_body={"ttl": 300, "model": "theirs"}),
    "messages of the user's": lambda model: model.ainvoke(
        TEXT, extra_body={"messages": [{"role": "user", "content": "?"}]}
    ),
    "tools": lambda model: model.bind_tools([WALK], tool_choice="walk").ainvoke(TEXT),
    "tools, and a body": lambda model: model.bind_tools([WALK]).ainvoke(TEXT, extra_body={"ttl": 300}),
}
USUAL = {
    "headers of the user's": lambda model: model.ainvoke(TEXT, extra_headers={"x-team": "walkers"}),
    "a query and a time limit": lambda model: model.ainvoke(TEXT, extra_query={"a": "b"}, timeout=9),
    "more than JSON": lambda model: model.ainvoke(TEXT, logit_bias=MappingProxyType({"50256": -100})),
    "a stream": streamed,
    "without a coroutine": without_coroutine,
    "structured": lambda model: model.with_structured_output(Place).ainvoke(TEXT),
}
"""What the SDK has to see."""


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")  # of LangChain's, in older versions
@pytest.mark.parametrize("ask", [*CALLS.values(), *USUAL.values()], ids=[*CALLS, *USUAL])
def test_requests_are_the_same_on_the_wire(server, ask):
    model = plain(server, temperature=0.5, stream_usage=True)
    cheaper = lean(model)
    assert type(cheaper) is not type(model)
    assert sent(server, ask, cheaper) == sent(server, ask, model)
    assert sent(server, ask, cheaper) == sent(server, ask, model), "again, now that it is known what the SDK sends"


@pytest.mark.parametrize(
    "settings",
    [{"extra_body": {"ttl": 1}}, {"model_kwargs": {"user": "me"}}, {"max_tokens": 9}],
)
def test_so_they_are_with_settings_of_the_model(server, settings):
    model = plain(server, **settings)
    assert sent(server, CALLS["tools"], lean(model)) == sent(server, CALLS["tools"], model)


def test_so_are_their_addresses():
    paths = []

    def answer(call):
        paths.append(call.path)
        return Answer(json.dumps(completion()).encode())

    with closing(Listener(0, answer)) as listener:
        usual = plain(listener, default_query={"api-version": "2"})
        for model in (usual, lean(usual)):
            run_blocking(model.ainvoke(TEXT))
            run_blocking(model.ainvoke(TEXT, extra_query={"a": "b"}))
    assert paths == ["/chat/completions?api-version=2", "/chat/completions?api-version=2&a=b"] * 2


class Traced(ChatOpenAI):
    """Says in which thread a reply is read: LangChain's client reads it in another than the loop's."""

    def _create_chat_result(self, *args):
        read = super()._create_chat_result(*args)
        read.llm_output["system_fingerprint"] = threading.current_thread().name
        return read


def is_usual(server, kind, ask):
    """Whether a request went the way of LangChain's client."""

    async def threads():
        reply = await ask(kind(model="any", base_url=server.url, api_key=SecretStr(KEY)))
        return reply.response_metadata["system_fingerprint"], threading.current_thread().name

    read, own = run_blocking(threads())
    return read != own


@pytest.mark.parametrize("ask", CALLS.values(), ids=CALLS)
def test_requests_go_past_the_sdk(server, ask):
    """Otherwise the tests above would compare the plain client with itself."""
    assert is_usual(server, Traced, ask)
    assert not is_usual(server, lean_class(Traced), ask)


@pytest.mark.parametrize("name", ["headers of the user's", "a query and a time limit", "more than JSON"])
def test_but_for_those_that_it_has_to_see(server, name):
    assert is_usual(server, lean_class(Traced), USUAL[name])


class Watching:
    """What an instrumentation puts in the place of a function."""

    def __init__(self, function):
        self.function, self.seen = function, []

    async def __call__(self, *args, **options):
        self.seen.append(options)
        return await self.function(*args, **options)


def watched_class(model, monkeypatch):
    watching = Watching(AsyncCompletions.create)

    @wraps(watching.function)
    async def create(*args, **options):
        return await watching(*args, **options)

    monkeypatch.setattr(AsyncCompletions, "create", create)
    return watching


def watched_class_by_an_object(model, monkeypatch):
    class Descriptor(Watching):
        def __get__(self, completions, owner):
            return partial(self, completions) if completions else self

    watching = Descriptor(AsyncCompletions.create)
    monkeypatch.setattr(AsyncCompletions, "create", watching)
    return watching


def watched_client(model, monkeypatch):
    watching = Watching(model.async_client.create)
    model.async_client.create = watching.__call__
    return watching


def watched_raw(model, monkeypatch):
    raw = model.async_client.with_raw_response
    raw.create = Watching(raw.create)
    return raw.create


def watched_post(model, monkeypatch):
    model.async_client._post = Watching(model.async_client._post)
    return model.async_client._post


WATCHED = [watched_class, watched_class_by_an_object, watched_client, watched_raw, watched_post]


@pytest.mark.parametrize("watched", WATCHED)
def test_and_while_somebody_watches_it(server, watched, monkeypatch):
    model = lean(plain(server))
    watching = watched(model, monkeypatch)
    assert run_blocking(model.ainvoke(TEXT)).text
    assert len(watching.seen) == 1


def test_who_writes_into_a_request_writes_into_no_other(server):
    model, other = plain(server), lean(plain(server))
    client = model.root_async_client
    post = client.post

    async def signed(path, *, body, options, **how):
        options["headers"]["x-team"] = "walkers"
        options["timeout"] = 9
        body["tools"][0]["function"]["name"] += "_on"
        return await post(path, body=body, options=options, **how)

    client.post = model.async_client._post = signed
    call = CALLS["tools, and a body"]
    for names in ("walk_on", "walk_on"):
        body, headers = sent(server, call, lean(model))
        assert (json.loads(body)["tools"][0]["function"]["name"], headers["x-team"]) == (names, "walkers")
    assert sent(server, call, other) == sent(server, call, plain(server))


def test_langchain_sees_the_same_signature():
    assert signature(lean_class(ChatOpenAI)._agenerate) == signature(ChatOpenAI._agenerate)


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


IN_ITSELF = {}
IN_ITSELF["in"] = IN_ITSELF


@pytest.mark.parametrize(
    "payload",
    [
        {"messages": [{"role": "user", "content": Path("picture.png")}]},
        {"messages": [{"role": "user", "content": [{"type": "place", "place": Place(name="here")}]}]},
        {"messages": [{"role": "user", "content": ("a", "b")}]},
        {"messages": ({"role": "user", "content": "Go."},)},
        {"messages": [{"role": "user", "content": "Go."}], "response_format": Place},
        {"messages": [{"role": "user", "content": "Go."}], "response_format": {"type": "json_object"}},
        {"messages": [{"role": "user", "content": "Go."}], "extra_body": ["no", "mapping"]},
        {"messages": [{"role": "user", "content": "Go."}], "extra_body": []},
        {"messages": [{"role": "user", "content": "Go."}], "extra_body": {1: "one"}},
        {"messages": [{"role": "user", "content": "Go."}], "extra_body": IN_ITSELF},
        {"messages": [{"role": "user", "content": "Go."}], "extra_body": {"place": Place(name="here")}},
        {"messages": [{"role": "user", "content": "Go."}], "tools": [{"function": Place}]},
        {"messages": [{"role": "user", "content": "Go."}], "stream": True},
        {"messages": [{"role": "user", "content": "Go."}], "unheard_of": 1},
        {"input": [{"role": "user", "content": "Go."}]},
    ],
)
async def test_what_the_sdk_has_to_see_it_sees(server, payload):
    assert await prepared(plain(server), {"model": "any"} | payload) is None


async def test_connections_of_the_users_own_are_used(server):
    model = plain(server)
    other = model.model_copy(update={"async_client": model.root_async_client.with_options().chat.completions})
    payload = {"model": "any", "messages": []}
    assert await prepared(model, payload) is not None
    assert await prepared(other, payload) is None


async def test_the_responses_api_and_azure_are_left_alone():
    responses = ChatOpenAI(model="any", api_key=SecretStr(KEY), use_responses_api=True)
    assert await prepared(responses, responses._get_request_payload(TEXT)) is None
    azure = AzureChatOpenAI(
        azure_endpoint="https://azure.invalid", api_version="2025-01-01", api_key=SecretStr(KEY), model="any"
    )
    assert lean(azure) is azure


def test_it_costs_less(server):
    """Of a call's CPU, putting the request together is the larger part: here, a quarter less is enough."""
    model, messages = plain(server), [HumanMessage("x" * 500)] * 40

    async def calls(each):
        begin = time.process_time()
        for _ in range(5):
            await each.ainvoke(messages)
        return time.process_time() - begin

    def cpu(each):
        return run_blocking(calls(each))

    cpu(lean(model)), cpu(model)
    assert min(cpu(lean(model)) for _ in range(3)) < 0.75 * min(cpu(model) for _ in range(3))


# What comes back.


async def outcome(model, messages=TEXT, **options):
    """What a call comes to: the reply without its id, or the error."""
    try:
        result = await model.agenerate([messages], **options)
    except Exception as error:
        kept = {name: getattr(error, name, None) for name in ("status_code", "code", "param")}
        around = type(error.__cause__), type(error.__context__), hasattr(error, "response")
        return type(error), str(error), kept, around
    (generations,) = result.generations
    told = [each.model_dump() | {"message": each.message.model_dump()} for each in generations]
    for each in told:
        each["message"] |= {"id": None}
        each["message"]["response_metadata"].pop("id", None)
    return told, {**result.llm_output, "id": None}


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


def completion(message=None, usage=None, choice=None, **more):
    """A reply with some of its parts as given."""
    told = {"role": "assistant", "content": "Here."} | (message or {})
    counted = {"prompt_tokens": 4, "completion_tokens": 2, "total_tokens": 6} | (usage or {})
    chosen = {"index": 0, "message": told, "finish_reason": "stop"} | (choice or {})
    begin = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1700000000, "model": "any"}
    return {**begin, "choices": [chosen], "usage": counted, **more}


CUSTOM = {"id": "c1", "type": "custom", "custom": {"name": "walk", "input": "3"}}
UNTYPED = {"id": "c1", "function": {"name": "walk", "arguments": '{"steps": 3}'}}
LOGPROB = {"token": "Here", "logprob": -1, "bytes": [72], "top_logprobs": []}
REPLIES = {
    "plain": completion(),
    "in full": completion(
        {"refusal": None, "annotations": [], "tool_calls": None, "audio": None},
        {
            "prompt_tokens_details": {"cached_tokens": 3, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 1},
        },
        {"logprobs": {"content": [LOGPROB], "refusal": None}},
        service_tier="default",
        system_fingerprint="fp_1",
    ),
    "more than is documented": completion(
        {"reasoning_content": "Hm.", "name": "walker"},
        {"prompt_tokens_details": None, "cost": 0.5},
        {"stop_reason": 7, "content_filter_results": {}},
        prompt_logprobs=None,
        kv={"a": [1]},
    ),
    "unknown words": completion(choice={"finish_reason": "weary"}, service_tier="gold"),
    "words for numbers": completion(usage={"total_tokens": "6"}),
    "numbers of other kinds": completion(usage={"prompt_tokens": 4.0}, created=1.5),
    "less": {"choices": [{"message": {"role": "assistant", "content": "Here."}}]},
    "no usage": completion() | {"usage": None},
    "no role": {"choices": [{"index": 0, "message": {"content": "Here."}}]},
    "calls": completion({"content": None, "tool_calls": [UNTYPED | {"type": "function"}]}),
    "calls without a type": completion({"content": None, "tool_calls": [UNTYPED, UNTYPED | {"index": 1}]}),
    "calls of another kind": completion({"content": None, "tool_calls": [CUSTOM]}),
    "a call as in old times": completion({"function_call": {"name": "walk", "arguments": "{}"}}),
    "parts": completion({"content": [{"type": "text", "text": "Here."}]}),
    "several": completion(choices=completion()["choices"] * 2),
    "none": completion(choices=[]),
    "nothing": completion(choices=None),
    "an error": {"error": {"message": "overloaded", "code": 1}},
    "half a character": completion({"content": "\ud83d!"}),
    "a list": [completion()],
    "null": None,
}


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")  # of LangChain's, in older versions
@pytest.mark.parametrize("kind", ["application/json", "text/plain"])
@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
def test_replies_of_all_shapes_are_read_alike(reply, kind):
    listener = Listener(0, lambda call: Answer(json.dumps(reply).encode(), kind=kind))
    with closing(listener):
        model = plain(listener)
        usual = run_blocking(outcome(model))
        assert run_blocking(outcome(lean(model))) == usual


def test_what_a_gateway_tells_is_kept():
    told = {"X-LangSmith-Gateway-Metadata": '{"provider": "elsewhere"}'}
    listener = Listener(0, lambda call: Answer(json.dumps(completion()).encode(), headers=told))
    with closing(listener):
        model = plain(listener)
        assert run_blocking(outcome(lean(model))) == run_blocking(outcome(model))


def test_response_headers_come_in_the_usual_way(server):
    reply = run_blocking(lean(plain(server, include_response_headers=True)).ainvoke(TEXT))
    assert reply.response_metadata["headers"]["content-type"] == "application/json"
