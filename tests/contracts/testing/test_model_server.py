import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from operator import add
from urllib.parse import urlsplit

import httpx
import openai
import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_openai import ChatOpenAI

from langgraph_reflexion import ConfigurationError
from langgraph_reflexion.envs.grammar import tool_schemas
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.model_server import ModelServer
from tests.support.toys import Counter

KEY = "sk-a-key-of-ours"
SAYS = "Thought: up is best.\nAction: go up"
COUNTED = AIMessage(SAYS, usage_metadata={"input_tokens": 7, "output_tokens": 2, "total_tokens": 9})
ADD = tool_schemas(Counter())[0]


def client(server, **options):
    settings = {"api_key": KEY, "max_retries": 0, "timeout": 5, "use_responses_api": False, **options}
    return ChatOpenAI(model="any", base_url=server.url, **settings)


def always(reply=SAYS):
    return ScriptedChatModel(replies=lambda _: reply)


def replies(model):
    yield lambda: model.invoke("?")
    yield lambda: reduce(add, model.stream("?"))


def post(server, body, **headers):
    content = body if isinstance(body, bytes) else json.dumps(body)
    answer = httpx.post(f"{server.url}/chat/completions", content=content, headers=headers, timeout=5)
    return answer.status_code, answer.json()


ERRORS = {
    "429": (openai.RateLimitError, 429, "rate_limit_exceeded", None),
    "429-retry-after": (openai.RateLimitError, 429, "rate_limit_exceeded", None),
    "quota": (openai.RateLimitError, 429, "insufficient_quota", None),
    "500": (openai.InternalServerError, 500, None, None),
    "503": (openai.InternalServerError, 503, None, None),
    "wrong-key": (openai.AuthenticationError, 401, "invalid_api_key", None),
    "unknown-model": (openai.NotFoundError, 404, "model_not_found", None),
    "context": (openai.BadRequestError, 400, "context_length_exceeded", "messages"),
    "refused:stop": (openai.BadRequestError, 400, "unsupported_parameter", "stop"),
}


@pytest.mark.slow
def test_errors_have_the_status_and_code_of_openai():
    with ModelServer(always(), faults=[fault for fault in ERRORS for _ in range(2)]) as server:
        for fault, (kind, *expected) in ERRORS.items():
            for ask in replies(client(server)):
                with pytest.raises(kind) as raised:
                    ask()
                error = raised.value
                assert [error.status_code, error.code, error.param] == expected, fault
                assert set(error.body) == {"message", "type", "param", "code"}, fault
        assert client(server).invoke("?").text == SAYS


@pytest.mark.parametrize("unknown", ["418", "429:5"])  # seconds are those of 429-retry-after
def test_unknown_fault_is_refused(unknown):
    with pytest.raises(ConfigurationError, match="choose one of 429"):
        ModelServer(faults=[None, unknown])


@pytest.mark.slow
def test_reply_and_its_usage():
    with ModelServer(always(COUNTED)) as server:
        model = client(server, stream_usage=True)
        for ask in replies(model):
            reply = ask()
            assert (reply.text, reply.response_metadata["finish_reason"]) == (SAYS, "stop")
            assert (reply.usage_metadata["input_tokens"], reply.usage_metadata["output_tokens"]) == (7, 2)
        words = ["Thought:", " up", " is", " best.", "\nAction:", " go", " up"]
        assert [chunk.text for chunk in model.stream("?") if chunk.text] == words
    with ModelServer(always()) as server:
        assert client(server).invoke("?").usage_metadata is None


class Binding(ScriptedChatModel):
    bound: list = []

    def _generate(self, *args, **options):
        self.bound.append((options.get("tools"), options.get("tool_choice")))
        return super()._generate(*args, **options)


def test_model_receives_the_request():
    called = {"name": "add", "args": {"amount": 1}, "id": "a", "type": "tool_call"}
    history = [SystemMessage("rules"), HumanMessage("task"), AIMessage("one", tool_calls=[called])]
    history.append(ToolMessage("The counter stands at 1.", tool_call_id="a"))
    model = Binding(replies=lambda _: SAYS)
    with ModelServer(model) as server:
        client(server, seed=11).invoke(history)
        client(server).bind_tools([ADD], tool_choice="required").invoke("?", seed=12)
    [prompt, _] = model.prompts
    assert [(type(m), m.text) for m in prompt] == [(type(m), m.text) for m in history]
    assert (prompt[2].tool_calls, prompt[3].tool_call_id) == ([called], "a")
    assert model.seeds == [11, 12]
    assert model.bound == [(None, None), ([ADD], "required")]


