"""The model server: what the real client makes of every answer, and that the server itself stays well."""

import contextlib
import http.client
import json
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from urllib.parse import urlsplit

import openai
import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_openai import ChatOpenAI

from langgraph_reflexion import ConfigurationError, create_reflexion, load_environment
from langgraph_reflexion.testing import MODEL_FAULTS, ModelServer, ScriptedChatModel
from tests.toys import Counter, count_to

KEY = "sk-a-key-of-ours"
SAYS = "Thought: up is best.\nAction: go up"
COUNTED = AIMessage(SAYS, usage_metadata={"input_tokens": 7, "output_tokens": 2, "total_tokens": 9})
ADD = Counter().tools[0]


def client(server, **options):
    settings = {"api_key": KEY, "max_retries": 0, "timeout": 5, "use_responses_api": False, **options}
    return ChatOpenAI(model="any", base_url=server.url, **settings)


def scripted(*replies):
    return ScriptedChatModel(replies=list(replies))


def always(reply=SAYS):
    return ScriptedChatModel(replies=lambda _: reply)


def asked(model, streamed):
    if not streamed:
        return model.invoke("?")
    first, *rest = model.stream("?")
    return sum(rest, first)


def post(server, body, **headers):
    """What a client of no particular kind gets: status and body."""
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=5)
    with contextlib.closing(connection):
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request("POST", "/v1/chat/completions", content, headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


# Faults.

ERRORS = {
    "429": (openai.RateLimitError, 429, "rate_limit_exceeded", None),
    "429-retry-after": (openai.RateLimitError, 429, "rate_limit_exceeded", None),
    "quota": (openai.RateLimitError, 429, "insufficient_quota", None),
    "500": (openai.InternalServerError, 500, None, None),
    "503": (openai.InternalServerError, 503, None, None),
    "wrong-key": (openai.AuthenticationError, 401, "invalid_api_key", None),
    "unknown-model": (openai.NotFoundError, 404, "model_not_found", None),
    "context": (openai.BadRequestError, 400, "context_length_exceeded", "messages"),
    "refuses-stop": (openai.BadRequestError, 400, "unsupported_parameter", "stop"),
    "refuses-temperature": (openai.BadRequestError, 400, "unsupported_value", "temperature"),
    "refuses-seed": (openai.BadRequestError, 400, "unsupported_parameter", "seed"),
    "refuses-tools": (openai.BadRequestError, 400, "unsupported_parameter", "tools"),
}
NOT_ARRIVING = {
    "hang": (openai.APITimeoutError, openai.APITimeoutError),
    "reset": (openai.APIConnectionError, openai.APIConnectionError),
    "truncated-stream": (openai.APIConnectionError, None),
    "invalid-json": (ValueError, ValueError),
    "empty-choices": (IndexError, None),
}
"""What the client raises when it is answered whole, and in a stream; None where it notices nothing."""
REPLIES = {"empty-text", "refusal", "broken-tool-call", "unknown-tool", "megabyte"}


def test_every_fault_is_tried_here():
    assert {*ERRORS, *NOT_ARRIVING, *REPLIES} == set(MODEL_FAULTS)


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("fault", ERRORS)
def test_errors_have_the_status_and_the_code_of_openais(fault, streamed):
    kind, *expected = ERRORS[fault]
    with ModelServer(always(), faults=[fault]) as server:
        model = client(server, temperature=0, seed=3, stop_sequences=["\nObservation"]).bind_tools([ADD])
        with pytest.raises(kind) as raised:
            asked(model, streamed)
        assert [raised.value.status_code, raised.value.code, raised.value.param] == expected
        assert set(raised.value.body) == {"message", "type", "param", "code"}
        assert asked(model, streamed).text == SAYS, "afterwards nothing goes wrong"


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("fault", NOT_ARRIVING)
def test_answers_that_do_not_arrive(fault, streamed):
    kind = NOT_ARRIVING[fault][streamed]
    with ModelServer(always(), faults=[fault]) as server:
        model = client(server, timeout=1.0)
        if kind:
            with pytest.raises(kind):
                asked(model, streamed)
        else:
            reply = asked(model, streamed)
            assert len(reply.text) < len(SAYS)
            assert SAYS.startswith(reply.text)
            assert "finish_reason" not in reply.response_metadata
        assert asked(model, streamed).text == SAYS


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    ("fault", "says"), [("empty-text", ""), ("refusal", ""), ("megabyte", "and so on " * 100_000)]
)
def test_odd_replies(fault, says, streamed):
    with ModelServer(always(), faults=[fault]) as server:
        reply = asked(client(server), streamed)
    assert reply.text == says
    assert reply.response_metadata["finish_reason"] == "stop"
    if not streamed:
        assert bool(reply.additional_kwargs["refusal"]) == (fault == "refusal")


