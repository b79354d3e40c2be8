"""Messages and tools of LangChain as Inspect has them, and what Inspect's models answer as LangChain has it."""

from collections.abc import Sequence
from typing import Any

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    ModelOutput,
    ModelUsage,
    messages_from_openai,
)
from inspect_ai.tool import ToolCall, ToolChoice, ToolFunction, ToolInfo, ToolParams
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    convert_to_openai_messages,
)
from langchain_core.messages.ai import InputTokenDetails, UsageMetadata

WHOLE = "inspect_message"
"""Where an answer keeps what LangChain has no place for, such as reasoning that its provider wants to see again."""


async def to_inspect(messages: Sequence[BaseMessage]) -> list[ChatMessage]:
    """A prompt as Inspect's models take it."""
    converted: list[ChatMessage] = []
    for message in messages:
        match message:
            case AIMessage(additional_kwargs=more) if WHOLE in more:
                converted.append(ChatMessageAssistant.model_validate(more[WHOLE]))
            case SystemMessage(content=str(text)):
                converted.append(ChatMessageSystem(content=text))
            case HumanMessage(content=str(text)):
                converted.append(ChatMessageUser(content=text))
            case AIMessage(content=str(text), tool_calls=called):
                calls = [
                    ToolCall(id=call["id"] or "", function=call["name"], arguments=call["args"]) for call in called
                ]
                converted.append(ChatMessageAssistant(content=text, tool_calls=calls or None))
            case ToolMessage(content=str(text), tool_call_id=call_id, name=name):
                converted.append(ChatMessageTool(content=text, tool_call_id=call_id, function=name))
            case _:
                # Pictures and the like. Inspect's own way costs milliseconds for every message.
                written: Any = convert_to_openai_messages([message])
                converted += await messages_from_openai(written)
    return converted


def tools_to_inspect(tools: Sequence[dict[str, Any]]) -> list[ToolInfo]:
    """Tools in OpenAI's form as Inspect's models take them."""
    functions = [tool["function"] for tool in tools]
    return [
        ToolInfo(
            name=function["name"],
            description=function.get("description", ""),
            parameters=ToolParams.model_validate(_without_references(function.get("parameters", {}))),
        )
        for function in functions
    ]


def _without_references(schema: dict[str, Any]) -> dict[str, Any]:
    """A JSON schema with its definitions written out, as Inspect's have none."""
    definitions = schema.get("$defs", {})

    def written_out(part: Any) -> Any:
        if isinstance(part, list):
            return [written_out(each) for each in part]
        if not isinstance(part, dict):
            return part
        name = str(part.get("$ref", "")).rpartition("/")[2]
        whole = {**definitions.get(name, {}), **part}
        return {key: written_out(value) for key, value in whole.items() if key not in ("$ref", "$defs")}

    found: dict[str, Any] = written_out(schema)
    return found


def choice_to_inspect(choice: Any) -> ToolChoice | None:
    """Which tool is to be called: as LangChain has it, and as Inspect has it."""
    match choice:
        case None | "auto" | "none" | "any":
            return choice
        case "required" | True:
            return "any"
        case False:
            return "none"
        case {"function": {"name": str(name)}} | str(name):
            return ToolFunction(name)
    raise TypeError(f"no tool choice: {choice!r}")


def to_langchain(output: ModelOutput) -> AIMessage:
    """What a model of Inspect's answered, with what it used."""
    if output.empty:
        return AIMessage("", response_metadata={"model_name": output.model})
    message = output.message
    calls = message.tool_calls or []
    refused = output.stop_reason == "content_filter"
    more: dict[str, Any] = {"refusal": output.completion} if refused and output.completion else {}
    if not isinstance(message.content, str) and any(part.type == "reasoning" for part in message.content):
        more[WHOLE] = message.model_dump(mode="json", exclude_none=True)
    return AIMessage(
        message.text,
        additional_kwargs=more,
        response_metadata={"model_name": output.model, "finish_reason": output.stop_reason},
        tool_calls=[
            {"name": call.function, "args": call.arguments, "id": call.id} for call in calls if not call.parse_error
        ],
        invalid_tool_calls=[
            {
                "name": call.function,
                "args": str(call.arguments),
                "id": call.id,
                "error": call.parse_error,
                "type": "invalid_tool_call",
            }
            for call in calls
            if call.parse_error
        ],
        usage_metadata=_usage(output.usage) if output.usage else None,
    )


def _usage(used: ModelUsage) -> UsageMetadata:
    # Inspect counts what came out of the provider's prefix cache beside the input, LangChain as part of it.
    read, written = used.input_tokens_cache_read or 0, used.input_tokens_cache_write or 0
    sent = used.input_tokens + read + written
    return UsageMetadata(
        input_tokens=sent,
        output_tokens=used.output_tokens,
        total_tokens=sent + used.output_tokens,
        input_token_details=InputTokenDetails(cache_read=read, cache_creation=written),
    )
