"""Gemini's `generateContent`, and Ollama's chat.

The rules are of Gemini's guide on thought signatures: since the last text of the user, the first call of each step
has its signature, exactly as it came; a turn of calls is followed by as many results. Ollama refuses nothing: its
guides hand `thinking` back beside tool calls, and where it is missing, a model's template leaves it out in silence.
The server here is stricter.
"""

import base64
import json
from itertools import pairwise
from typing import Any

from langgraph_reflexion.testing.loopback import Answer
from tests.support.reasoning.base import ReasoningServer, RefusedAsProvider, Turn, whole

SKIP = "skip_thought_signature_validator"
"""Stands for a signature that was lost; the client sends it by itself, and Gemini takes it."""


class GeminiServer(ReasoningServer):
    """Signs the first call of each step."""

    path = "/v1beta/models/gemini-3-pro:generateContent"
    says = "Function call is missing a thought_signature in functionCall parts"

    def client(self, **settings: Any) -> Any:
        from langchain_google_genai import ChatGoogleGenerativeAI

        given = {"model": "gemini-3-pro", "api_key": "any", "base_url": self.url, "include_thoughts": True}
        return ChatGoogleGenerativeAI(**given | settings)

    def error(self, message: str, status: int = 400) -> Exception:
        error = {"code": status, "message": message, "status": "INVALID_ARGUMENT"}
        return RefusedAsProvider(status, {"error": error})

    def check(self, body: dict[str, Any]) -> None:
        contents = body["contents"]
        texts = [
            at
            for at, each in enumerate(contents)
            if each["role"] == "user" and any("text" in p for p in each["parts"])
        ]
        for at, (content, then) in enumerate(pairwise([*contents, {"parts": []}])):
            calls = [part for part in content["parts"] if "functionCall" in part]
            results = [part for part in then["parts"] if "functionResponse" in part]
            if content["role"] == "model" and len(calls) != len(results):
                raise self.error(
                    "Please ensure that the number of function response parts is equal to the number of function "
                    "call parts of the function call turn."
                )
            if calls and at > texts[-1]:
                name, signature = calls[0]["functionCall"]["name"], calls[0].get("thoughtSignature")
                if not signature:
                    raise self.error(f"{self.says}. Additional data, function call `{name}`, position {at}.")
                if signature not in [SKIP, *map(_signature, self.turns)]:
                    raise self.error("Thought signature is not valid.")

    def trace(self, turn: Turn) -> str:
        return _signature(turn)

    def history(self, body: dict[str, Any]) -> tuple[str, int]:
        first = "".join(part.get("text", "") for part in body["contents"][0]["parts"])
        return first, sum(content["role"] == "model" for content in body["contents"])

    def strip(self, body: dict[str, Any]) -> None:
        for content in body["contents"]:
            for part in content["parts"]:
                part.pop("thoughtSignature", None)

    def answer(self, body: dict[str, Any], turn: Turn) -> Answer:
        parts: list[dict[str, Any]] = [{"text": f"{turn.number}?", "thought": True}]
        parts += [{"text": turn.text}] if turn.text else []
        parts += [{"functionCall": {"id": call["id"], "name": "turn", "args": call["args"]}} for call in turn.calls]
        first = next((part for part in parts if "functionCall" in part), parts[-1])
        first["thoughtSignature"] = _signature(turn)
        candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
        return whole({"candidates": [candidate], "modelVersion": "gemini-3-pro"})


def _signature(turn: Turn) -> str:
    return base64.b64encode(turn.reasoning.encode()).decode()


class OllamaServer(ReasoningServer):
    """Thinks, and calls tools without ids."""

    path = "/api/chat"
    says = "thinking is missing"

    def client(self, **settings: Any) -> Any:
        from langchain_ollama import ChatOllama

        return ChatOllama(**{"model": "qwen3", "base_url": self.url, "reasoning": True} | settings)

    def error(self, message: str, status: int = 400) -> Exception:
        return RefusedAsProvider(status, {"error": message})

    def check(self, body: dict[str, Any]) -> None:
        waiting = 0
        for message in body["messages"]:
            if message["role"] == "tool":
                waiting -= 1
            elif waiting:
                break
            elif calls := message.get("tool_calls"):
                waiting = len(calls)
                if body["think"] and not message.get("thinking"):
                    raise self.error(f"{self.says} beside a tool call")
        if waiting:
            raise self.error("each call has one result")

    def history(self, body: dict[str, Any]) -> tuple[str, int]:
        first = next(message["content"] for message in body["messages"] if message["role"] == "user")
        return first, sum(message["role"] == "assistant" for message in body["messages"])

    def strip(self, body: dict[str, Any]) -> None:
        for message in body["messages"]:
            message.pop("thinking", None)

    def answer(self, body: dict[str, Any], turn: Turn) -> Answer:
        calls = [{"function": {"name": "turn", "arguments": call["args"]}} for call in turn.calls]
        message = {"role": "assistant", "content": turn.text, "thinking": turn.reasoning, "tool_calls": calls}
        head = {"model": body["model"], "created_at": "2026-01-01T00:00:00Z"}
        last = {**head, "message": message, "done": True, "done_reason": "stop"}
        return Answer(json.dumps(last).encode() + b"\n", kind="application/x-ndjson")
