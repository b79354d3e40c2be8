"""A server between any client of OpenAI's chat completions and llama.cpp, which reads tool calls of small models.

    python -m tests.support.tool_call_proxy http://127.0.0.1:8080/v1 --port 8090

Small models write a call as text: as bare JSON, in a block of code, between `<tool_call>` and `</tool_call>`, or with
the doubled braces of their chat template. A server that reads none of these passes it on as the reply's text. Here it
becomes `tool_calls`, in one reply and in a stream, if the request has a tool of that name. Everything else goes
through unchanged.
"""

import argparse
import json
import threading
from typing import Any, Self

import httpx

from langgraph_reflexion.models.written_calls import WrittenCall, read_calls
from tests.support.loopback import Answer, Call, Listener

SECONDS = 600.0
"""Longest time that the model's server may take for a reply."""


class ToolCallProxy:
    """Serves while the `with` lasts.

    Args:
        server: The address of the model's server, which ends in `/v1`.
        port: The port on loopback; 0 takes a free one.
    """

    def __init__(self, server: str, port: int = 0) -> None:
        self.server, self.port = server.rstrip("/"), port
        self.read = 0
        """The number of replies whose text became calls."""

    def __enter__(self) -> Self:
        self._client = httpx.Client(timeout=SECONDS)
        self._listener = Listener(self.port, self._answer)
        self.url = f"{self._listener.url}/v1"
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        self._client.close()

    def _answer(self, call: Call) -> Answer:
        address = self.server + call.path.removeprefix("/v1")
        if call.method != "POST":
            got = self._client.get(address)
            return Answer(got.content, got.status_code)
        body = json.loads(call.content)
        names = [tool["function"]["name"] for tool in body.get("tools") or []]
        headers = {"content-type": "application/json"}
        if "authorization" in call.headers:
            headers["authorization"] = call.headers["authorization"]
        if not names or not call.path.endswith("/chat/completions"):
            got = self._client.post(address, content=call.content, headers=headers)
            return Answer(got.content, got.status_code, kind=got.headers.get("content-type", "application/json"))
        # Whether a text is a call is known at its end, so that a stream is sent as a whole reply, too.
        streamed = bool(body.pop("stream", False))
        wants_usage = bool((body.pop("stream_options", None) or {}).get("include_usage"))
        got = self._client.post(address, json=body, headers=headers)
        if got.status_code != 200:
            return Answer(got.content, got.status_code)
        completion = got.json()
        for choice in completion["choices"]:
            self._read(choice, names)
        if streamed:
            return Answer(as_stream(completion, wants_usage), kind="text/event-stream")
        return Answer(json.dumps(completion).encode())

    def _read(self, choice: dict[str, Any], names: list[str]) -> None:
        """Replace the text of a choice by the calls that are written in it."""
        message = choice["message"]
        if message.get("tool_calls") or not message.get("content"):
            return
        said, calls = read_calls(message["content"], names)
        if not calls:
            return
        self.read += 1
        message["content"] = said or None
        message["tool_calls"] = [as_openai(call, f"call_{self.read}_{number}") for number, call in enumerate(calls)]
        choice["finish_reason"] = "tool_calls"


def as_openai(call: WrittenCall, call_id: str) -> dict[str, Any]:
    """Return a call in the form of OpenAI's API."""
    function = {"name": call.name, "arguments": json.dumps(call.args, ensure_ascii=False)}
    return {"id": call_id, "type": "function", "function": function}


def as_stream(completion: dict[str, Any], wants_usage: bool) -> list[bytes]:
    """Return a completion as the events of a stream."""
    head = {name: completion.get(name) for name in ("id", "created", "model")}
    head["object"] = "chat.completion.chunk"
    chunks = []
    for choice in completion["choices"]:
        message = choice["message"]
        calls = [{"index": index, **call} for index, call in enumerate(message.get("tool_calls") or [])]
        delta = {"role": "assistant", "content": message.get("content")}
        if calls:
            delta["tool_calls"] = calls
        place = {"index": choice["index"]}
        chunks.append({**head, "choices": [{**place, "delta": delta, "finish_reason": None}]})
        chunks.append({**head, "choices": [{**place, "delta": {}, "finish_reason": choice["finish_reason"]}]})
    if wants_usage and completion.get("usage"):
        chunks.append({**head, "choices": [], "usage": completion["usage"]})
    events = [b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks]
    return [*events, b"data: [DONE]\n\n"]


def main() -> None:
    """Serve until Ctrl-C."""
    parser = argparse.ArgumentParser(description="Turn tool calls that a model writes as text into tool calls.")
    parser.add_argument("server", help="the address of the model's server, such as http://127.0.0.1:8080/v1")
    parser.add_argument("--port", type=int, default=0)
    given = parser.parse_args()
    with ToolCallProxy(given.server, given.port) as proxy:
        print(proxy.url, flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            print(f"\n{proxy.read} replies held calls as text")


if __name__ == "__main__":
    main()
