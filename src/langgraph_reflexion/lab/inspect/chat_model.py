"""Inspect's models as a LangChain chat model: any of its providers, with its limits, logs and usage."""

from collections.abc import Sequence
from typing import Any, cast

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    GenerateConfig,
    ModelOutput,
    ModelUsage,
    get_model,
    messages_from_openai,
)
from inspect_ai.tool import ToolChoice, ToolFunction, ToolInfo, ToolParams
from inspect_ai.util import LimitExceededError
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, InvalidToolCall, ToolCall, convert_to_openai_messages
from langchain_core.messages.ai import InputTokenDetails, UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_core.utils.json_schema import dereference_refs

from langgraph_reflexion.errors import ConfigurationError, ContextTooLong, ModelFault, ReflexionError
from langgraph_reflexion.models.faults import refused_option, to_fault
from langgraph_reflexion.support.secrets import secrets_around


class LimitReached(ReflexionError):
    """A limit of Inspect ended the sample. This is not a fault, and nodes do not catch it.

    Attributes:
        limit: Inspect's exception.
    """

    def __init__(self, limit: LimitExceededError) -> None:
        super().__init__(str(limit))
        self.limit = limit


class InspectChatModel(BaseChatModel):
    """A model of Inspect, for use in a running evaluation, with `ainvoke` only.

    Its calls are in the sample's transcript, count against its limits, and are retried by Inspect. The evaluation's
    options (`--temperature`, `--max-tokens`, ...) apply unless they are set here or in a call.

    Attributes:
        model: The model's name in Inspect, such as `openai/gpt-4o`; by default the evaluation's model.
        role: A model role (`--model-role reflector=...`). If the evaluation does not bind it, its model is used.
        temperature: The sampling temperature.
        seed: The sampling seed, for providers that take one.
        max_tokens: The maximum length of a reply.
        model_name: The name of the model that is called, without its provider: prices go by it.
    """

    model: str | None = None
    model_name: str | None = None
    role: str | None = None
    temperature: float | None = None
    seed: int | None = None
    max_tokens: int | None = None

    @property
    def _llm_type(self) -> str:
        return "inspect"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model": self.model, "role": self.role}

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: Any = None, **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        if tool_choice is not None:
            kwargs["tool_choice"] = tool_choice
        schemas = [convert_to_openai_tool(each) for each in tools]
        return self.bind(tools=schemas, **kwargs)

    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        raise ConfigurationError("models of Inspect support asynchronous calls only: use ainvoke")

    async def _agenerate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        tools = kwargs.get("tools", ())
        config = GenerateConfig(
            stop_seqs=stop,
            seed=kwargs.get("seed", self.seed),
            temperature=kwargs.get("temperature", self.temperature),
            max_tokens=kwargs.get("max_tokens", self.max_tokens),
        )
        try:
            output = await get_model(self.model, role=self.role).generate(
                await to_inspect(messages),
                tools=tools_to_inspect(tools),
                tool_choice=choice_to_inspect(kwargs.get("tool_choice")),
                config=config,
            )
        except LimitExceededError as limit:
            raise LimitReached(limit) from limit
        except ReflexionError:
            raise
        except Exception as error:
            options = {"stop": stop, "seed": config.seed, "tools": tools}
            sent = [name for name, value in options.items() if value]
            # The caller asks again without the option.
            if refused_option(error, sent):
                raise
            # Inspect has retried already, so the graph must not.
            fault = to_fault(error, secrets_around())
            fault.transient = False
            raise fault from error
        _expect_reply(output)
        return ChatResult(generations=[ChatGeneration(message=to_langchain(output))])


def _expect_reply(output: ModelOutput) -> None:
    """Raise ContextTooLong or ModelFault if an output has an error in place of a reply."""
    # Only an output with a message has a reason why it stopped.
    if not output.empty and output.stop_reason == "model_length":
        raise ContextTooLong(f"the prompt is too long for the context of {output.model}")
    if output.error:
        raise ModelFault(f"the model could not answer: {output.error[:300]}", transient=False)


