"""Gemini's `generateContent`, and Ollama's chat.

The rules are of Gemini's guide on thought signatures: since the last text of the user, the first call of each step
has its signature, exactly as it came; a turn of calls is followed by as many results. Ollama refuses nothing: its
guides hand `thinking` back beside tool calls, and where it is missing, a model's template leaves it out in silence.
The server here is stricter.
"""

import base64
import json
from itertools import pairwise

from tests.support.loopback import Answer
from tests.support.reasoning.base import ChatServer, Exchange, ReasoningServer, RefusedAsProvider, whole

SKIP = "skip_thought_signature_validator"
"""Stands for a signature that was lost; the client sends it by itself, and Gemini takes it."""


class GeminiServer(ReasoningServer):
    """Signs the first call of each step."""

    path = "/v1beta/models/gemini-3-pro:generateContent"
    says = "Function call is missing a thought_signature in functionCall parts"

    def serves(self, path):
        # The newest client asks for the version v1.
        return path.replace("/v1/", "/v1beta/") == self.path

    def client(self, **settings):
        from langchain_google_genai import ChatGoogleGenerativeAI

        given = {"model": "gemini-3-pro", "api_key": "any", "base_url": self.url, "include_thoughts": True}
        return ChatGoogleGenerativeAI(**given | settings)

    def error(self, message, status=400):
        error = {"code": status, "message": message, "status": "INVALID_ARGUMENT"}
        return RefusedAsProvider(status, {"error": error})

    def exchanges(self, body):
        found = []
        for content, then in pairwise([*body["contents"], {"parts": []}]):
            if content["role"] == "model":
                calls = [part for part in content["parts"] if "functionCall" in part]
                results = [part for part in then["parts"] if "functionResponse" in part]
                signature = calls[0].get("thoughtSignature") if calls else None
                found.append(Exchange(signature, {*range(len(calls))}, {*range(len(results))}))
        return found

    def issued(self, turn):
        return _signature(turn), SKIP

    def trace(self, turn):
        return _signature(turn)

    def opening(self, body):
        return "".join(part.get("text", "") for part in body["contents"][0]["parts"])

    def strip(self, body):
        for content in body["contents"]:
            for part in content["parts"]:
                part.pop("thoughtSignature", None)

    def answer(self, body, turn):
        parts = [{"text": f"{turn.number}?", "thought": True}]
        parts += [{"text": turn.text}] if turn.text else []
        parts += [{"functionCall": {"id": call["id"], "name": "turn", "args": call["args"]}} for call in turn.calls]
        first = next((part for part in parts if "functionCall" in part), parts[-1])
        first["thoughtSignature"] = _signature(turn)
        candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
        return whole({"candidates": [candidate], "modelVersion": "gemini-3-pro"})


def _signature(turn):
    return base64.b64encode(turn.reasoning.encode()).decode()


class OllamaServer(ChatServer):
    """Thinks, and calls tools without ids."""

    path, field = "/api/chat", "thinking"
    says = "thinking is missing"

    def client(self, **settings):
        from langchain_ollama import ChatOllama

        return ChatOllama(**{"model": "qwen3", "base_url": self.url, "reasoning": True} | settings)

    def error(self, message, status=400):
        return RefusedAsProvider(status, {"error": message})

    def answer(self, body, turn):
        calls = [{"function": {"name": "turn", "arguments": call["args"]}} for call in turn.calls]
        message = {"role": "assistant", "content": turn.text, "thinking": turn.reasoning, "tool_calls": calls}
        head = {"model": body["model"], "created_at": "2026-01-01T00:00:00Z"}
        last = {**head, "message": message, "done": True, "done_reason": "stop"}
        return Answer(json.dumps(last).encode() + b"\n", kind="application/x-ndjson")
