"""Anthropic's Messages with extended thinking.

The rules are of its guide on extended thinking: beside tool calls the thinking blocks, redacted ones too, go back
complete and unmodified, at least those of the last assistant message; each `tool_use` has its `tool_result` in the
next message.
"""

import json
from itertools import pairwise

from tests.support.loopback import Answer
from tests.support.reasoning.base import Exchange, ReasoningServer, RefusedAsProvider, whole

THINKING = ("thinking", "redacted_thinking")


class AnthropicServer(ReasoningServer):
    """Signs its thinking, and redacts some of it."""

    path = "/v1/messages"
    says = "must start with a thinking block"

    def client(self, **settings):
        from langchain_anthropic import ChatAnthropic

        thinking = {"type": "enabled", "budget_tokens": 1024}
        given = {"model": "claude", "max_tokens": 4096, "api_key": "any", "base_url": self.url, "thinking": thinking}
        return ChatAnthropic(**given | settings)

    def error(self, message, status=400):
        error = {"type": "invalid_request_error", "message": message}
        return RefusedAsProvider(status, {"type": "error", "error": error})

    def check(self, body):
        if body.get("thinking") and body.get("temperature") not in (None, 1, 1.0):
            raise self.error("`temperature` may only be set to 1 when thinking is enabled.")
        super().check(body)

    def exchanges(self, body):
        found = []
        for message, then in pairwise([*body["messages"], {"content": []}]):
            if message["role"] == "assistant":
                blocks = _blocks_of(message)
                thoughts = [block for block in blocks if block["type"] in THINKING]
                calls = {block["id"] for block in blocks if block["type"] == "tool_use"}
                results = {block["tool_use_id"] for block in _blocks_of(then) if block["type"] == "tool_result"}
                found.append(Exchange(thoughts, calls, results))
        return found

    def issued(self, turn):
        return (self._blocks(turn),)

    def opening(self, body):
        return "".join(block["text"] for block in _blocks_of(body["messages"][0]))

    def strip(self, body):
        for message in body["messages"]:
            message["content"] = [block for block in _blocks_of(message) if block["type"] not in THINKING]

    def answer(self, body, turn):
        content = [*self._blocks(turn), *([{"type": "text", "text": turn.text}] if turn.text else [])]
        content += [
            {"type": "tool_use", "id": f"toolu_{call['id']}", "name": "turn", "input": call["args"]}
            for call in turn.calls
        ]
        ended = {"stop_reason": "tool_use" if turn.calls else "end_turn", "stop_sequence": None}
        message = {"id": f"msg_{turn.number}", "type": "message", "role": "assistant", "model": "claude", **ended}
        message |= {"content": content, "usage": {"input_tokens": 9, "output_tokens": 9}}
        return Answer(list(_events(message))) if body.get("stream") else whole(message)

    def _blocks(self, turn):
        said = {"type": "thinking", "thinking": f"{turn.number}?", "signature": turn.reasoning}
        hidden = {"type": "redacted_thinking", "data": turn.reasoning}
        return [said, hidden] if len(turn.calls) == 2 else [said]


def _blocks_of(message):
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _events(message):
    def event(kind, **data):
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode()

    yield event("message_start", message={**message, "content": [], "stop_reason": None})
    for index, block in enumerate(message["content"]):
        empty = {"thinking": {"thinking": "", "signature": ""}, "text": {"text": ""}, "tool_use": {"input": {}}}
        yield event("content_block_start", index=index, content_block={**block, **empty.get(block["type"], {})})
        match block["type"]:
            case "thinking":
                parts = [{"type": "thinking_delta", "thinking": part} for part in block["thinking"]]
                parts.append({"type": "signature_delta", "signature": block["signature"]})
            case "text":
                parts = [{"type": "text_delta", "text": block["text"]}]
            case "tool_use":
                parts = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
            case _:
                parts = []
        for part in parts:
            yield event("content_block_delta", index=index, delta=part)
        yield event("content_block_stop", index=index)
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield event("message_delta", delta=ended, usage={"output_tokens": 9})
    yield event("message_stop")