WHOLE = "inspect_message"
"""The key of a reply's whole Inspect message, for parts that LangChain lacks, such as reasoning to be sent again."""


async def to_inspect(messages: Sequence[BaseMessage]) -> list[ChatMessage]:
    """Convert a prompt to Inspect's messages."""
    converted: list[ChatMessage] = []
    waiting: list[BaseMessage] = []
    for message in messages:
        whole = message.additional_kwargs.get(WHOLE)
        if not whole:
            waiting.append(message)
            continue
        converted += await _by_openai_form(waiting)
        waiting = []
        converted.append(ChatMessageAssistant.model_validate(whole))
    converted += await _by_openai_form(waiting)
    return converted


async def _by_openai_form(messages: Sequence[BaseMessage]) -> list[ChatMessage]:
    """Convert messages together: Inspect finds the name of a tool for its result in the call before."""
    written: Any = convert_to_openai_messages(messages)
    return await messages_from_openai(written)


def tools_to_inspect(tools: Sequence[dict[str, Any]]) -> list[ToolInfo]:
    """Convert tools from OpenAI's form to Inspect's."""
    converted = []
    for tool in tools:
        function = tool["function"]
        # Inspect's schemas have no references.
        schema = dereference_refs(function.get("parameters", {}))
        info = ToolInfo(
            name=function["name"],
            description=function.get("description", ""),
            parameters=ToolParams.model_validate(schema),
        )
        converted.append(info)
    return converted


def choice_to_inspect(choice: Any) -> ToolChoice | None:
    """Convert LangChain's `tool_choice` to Inspect's."""
    match choice:
        case "required" | True:
            return "any"
        case {"function": {"name": str(name)}}:
            return ToolFunction(name)
        case "auto" | "none" | "any":
            # The same words in both.
            return cast(ToolChoice, choice)
        case str(name):
            return ToolFunction(name)
    return cast(ToolChoice | None, choice)


def to_langchain(output: ModelOutput) -> AIMessage:
    """Convert a model's reply, with its usage."""
    if output.empty:
        return AIMessage("", response_metadata={"model_name": output.model})
    message = output.message
    calls, invalid_calls = _calls(message)
    usage = None
    if output.usage:
        usage = _usage(output.usage)
    return AIMessage(
        message.text,
        additional_kwargs=_more(output),
        response_metadata={"model_name": output.model, "finish_reason": output.stop_reason},
        tool_calls=calls,
        invalid_tool_calls=invalid_calls,
        usage_metadata=usage,
    )


def _more(output: ModelOutput) -> dict[str, Any]:
    """Return what a reply has besides text and calls: a refusal, and the whole message if it has reasoning."""
    more: dict[str, Any] = {}
    if output.stop_reason == "content_filter" and output.completion:
        more["refusal"] = output.completion
    content = output.message.content
    if isinstance(content, str):
        return more
    if any(part.type == "reasoning" for part in content):
        more[WHOLE] = output.message.model_dump(mode="json", exclude_none=True)
    return more


def _calls(message: ChatMessageAssistant) -> tuple[list[ToolCall], list[InvalidToolCall]]:
    """Return the tool calls of a message, and those whose arguments could not be read."""
    calls: list[ToolCall] = []
    invalid: list[InvalidToolCall] = []
    for call in message.tool_calls or []:
        if call.parse_error:
            wrong = InvalidToolCall(
                name=call.function,
                args=str(call.arguments),
                id=call.id,
                error=call.parse_error,
                type="invalid_tool_call",
            )
            invalid.append(wrong)
        else:
            calls.append(ToolCall(name=call.function, args=call.arguments, id=call.id))
    return calls, invalid


def _usage(used: ModelUsage) -> UsageMetadata:
    # LangChain's input includes the tokens from the provider's prefix cache, Inspect's does not.
    read = used.input_tokens_cache_read or 0
    written = used.input_tokens_cache_write or 0
    sent = used.input_tokens + read + written
    return UsageMetadata(
        input_tokens=sent,
        output_tokens=used.output_tokens,
        total_tokens=sent + used.output_tokens,
        input_token_details=InputTokenDetails(cache_read=read, cache_creation=written),
    )