@pytest.mark.parametrize("streamed", [False, True])
def test_calls_that_cannot_be_done(streamed):
    with ModelServer(always(), faults=["broken-tool-call", "unknown-tool"]) as server:
        model = client(server).bind_tools([ADD])
        broken, unknown = asked(model, streamed), asked(model, streamed)
    assert broken.tool_calls == []
    assert [call["name"] for call in broken.invalid_tool_calls] == ["add"]
    assert [call["name"] for call in unknown.tool_calls] == ["no_such_tool"]


def test_a_connection_that_is_reset_is_reset():
    with ModelServer(always("word " * 1000), faults=["reset"]) as server:
        address = urlsplit(server.url)
        body = b'{"messages": [{"role": "user", "content": "?"}]}'
        head = f"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        with socket.create_connection((address.hostname, address.port), timeout=5) as connection:
            connection.sendall(head + body)
            received = b""
            with contextlib.suppress(ConnectionResetError):
                while piece := connection.recv(1024):
                    received += piece
                pytest.fail("the connection was closed in good order")
    assert received.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"word word" in received


def test_the_key_is_quoted():
    with ModelServer(faults=["wrong-key"]) as server, pytest.raises(openai.AuthenticationError, match=KEY):
        client(server).invoke("?")


@pytest.mark.parametrize(
    ("fault", "seconds"), [("429", None), ("429-retry-after", "1"), ("429-retry-after:0.2", "0.2")]
)
def test_when_to_try_again(fault, seconds):
    with ModelServer(faults=[fault]) as server, pytest.raises(openai.RateLimitError) as raised:
        client(server).invoke("?")
    assert raised.value.response.headers.get("retry-after") == seconds


def test_a_client_that_waits_as_told_gets_its_answer():
    # Left to itself, the client tries again after at most half a second.
    with ModelServer(always(), faults=["429-retry-after:1", "503"]) as server:
        assert client(server, max_retries=2).invoke("?").text == SAYS
    first, second, _ = (request.arrived for request in server.requests)
    assert second - first >= 1


@pytest.mark.parametrize("fault", ["refuses-stop", "refuses-temperature", "refuses-seed", "refuses-tools"])
def test_what_is_not_asked_for_is_not_refused(fault):
    with ModelServer(always(), faults=[fault]) as server:
        assert client(server).invoke("?").text == SAYS


def test_faults_in_order_ok_and_none_in_between_and_nothing_afterwards():
    with ModelServer(always(), faults=["500", None, "503", "ok", "429"]) as server:
        assert [post(server, {"messages": []})[0] for _ in range(7)] == [500, 200, 503, 200, 429, 200, 200]


def test_the_nth_request_has_the_nth_fault_also_at_once():
    with ModelServer(always(), faults=["500", "ok"] * 8) as server, ThreadPoolExecutor(16) as executor:
        bodies = [{"messages": [{"role": "user", "content": f"{number}"}]} for number in range(16)]
        statuses = dict(zip(range(16), executor.map(lambda body: post(server, body)[0], bodies), strict=True))
    came = [int(request.body["messages"][0]["content"]) for request in server.requests]
    assert [statuses[number] for number in came] == [500, 200] * 8


def test_faults_without_end():
    with ModelServer(always(), faults=cycle(["ok", "500"])) as server:
        assert [post(server, {"messages": []})[0] for _ in range(6)] == [200, 500] * 3


