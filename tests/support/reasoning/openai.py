"""OpenAI's Responses without storage, and two protocols like its Chat Completions.

The rules are of OpenAI's guide on reasoning (with `store=False` its items go back with their encrypted content, each
with the items that it led to), of Moonshot's guide on Kimi's thinking, and of DeepSeek's on its thinking mode (the
`reasoning_content` of a message with tool calls goes back in all later requests).
"""

import json
from typing import Any

from langgraph_reflexion.testing.loopback import Answer
from tests.support.reasoning.base import ReasoningServer, Turn, whole

ENCRYPTED = "reasoning.encrypted_content"


class ResponsesServer(ReasoningServer):
    """Keeps nothing: reasoning has to come back encrypted."""

    path = "/v1/responses"
    says = "was provided without its required 'reasoning' item"

    def client(self, **settings: Any) -> Any:
        from langchain_openai import ChatOpenAI

        given = {"model": "gpt-5", "api_key": "any", "base_url": f"{self.url}/v1", "use_responses_api": True}
        return ChatOpenAI(**given | {"store": False, "include": [ENCRYPTED]} | settings)

    def check(self, body: dict[str, Any]) -> None:
        if body.get("previous_response_id"):
            raise self.error("Previous response cannot be used for this organization due to Zero Data Retention.")
        items = body["input"]
        reasoning = {f"rs_{turn.number}": turn.reasoning for turn in self.turns}
        needs = {f"fc_{call['id']}": f"rs_{turn.number}" for turn in self.turns for call in turn.calls}
        seen = set()
        for item, then in zip(items, [*items[1:], {}], strict=True):
            name = item.get("id")
            if item.get("type") == "reasoning":
                seen.add(name)
                if not body.get("store", True) and not item.get("encrypted_content"):
                    said = "Items are not persisted when `store` is set to false."
                    raise self.error(f"Item with id '{name}' not found. {said}", 404)
                if item.get("encrypted_content", reasoning.get(name)) != reasoning.get(name):
                    raise self.error(f"The encrypted content for item {name} could not be verified.")
                if needs.get(then.get("id")) != name:
                    said = "of type 'reasoning' was provided without its required following item."
                    raise self.error(f"Item '{name}' {said}")
            elif name in needs and needs[name] not in seen:
                raise self.error(f"Item '{name}' of type 'function_call' {self.says}: '{needs[name]}'.")
        called = [item["call_id"] for item in items if item.get("type") == "function_call"]
        told = [item["call_id"] for item in items if item.get("type") == "function_call_output"]
        for missing in set(called) - set(told):
            raise self.error(f"No tool output found for function call {missing}.")
        for extra in set(told) - set(called):
            raise self.error(f"No tool call found for function call output with call_id {extra}.")

    def trace(self, turn: Turn) -> str:
        return f'"rs_{turn.number}"'

    def history(self, body: dict[str, Any]) -> tuple[str, int]:
        user = next(str(item["content"]) for item in body["input"] if item.get("role") == "user")
        return user, sum(item.get("type") == "reasoning" for item in body["input"])

    def strip(self, body: dict[str, Any]) -> None:
        body["input"] = [item for item in body["input"] if item.get("type") != "reasoning"]

    def answer(self, body: dict[str, Any], turn: Turn) -> Answer:
        thought: dict[str, Any] = {"type": "reasoning", "id": f"rs_{turn.number}", "summary": []}
        if ENCRYPTED in body.get("include", []):
            thought["encrypted_content"] = turn.reasoning
        text = {"type": "output_text", "text": turn.text, "annotations": []}
        said = {"type": "message", "id": f"msg_{turn.number}", "role": "assistant", "status": "completed"}
        calls = [
            {
                "type": "function_call",
                "id": f"fc_{call['id']}",
                "call_id": call["id"],
                "name": "turn",
                "arguments": json.dumps(call["args"]),
                "status": "completed",
            }
            for call in turn.calls
        ]
        return whole(
            {
                "id": f"resp_{turn.number}",
                "object": "response",
                "created_at": 1,
                "status": "completed",
                "model": "gpt-5",
                "output": [thought, *(calls or [{**said, "content": [text]}])],
                "parallel_tool_calls": True,
                "tool_choice": "auto",
                "tools": [],
            }
        )


class KimiServer(ReasoningServer):
    """Kimi's thinking, in the form of Chat Completions."""

    path = "/v1/chat/completions"
    says = "reasoning_content is missing in assistant tool call message at index"

    def client(self, **settings: Any) -> Any:
        from langchain_deepseek import ChatDeepSeek

        return ChatDeepSeek(**{"model": "kimi", "api_key": "any", "base_url": f"{self.url}/v1"} | settings)

    def check(self, body: dict[str, Any]) -> None:
        waiting: set[str] = set()
        for index, message in enumerate(body["messages"]):
            if message["role"] == "tool":
                if message["tool_call_id"] not in waiting:
                    said = "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
                    raise self.error(said)
                waiting.remove(message["tool_call_id"])
                continue
            self._answered(waiting)
            if calls := message.get("tool_calls"):
                if not message.get("reasoning_content"):
                    raise self.missing(index)
                waiting = {call["id"] for call in calls}
        self._answered(waiting)

    def _answered(self, waiting: set[str]) -> None:
        if waiting:
            said = "An assistant message with 'tool_calls' must be followed by tool messages responding to each"
            raise self.error(f"{said} 'tool_call_id'. No response for: {', '.join(sorted(waiting))}")

    def missing(self, index: int) -> Exception:
        """Return the error for a message whose reasoning is missing."""
        return self.error(f"thinking is enabled but {self.says} {index}")

    def history(self, body: dict[str, Any]) -> tuple[str, int]:
        first = next(message["content"] for message in body["messages"] if message["role"] == "user")
        return first, sum(message["role"] == "assistant" for message in body["messages"])

    def strip(self, body: dict[str, Any]) -> None:
        for message in body["messages"]:
            message.pop("reasoning_content", None)

    def answer(self, body: dict[str, Any], turn: Turn) -> Answer:
        message: dict[str, Any] = {"role": "assistant", "content": turn.text, "reasoning_content": turn.reasoning}
        if turn.calls:
            message["tool_calls"] = [
                {
                    "id": call["id"],
                    "type": "function",
                    "function": {"name": "turn", "arguments": json.dumps(call["args"])},
                }
                for call in turn.calls
            ]
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if turn.calls else "stop"}
        head = {"id": f"chat-{turn.number}", "object": "chat.completion", "created": 1, "model": body["model"]}
        return whole({**head, "choices": [choice]})


class DeepSeekServer(KimiServer):
    """DeepSeek's thinking mode."""

    path = "/chat/completions"
    says = "`reasoning_content` in the thinking mode must be passed back"

    def client(self, **settings: Any) -> Any:
        thinking = {"thinking": {"type": "enabled"}}
        return super().client(**{"base_url": self.url, "model": "deepseek", "extra_body": thinking} | settings)

    def check(self, body: dict[str, Any]) -> None:
        if body.get("thinking") != {"type": "enabled"}:
            raise self.error("the test wants the thinking mode")
        super().check(body)

    def missing(self, index: int) -> Exception:
        return self.error(f"The {self.says} to the API.")
