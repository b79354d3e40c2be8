"""The errors of model servers in their own words, and their odd replies."""

import json
import time
from contextlib import closing

import openai
import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_reflexion import ModelOptions, create_reflexion
from langgraph_reflexion.errors import ContextTooLong
from langgraph_reflexion.models.client import ESTIMATED
from langgraph_reflexion.models.connections import bounded_connections
from langgraph_reflexion.models.faults import refused_option, to_fault
from langgraph_reflexion.models.load import load_model
from langgraph_reflexion.models.replies import TOO_LONG
from langgraph_reflexion.support.retries import Retries
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.loopback import Answer, Listener
from tests.support.model_server import ModelServer
from tests.support.server_faults import CALLS, ERRORS, HALF, HUGE, REPLIES
from tests.support.toys import Counter, count_to


@pytest.fixture(scope="module")
def error():
    """Returns the error that OpenAI's client raises at a server's answer."""
    answers = []
    server = Listener(0, lambda call: answers[-1])
    client = openai.OpenAI(api_key="any", base_url=server.url, max_retries=0)

    def made(status, body):
        answers.append(Answer((body if isinstance(body, str) else json.dumps(body)).encode(), status))
        with pytest.raises(openai.APIStatusError) as raised:
            client.chat.completions.create(model="any", messages=[])
        return raised.value

    yield made
    client.close()
    server.close()


def openais(message, **more):
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None} | more}


# How servers say that a prompt is too long.
PROMPT_TOO_LONG = {
    "OpenAI": (400, openais("This model's maximum context length is 8192 tokens. However, you asked for 9000.")),
    "OpenAI, by its code": (400, openais("Too big.", code="context_length_exceeded")),
    "OpenAI, a message": (400, openais("Invalid 'messages[1].content': string too long. Expected a shorter string.")),
    "Groq": (400, openais("Please reduce the length of the messages or completion.")),
    "Groq, its limit of tokens": (413, openais("Request too large for model `x`: Limit 6000, Requested 9000")),
    "Anthropic": (400, {"type": "error", "error": {"message": "prompt is too long: 213462 tokens > 200000 maximum"}}),
    "Gemini": (400, [{"error": {"message": "The input token count (9) exceeds the maximum number of tokens (8)."}}]),
    "xAI": (400, {"error": "This model's maximum prompt length is 131072 but the request contains 537812 tokens."}),
    "Mistral": (400, {"message": "Prompt contains 9 tokens, too large for model with 8 maximum context length"}),
    "Kimi": (400, openais("Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)")),
    "Qwen": (400, openais("<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 98304]")),
    "Bedrock": (400, {"message": "Input is too long for requested model."}),
    "vLLM": (400, {"message": "The prompt (total length 9) is too long to fit into the model (context length 8)."}),
    "SGLang": (400, {"message": "The input (9 tokens) is longer than the model's context length (8 tokens)."}),
    "SGLang, its memory": (400, {"message": "Input length (9 tokens) exceeds the maximum allowed length (8)."}),
    "llama.cpp": (400, openais("request (4390 tokens) exceeds the available context size (4096 tokens)", code=400)),
    "llama.cpp, of old": (500, openais("Context size has been exceeded.", type="server_error", code=500)),
    "llama-cpp-python": (400, openais("Requested tokens (2285) exceed context window of 2048")),
    "LM Studio": (400, {"error": "However, the model is loaded with context length of only 2048 tokens."}),
    "LM Studio, newer": (400, {"error": "The number of tokens to keep is greater than the context length."}),
    "Ollama": (400, openais("prompt too long; exceeded max context length by 512 tokens", type="api_error")),
    "TGI": (422, {"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096."}),
    "TGI, the prompt alone": (422, {"error": "Input validation error: `inputs` must have less than 2048 tokens."}),
    "a proxy": (413, "<html><head><title>413 Request Entity Too Large</title></head></html>"),
}
OTHERS = {
    "a limit of the reply": (400, openais("max_tokens is too large: 99999. This model supports at most 16384.")),
    "an image": (400, openais("Invalid image: the file is too large.")),
    "a rate": (429, openais("Rate limit reached: Limit 6000 input tokens, Used 5999. Please reduce the length.")),
    "the request": (422, {"detail": [{"loc": ["body", "messages", 0, "content"], "msg": "Not a string"}]}),
}