def test_faults_by_request():
    def late(request):
        return "503" if request.body["messages"] and request.number > 1 else None

    with ModelServer(always(), faults=late) as server:
        bodies = [{"messages": []}, {"messages": []}, {"messages": [{"role": "user", "content": "?"}]}]
        assert [post(server, body)[0] for body in bodies] == [200, 200, 503]


@pytest.mark.parametrize("fault", ["418", "429:1", "429-retry-after:soon", "429-retry-after:-1", ""])
def test_a_fault_that_there_is_not_is_told_at_once(fault):
    with pytest.raises(ConfigurationError, match="choose one of 429, 429-retry-after, quota"):
        ModelServer(faults=["ok", fault])


def test_a_function_that_names_no_fault_is_told_to_the_client():
    with ModelServer(faults=lambda _: "418") as server:
        status, body = post(server, {"messages": []})
    assert status == 500
    assert body["error"]["message"].startswith("ConfigurationError: no model fault '418'")


# What goes well.


@pytest.mark.parametrize("streamed", [False, True])
def test_an_answer_and_what_it_cost(streamed):
    with ModelServer(always(COUNTED)) as server:
        reply = asked(client(server, stream_usage=True), streamed)
    assert (reply.text, reply.response_metadata["finish_reason"]) == (SAYS, "stop")
    assert reply.usage_metadata["input_tokens"] == 7
    assert reply.usage_metadata["output_tokens"] == 2


def test_who_does_not_count_is_not_made_to():
    with ModelServer(always()) as server:
        assert client(server).invoke("?").usage_metadata is None


def test_a_stream_comes_in_pieces():
    with ModelServer(always()) as server:
        pieces = [chunk.text for chunk in client(server).stream("?") if chunk.text]
    assert pieces == ["Thought:", " up", " is", " best.", "\nAction:", " go", " up"]


def test_the_model_sees_what_was_sent():
    history = [
        SystemMessage("rules"),
        HumanMessage("task"),
        AIMessage("one", tool_calls=[{"name": "add", "args": {"amount": 1}, "id": "a", "type": "tool_call"}]),
        ToolMessage("The counter stands at 1.", tool_call_id="a"),
    ]
    model = always()
    with ModelServer(model) as server:
        client(server, seed=11).invoke(history)
        client(server).invoke("?", seed=12)
    [prompt, _] = model.prompts
    assert [(type(m), m.text) for m in prompt] == [(type(m), m.text) for m in history]
    assert prompt[2].tool_calls == history[2].tool_calls
    assert prompt[3].tool_call_id == "a"
    assert model.seeds == [11, 12]


def test_a_broken_call_in_the_history_is_taken_back():
    model = always()
    call = {"id": "a", "type": "function", "function": {"name": "add", "arguments": '{"amount": '}}
    with ModelServer(model) as server:
        status, _ = post(
            server,
            {
                "messages": [
                    {"role": "assistant", "content": None, "tool_calls": [call]},
                    {"role": "tool", "content": "?", "tool_call_id": "a"},
                ]
            },
        )
    assert status == 200
    assert [call["name"] for call in model.prompts[0][0].tool_calls] == ["add"]


@pytest.mark.parametrize("streamed", [False, True])
def test_calls_go_out(streamed):
    calls = [
        {"name": "add", "args": {"amount": 2, "why": 'it\'s "so"'}, "id": "a", "type": "tool_call"},
        {"name": "add", "args": {}, "id": "b", "type": "tool_call"},
    ]
    with ModelServer(always(AIMessage("Two.", tool_calls=calls))) as server:
        reply = asked(client(server).bind_tools([ADD]), streamed)
    assert reply.text == "Two."
    assert reply.tool_calls == calls
    assert reply.response_metadata["finish_reason"] == "tool_calls"


def test_tools_reach_the_model():
    bound = []

    class Binding(ScriptedChatModel):
        def bind_tools(self, tools, **kwargs):
            bound.append((tools, kwargs))
            return super().bind_tools(tools, **kwargs)

    with ModelServer(Binding(replies=lambda _: "x")) as server:
        client(server).bind_tools([ADD], tool_choice="required").invoke("?")
        client(server).invoke("?")
    assert bound == [([ADD], {"tool_choice": "required"})]


