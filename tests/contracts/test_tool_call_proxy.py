"""The proxy that reads tool calls of small models, between OpenAI's client and a server on loopback."""

import json

import httpx
import pytest
from langchain_core.messages import AIMessage
from langchain_openai import ChatOpenAI

from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.model_server import ModelServer
from tests.support.tool_call_proxy import ToolCallProxy
from tests.unit.models.test_written_calls import RECORDED

TOOL = {
    "type": "function",
    "function": {
        "name": "calculate",
        "description": "Evaluate an expression.",
        "parameters": {
            "type": "object",
            "properties": {"expression": {"type": "string"}},
            "required": ["expression"],
        },
    },
}


def written(name):
    """Return a server's model that writes a recorded reply."""
    return ScriptedChatModel(replies=[RECORDED[name][0]] * 2)


def client(url, *, streaming=False):
    return ChatOpenAI(model="any", base_url=url, api_key="none", streaming=streaming, max_retries=0)


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("name", ["a block of code", "doubled braces, and a call without"])
def test_a_written_call_arrives_as_a_call(name, streaming):
    calls = RECORDED[name][1]
    tools = [{**TOOL, "function": {**TOOL["function"], "name": called}} for called, _ in calls]
    with ModelServer(written(name)) as server, ToolCallProxy(server.url) as proxy:
        reply = client(proxy.url, streaming=streaming).bind_tools(tools).invoke("What is 23*19+4?")
        assert [(call["name"], call["args"]) for call in reply.tool_calls] == calls
        assert len({call["id"] for call in reply.tool_calls}) == len(calls)
        assert reply.text == ""
        assert reply.response_metadata["finish_reason"] == "tool_calls"
        assert proxy.read == 1
        again = client(proxy.url, streaming=streaming).bind_tools(tools).invoke("Once more?")
        assert again.tool_calls[0]["id"] != reply.tool_calls[0]["id"], "ids are not used twice in a conversation"


@pytest.mark.parametrize("streaming", [False, True])
def test_text_and_real_calls_go_through(streaming):
    call = {"name": "calculate", "args": {"expression": "1+1"}, "id": "x", "type": "tool_call"}
    model = ScriptedChatModel(replies=["It is {2}.", AIMessage("", tool_calls=[call])])
    with ModelServer(model) as server, ToolCallProxy(server.url) as proxy:
        asked = client(proxy.url, streaming=streaming).bind_tools([TOOL])
        said = asked.invoke("1+1?")
        called = asked.invoke("1+1?")
        assert (said.text, said.tool_calls) == ("It is {2}.", [])
        assert [(each["name"], each["args"]) for each in called.tool_calls] == [("calculate", {"expression": "1+1"})]
        assert proxy.read == 0


def test_without_tools_nothing_is_read():
    with ModelServer(written("a block of code")) as server, ToolCallProxy(server.url) as proxy:
        assert client(proxy.url).invoke("Show a call.").text == RECORDED["a block of code"][0]


def test_an_error_of_the_server_goes_through():
    model = written("a block of code")
    with ModelServer(model, faults=["429"]) as server, ToolCallProxy(server.url) as proxy:
        body = {"model": "any", "messages": [{"role": "user", "content": "1+1?"}], "tools": [TOOL]}
        got = httpx.post(f"{proxy.url}/chat/completions", content=json.dumps(body))
        assert got.status_code == 429