@pytest.mark.parametrize("case", [*PROMPT_TOO_LONG, *OTHERS])
def test_a_prompt_is_too_long_in_any_servers_words_and_no_other(case, error):
    assert isinstance(to_fault(error(*(PROMPT_TOO_LONG | OTHERS)[case]), []), ContextTooLong) == (
        case in PROMPT_TOO_LONG
    )


def fastapi(option):
    return {"detail": [{"type": "extra_forbidden", "loc": ["body", option], "msg": "Extra inputs are not permitted"}]}


REFUSED = {
    "OpenAI": (400, openais("Unsupported parameter: 'seed'", param="seed"), "seed"),
    "FastAPI": (422, fastapi("seed"), "seed"),
    "FastAPI, tools": (422, fastapi("tools"), "tools"),
    "Mistral": (422, {"object": "error", "message": fastapi("stop"), "param": None}, "stop"),
    "LM Studio": (400, {"error": "stop is not supported by this model"}, "stop"),
    "Ollama": (400, openais("registry.ollama.ai/library/gemma does not support tools", type="api_error"), "tools"),
    "another trouble": (400, {"error": "model is busy"}, None),
}


@pytest.mark.parametrize("server", REFUSED)
def test_a_refused_option_is_named_in_any_servers_words(server, error):
    status, body, option = REFUSED[server]
    assert refused_option(error(status, body), ["seed", "stop", "temperature", "tools"]) == option


@pytest.mark.parametrize(
    ("status", "body", "sentence"),
    [
        (404, {"error": 'model "x" not found, try pulling it first'}, "try pulling it first"),
        (401, {"detail": "Invalid token"}, "Error code: 401: Invalid token"),
        (502, "<html><head><title>502 Bad Gateway</title></head>\\n<hr>nginx</html>", "502: 502 Bad Gateway"),
        (400, fastapi("user"), "body.user: Extra inputs are not permitted"),
        (500, openais("Overloaded."), "Error code: 500 - Overloaded."),
        (500, {"detail": {"loc": 3, "msg": [None]}}, "Error code: 500"),
        (500, '{"error":[' * 450 + "1" + "]}" * 450, "Error code: 500"),
    ],
)
def test_the_servers_sentence_is_shown_once(status, body, sentence, error):
    fault = str(to_fault(error(status, body), []))
    assert sentence in fault
    assert fault.count("Overloaded") < 2


@pytest.mark.parametrize(
    ("raised", "cause", "said"),
    [
        (ConnectionError("no luck."), "refused", "the model could not answer: ConnectionError: no luck: refused"),
        (KeyError("delta"), None, "the model's reply could not be read: KeyError: 'delta'"),
        (ValueError("no memory"), None, "the model could not answer: ValueError: no memory"),
    ],
)
def test_an_error_without_a_status_is_shown_with_its_cause(raised, cause, said):
    raised.__cause__ = cause and OSError(cause)
    assert str(to_fault(raised, [])) == said


def test_a_server_that_cannot_stream_is_asked_for_whole_replies():
    message = {"role": "assistant", "content": "Action: add 3"}
    whole = {"id": "1", "object": "chat.completion", "created": 0, "model": "any"}
    whole |= {"choices": [{"index": 0, "finish_reason": "stop", "message": message}]}
    with closing(Listener(0, lambda call: Answer(json.dumps(whole).encode()))) as server:
        graph = create_reflexion(load_model("openai:any", base_url=server.url), Counter()).compile()
        final = graph.invoke({"task": count_to(3)})
    assert final["status"] == "solved"
    assert "the server refuses stream, which is left out" in final["trials"][0]["notes"]


THREAD = {"configurable": {"thread_id": "1"}}


def play(*faults, replies=lambda messages: "Action: add 3", timeout=5.0, attempts=2, **options):
    with ModelServer(ScriptedChatModel(replies=replies), faults=faults) as server:
        model = ChatOpenAI(model="any", base_url=server.url, api_key="any")
        calls = ModelOptions(retries=Retries(attempts, first_wait=0), timeout=timeout)
        graph = create_reflexion(model, Counter(), options=calls, **{"max_trials": 1} | options)
        final = graph.compile(checkpointer=InMemorySaver()).invoke({"task": count_to(3)}, THREAD)
        json.dumps(final, ensure_ascii=False).encode()
        return final, server.requests