def test_a_model_without_tools_refuses_them():
    with ModelServer(FakeListChatModel(responses=["x"])) as server:
        with pytest.raises(openai.BadRequestError) as raised:
            client(server).bind_tools([ADD]).invoke("?")
        assert client(server).invoke("?").text == "x"
    assert raised.value.param == "tools"


def test_a_reply_ends_at_a_stop_sequence():
    with ModelServer(always("Action: go up\nObservation: 1\nAction: go down")) as server:
        assert client(server).invoke("?", stop=["never", "\nObservation"]).text == "Action: go up"


def test_an_agent_plays_as_with_the_model_itself():
    environment = load_environment("alfworld")
    task = environment.tasks()[0]
    direct = create_reflexion(ModelServer().model, environment, max_trials=2).compile()
    with ModelServer() as server:
        remote = create_reflexion(client(server), environment, max_trials=2).compile()
        final = remote.invoke({"task": task})
    here = direct.invoke({"task": task})
    assert final["trajectory"] == here["trajectory"]
    assert (
        len({request.body["seed"] for request in server.requests}) == len(server.requests) >= len(final["trajectory"])
    )


def test_an_agent_with_tools():
    calls = [AIMessage("", tool_calls=[{"name": "add", "args": {"amount": 3}, "id": "a", "type": "tool_call"}])]
    with ModelServer(scripted(*calls)) as server:
        graph = create_reflexion(client(server), Counter(), actor="tools").compile()
        final = graph.invoke({"task": count_to(3)})
    assert final["status"] == "solved"


# What a server is like.


def test_only_its_key_is_let_in():
    with ModelServer(always(), key=KEY) as server:
        assert client(server).invoke("?").text == SAYS
        with pytest.raises(openai.AuthenticationError, match="sk-another"):
            client(server, api_key="sk-another").invoke("?")
        assert post(server, {"messages": []})[0] == 401


@pytest.mark.parametrize(
    "content", ["x" * 101, [{"type": "text", "text": "x" * 60}, {"type": "text", "text": "y" * 41}]]
)
def test_a_context_that_ends(content):
    with ModelServer(always(), context_chars=100) as server:
        assert client(server).invoke("x" * 100).text == SAYS
        with pytest.raises(openai.BadRequestError, match=r"101 characters long, .* at 100") as raised:
            client(server).invoke([HumanMessage(content)])
    assert raised.value.code == "context_length_exceeded"


def test_parameters_that_it_never_takes():
    with ModelServer(always(), refuses={"stop", "seed"}) as server:
        assert client(server, temperature=0).invoke("?").text == SAYS
        for options in ({"stop": ["x"]}, {"seed": 1}):
            with pytest.raises(openai.BadRequestError) as raised:
                client(server).invoke("?", **options)
            assert [raised.value.param] == [*options]


def test_its_models():
    with ModelServer(always()) as server, openai.OpenAI(base_url=server.url, api_key=KEY, max_retries=0) as api:
        assert [model.id for model in api.models.list()] == ["scripted"]
        with pytest.raises(openai.NotFoundError, match="There is no POST /v1/responses here"):
            api.responses.create(model="any", input="?")
    assert server.requests == [], "only completions are counted"


def test_a_model_that_fails_is_a_server_that_fails():
    with ModelServer(scripted(OSError("out of memory"))) as server:
        with pytest.raises(openai.InternalServerError, match="OSError: out of memory"):
            client(server).invoke("?")
        with pytest.raises(openai.InternalServerError, match="the script has no reply left"):
            client(server).invoke("?")


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"{}", b'{"messages": "x"}', b'{"messages": [1]}', b'{"messages": [{"role": "nobody"}]}'],
)
def test_a_request_that_makes_no_sense(body):
    with ModelServer() as server:
        status, answer = post(server, body)
    assert status == 400
    assert answer["error"]["type"] == "invalid_request_error"


def test_a_request_in_pieces_is_refused_and_nothing_hangs():
    with ModelServer() as server:
        assert post(server, b"", **{"Transfer-Encoding": "chunked"})[0] == 411
        assert post(server, {"messages": []})[0] == 200