def test_tool_calls():
    calls = [
        {"name": "add", "args": {"amount": 2, "why": 'it\'s "so"'}, "id": "a", "type": "tool_call"},
        {"name": "add", "args": {}, "id": "b", "type": "tool_call"},
    ]
    broken = {"name": "add", "args": '{"what" = the]', "id": "c", "error": None, "type": "invalid_tool_call"}
    with ModelServer(always(AIMessage("Two.", tool_calls=calls, invalid_tool_calls=[broken]))) as server:
        for reply in (ask() for ask in replies(client(server).bind_tools([ADD]))):
            assert (reply.text, reply.tool_calls) == ("Two.", calls)
            assert [call["args"] for call in reply.invalid_tool_calls] == [broken["args"]]
            assert reply.response_metadata["finish_reason"] == "tool_calls"


@pytest.mark.slow
def test_refusals():
    with ModelServer(always(AIMessage("", additional_kwargs={"refusal": "I will not."}))) as server:
        full, streamed = (ask() for ask in replies(client(server)))
    assert (full.additional_kwargs["refusal"], streamed.text) == ("I will not.", "")
    with ModelServer(FakeListChatModel(responses=["x"])) as server:  # it has no tools
        with pytest.raises(openai.BadRequestError) as raised:
            client(server).bind_tools([ADD]).invoke("?")
        assert (raised.value.param, client(server).invoke("?").text) == ("tools", "x")


@pytest.mark.slow
def test_a_fault_may_depend_on_the_request():
    with ModelServer(always(), faults=lambda request: None if request.key == KEY else "wrong-key") as server:
        assert client(server).invoke("?").text == SAYS
        with pytest.raises(openai.AuthenticationError, match="sk-another"):
            client(server, api_key="sk-another").invoke("?")
    with ModelServer(always(), faults=lambda request: "context" if request.characters > 100 else None) as server:
        assert client(server).invoke("x" * 100).text == SAYS
        content = [{"type": "text", "text": "x" * 60}, {"type": "text", "text": "y" * 41}]
        with pytest.raises(openai.BadRequestError, match="101 characters"):
            client(server).invoke([HumanMessage(content)])


def test_exception_in_the_model_is_a_server_error():
    with ModelServer(ScriptedChatModel(replies=[OSError("out of memory")])) as server:
        for word in ("out of memory", "no reply left"):
            with pytest.raises(openai.InternalServerError, match=word):
                client(server).invoke("?")


def test_a_model_that_cannot_answer_refuses_the_request_once():
    with ModelServer() as server, openai.OpenAI(base_url=server.url, api_key=KEY) as api:
        with pytest.raises(openai.BadRequestError, match=r"about something else.*Hello.*name another model"):
            api.chat.completions.create(model="any", messages=[{"role": "user", "content": "Hello"}])
        assert len(server.requests) == 1


@pytest.mark.slow
def test_requests_that_are_not_served():
    with ModelServer() as server, openai.OpenAI(base_url=server.url, api_key=KEY, max_retries=0) as api:
        assert post(server, b"", **{"Transfer-Encoding": "chunked"})[0] == 411
        with pytest.raises(openai.NotFoundError, match="/v1/responses"):
            api.responses.create(model="any", input="?")


@pytest.mark.slow
def test_clients_that_hang_or_leave(capfd):
    with ThreadPoolExecutor(1) as executor:
        with ModelServer(faults=["hang"]) as server:
            waiting = executor.submit(client(server, timeout=30).invoke, "?")
            while not server.requests:
                time.sleep(0.01)
            began = time.monotonic()
        assert time.monotonic() - began < 2
        with pytest.raises(openai.APIConnectionError):
            waiting.result(timeout=5)
    with pytest.raises(httpx.ConnectError):
        post(server, {"messages": []})
    body = b'{"messages": [], "stream": true}'
    head = b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body)
    with ModelServer(always("x" * 2**20)) as server:
        address = urlsplit(server.url)
        for sent in (b"", b"POST", head, head + body):
            with socket.create_connection((address.hostname, address.port), timeout=5) as connection:
                connection.sendall(sent)
        assert post(server, {"messages": []})[0] == 200
    assert capfd.readouterr().err == ""