ACTIONS = {
    "an integer beyond 64 bits": {"args": {"amount": str(HUGE)}},
    "half a pair in an argument": {"args": {"amount": ["?"]}},
    "half a pair in a name": {"args": {"amount": {"?": 1}, "?": 2}},
    "a list of arguments": {"name": "", "args": {}, "text": "([1])"},
    "a text as arguments": {"name": "", "args": {}, "text": "(x)"},
    "an object as arguments": {"name": "", "args": {}, "text": '({"amount": 1})'},
    "endless arguments": {"name": "", "args": {}, "text": f"add({TOO_LONG})"},
    "an endless name": {"name": "", "args": {}, "text": f"{'x' * 200}({TOO_LONG})"},
}


@pytest.mark.slow
@pytest.mark.parametrize("case", [case for case in CALLS if case in ACTIONS or "half a pair" in case])
def test_a_call_becomes_an_action_that_a_checkpoint_can_hold(case):
    final, requests = play(CALLS[case], actor="tools")
    action = final["trajectory"][0]["action"]
    assert action | ACTIONS.get(case, {}) == action
    # A counter beyond 64 bits never comes back.
    assert (final["status"], len(requests)) == ("solved", 2) or case == "an integer beyond 64 bits"
    assert HALF not in json.dumps(final, ensure_ascii=False)


@pytest.mark.slow
@pytest.mark.parametrize("case", [case for case in REPLIES if "usage" in case])
def test_odd_counts_of_tokens_are_replaced_by_an_estimate(case):
    final, requests = play(REPLIES[case], replies=lambda messages: "Action: add 1")
    used = final["trials"][0]["usage"]["act"]
    assert 0 < used["input_tokens"] + used["output_tokens"] < 10_000
    assert used["llm_calls"] == len(requests) - (case == "usage a list")
    assert ESTIMATED in final["trials"][0]["notes"]


@pytest.mark.slow
def test_nuls_are_replaced_in_faults_and_replies():
    final, _ = play(None, *[ERRORS["NULs in an error"]] * 2, replies=lambda messages: "Thought: \0\nAction: add 1")
    assert "\ufffd" in final["fault"]
    assert final["trajectory"][0]["thought"] == "\ufffd"


@pytest.mark.slow
def test_a_call_ends_in_time_even_while_its_server_drips():
    began = time.monotonic()
    final, requests = play(None, "drip", replies=lambda messages: "Action: add 1", timeout=0.3, attempts=1)
    assert final["fault"] == "no part of the model's reply arrived within 0.3 seconds"
    assert (len(requests), time.monotonic() - began < 4) == (2, True)


WEATHER = {"type": "object", "properties": {"town": {"type": "string"}}}
ASKED = {
    "a text": ([("system", "Be brief."), ("user", "Hello?")], {}, {}),
    "a picture": ([("user", [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}])], {}, {}),
    "calls of tools": (
        [
            AIMessage("", tool_calls=[{"name": "weather", "args": {}, "id": "1"}]),
            ToolMessage("rain", tool_call_id="1"),
        ],
        {
            "tools": [{"type": "function", "function": {"name": "weather", "parameters": WEATHER}}],
            "tool_choice": "any",
        },
        {},
    ),
    "an extra body": ([("user", "Hello?")], {"extra_body": {"top_k": 5}, "seed": 7, "stop": ["."]}, {}),
    "a model's extra body": ([("user", "Hello?")], {}, {"extra_body": {"top_k": 5}}),
    "a stream": ([("user", "Hello?")], {}, {"streaming": True}),
    "a form": (
        [("user", "Hello?")],
        {"response_format": {"type": "json_schema", "json_schema": {"name": "reply", "schema": WEATHER}}},
        {"streaming": False},
    ),
}


@pytest.mark.parametrize("asked", ASKED)
async def test_a_run_sends_what_the_client_sends_by_itself(asked):
    messages, options, fields = ASKED[asked]
    with ModelServer(ScriptedChatModel(replies=['{"town": "Oslo"}'] * 2)) as server:
        async with bounded_connections() as connections:
            of_run = load_model("openai:any", base_url=server.url, http_async_client=connections)
            for model in (load_model("openai:any", base_url=server.url), of_run):
                await model.model_copy(update=fields).ainvoke(messages, **options)
        by_itself, in_run = [request.body for request in server.requests]
    assert in_run == by_itself
    assert in_run["messages"]