def test_requests_are_kept_as_they_came():
    with ModelServer(always()) as server:
        before = time.monotonic()
        client(server, temperature=0.5, default_headers={"X-Trace": "t1"}).invoke("one")
        client(server).invoke("two")
    first, second = server.requests
    assert (first.number, second.number) == (1, 2)
    assert first.body["temperature"] == 0.5
    assert first.body["messages"] == [{"role": "user", "content": "one"}]
    assert (first.headers["x-trace"], first.key) == ("t1", KEY)
    assert before <= first.arrived <= second.arrived <= time.monotonic()


def test_many_at_once():
    together = threading.Barrier(32, timeout=5)

    def wait(_):
        together.wait()

    with ModelServer(always(COUNTED), faults=wait) as server, ThreadPoolExecutor(32) as executor:
        model = client(server)
        replies = list(executor.map(lambda number: model.invoke(f"{number}"), range(32)))
    assert {reply.text for reply in replies} == {SAYS}
    assert [request.number for request in server.requests] == list(range(1, 33))
    assert {request.body["messages"][0]["content"] for request in server.requests} == {f"{n}" for n in range(32)}


def test_a_connection_is_kept_and_answers_are_quick():
    with ModelServer(always()) as server:
        connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=5)
        with contextlib.closing(connection):
            connection.connect()
            port = connection.sock.getsockname()[1]
            began = time.monotonic()
            for _ in range(200):
                connection.request("POST", "/v1/chat/completions", b'{"messages": []}')
                assert connection.getresponse().read()
            assert time.monotonic() - began < 2
            assert connection.sock.getsockname()[1] == port
    assert len(server.requests) == 200


def test_it_closes_at_once_with_a_client_that_hangs(capfd):
    with ThreadPoolExecutor(1) as executor:
        with ModelServer(faults=["hang"]) as server:
            waiting = executor.submit(client(server, timeout=30).invoke, "?")
            while not server.requests:
                time.sleep(0.01)
            began = time.monotonic()
        assert time.monotonic() - began < 2
        with pytest.raises(openai.APIConnectionError):
            waiting.result(timeout=5)
    with pytest.raises(OSError):  # noqa: PT011 - refused, in the words of the system
        post(server, {"messages": []})
    assert capfd.readouterr().err == ""


def test_clients_that_leave_leave_no_trace(capfd):
    with ModelServer(always("x" * 2**22)) as server:
        address = urlsplit(server.url)
        body = b'{"messages": [], "stream": true}'
        head = f"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        for sent in (b"", b"POST", head, head + body):
            with socket.create_connection((address.hostname, address.port), timeout=5) as connection:
                connection.sendall(sent)
                if body in sent:
                    assert connection.recv(10) == b"HTTP/1.1 2"
        assert post(server, {"messages": []})[0] == 200
    assert capfd.readouterr().err == ""


def test_outside_with_there_is_no_address():
    with pytest.raises(RuntimeError, match="inside `with`"):
        ModelServer().url  # noqa: B018


# The command line.

COMMAND = [sys.executable, "-W", "error", "-m", "langgraph_reflexion.testing.model_server"]


def test_a_server_of_its_own():
    options = ["--fault", "500", "--repeat", "--fault", "ok", "--key", KEY]
    with subprocess.Popen([*COMMAND, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        url = process.stdout.readline().strip()
        try:
            api = openai.OpenAI(base_url=url, api_key=KEY, max_retries=1)
            with api:
                for _ in range(2):
                    reply = api.chat.completions.create(model="any", messages=[{"role": "user", "content": "?"}])
                    assert reply.choices[0].message.content
        finally:
            process.terminate()
        assert process.stderr.read() == ""


def test_its_help_lists_the_faults():
    told = subprocess.run([*COMMAND, "--help"], capture_output=True, text=True, check=True)
    assert all(f"  {name}" in told.stdout and what in told.stdout for name, what in MODEL_FAULTS.items())


def test_wrong_use_is_told_in_a_line():
    done = subprocess.run([*COMMAND, "--fault", "418"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("no model fault '418': choose one of 429, ")
    assert done.stderr.count("\n") == 1
