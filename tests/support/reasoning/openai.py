"""OpenAI's Responses without storage, and two protocols like its Chat Completions.

The rules are of OpenAI's guide on reasoning (with `store=False` its items go back with their encrypted content, each
with the items that it led to), of Moonshot's guide on Kimi's thinking, and of DeepSeek's on its thinking mode (the
`reasoning_content` of a message with tool calls goes back in all later requests).
"""

import json

from tests.support.reasoning.base import ChatServer, Exchange, ReasoningServer, whole

ENCRYPTED = "reasoning.encrypted_content"


class ResponsesServer(ReasoningServer):
    """Keeps nothing: reasoning has to come back encrypted."""

    path = "/v1/responses"
    says = "was provided without its required 'reasoning' item"

    def client(self, **settings):
        from langchain_openai import ChatOpenAI

        given = {"model": "gpt-5", "api_key": "any", "base_url": f"{self.url}/v1", "use_responses_api": True}
        return ChatOpenAI(**given | {"store": False, "include": [ENCRYPTED]} | settings)

    def exchanges(self, body):
        found = []
        for item in body["input"]:
            kind, name = item.get("type"), item.get("call_id")
            if kind == "reasoning":
                kept = body.get("store", True) and item["id"]
                found.append(Exchange(item.get("encrypted_content") or kept, set(), set()))
            elif kind == "function_call":
                if not found or found[-1].results:
                    found.append(Exchange("", set(), set()))
                found[-1].calls.add(name)
            elif kind == "function_call_output":
                found[-1].results.add(name)
        return found

    def issued(self, turn):
        return turn.reasoning, f"rs_{turn.number}"

    def trace(self, turn):
        return f'"rs_{turn.number}"'

    def opening(self, body):
        return next(str(item["content"]) for item in body["input"] if item.get("role") == "user")

    def strip(self, body):
        body["input"] = [item for item in body["input"] if item.get("type") != "reasoning"]

    def answer(self, body, turn):
        thought = {"type": "reasoning", "id": f"rs_{turn.number}", "summary": []}
        if ENCRYPTED in body.get("include", []):
            thought["encrypted_content"] = turn.reasoning
        text = {"type": "output_text", "text": turn.text, "annotations": []}
        said = {"type": "message", "id": f"msg_{turn.number}", "role": "assistant", "status": "completed"}
        calls = [
            {"type": "function_call", "id": f"fc_{call['id']}", "call_id": call["id"], "name": "turn"}
            | {"arguments": json.dumps(call["args"]), "status": "completed"}
            for call in turn.calls
        ]
        head = {"id": f"resp_{turn.number}", "object": "response", "created_at": 1, "model": "gpt-5"}
        settings = {"status": "completed", "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
        return whole(head | settings | {"output": [thought, *(calls or [{**said, "content": [text]}])]})


class KimiServer(ChatServer):
    """Kimi's thinking, in the form of Chat Completions."""

    path, field = "/v1/chat/completions", "reasoning_content"
    says = "reasoning_content is missing in assistant tool call message at index"

    def client(self, **settings):
        from langchain_deepseek import ChatDeepSeek

        return ChatDeepSeek(**{"model": "kimi", "api_key": "any", "base_url": f"{self.url}/v1"} | settings)

    def answer(self, body, turn):
        message = {"role": "assistant", "content": turn.text, "reasoning_content": turn.reasoning}
        if turn.calls:
            message["tool_calls"] = [
                {"id": call["id"], "type": "function"}
                | {"function": {"name": "turn", "arguments": json.dumps(call["args"])}}
                for call in turn.calls
            ]
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if turn.calls else "stop"}
        head = {"id": f"chat-{turn.number}", "object": "chat.completion", "created": 1, "model": body["model"]}
        return whole({**head, "choices": [choice]})


class DeepSeekServer(KimiServer):
    """DeepSeek's thinking mode."""

    path = "/chat/completions"
    says = "`reasoning_content` in the thinking mode must be passed back"

    def client(self, **settings):
        thinking = {"thinking": {"type": "enabled"}}
        return super().client(**{"base_url": self.url, "model": "deepseek", "extra_body": thinking} | settings)

    def check(self, body):
        if body.get("thinking") != {"type": "enabled"}:
            raise self.error("the test wants the thinking mode")
        super().check(body)
