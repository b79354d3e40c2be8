"""Models without a key, as a provider of Inspect's: `--model reflexion/demo` and `--model reflexion/recorded`.

Neither is an LLM, and a score with one of them says nothing about any: the demo model follows rules, and a recording
says again what was said once.
"""

from pathlib import Path
from typing import Any

from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    StopReason,
    messages_to_openai,
    modelapi,
)
from inspect_ai.tool import ToolCall, ToolChoice, ToolInfo
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, convert_to_messages

from langgraph_reflexion.adapters.inspect.chat_model import PLACE
from langgraph_reflexion.demo import DemoChatModel
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.testing.recorded import RecordedChatModel


@modelapi(name="reflexion")
def reflexion_models() -> type[ModelAPI]:
    """The provider `reflexion`."""
    return OfflineModels


class OfflineModels(ModelAPI):
    """The demo model, and recorded replies. They reach for no network, and count tokens by themselves.

    Args:
        model_name: `demo` or `recorded`.
        base_url: Not used.
        api_key: Not used.
        config: Of the model.
        recording: The recording (`-M recording=FILE`), as `langgraph_reflexion.testing.Recorder` writes it.
        **model_args: None are known.

    Raises:
        ConfigurationError: there is no such model, or no such recording.
    """

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - as Inspect's own have it
        recording: str | None = None,
        **model_args: Any,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        if model_args:
            raise ConfigurationError(f"reflexion/{model_name} takes no {', '.join(model_args)}")
        self._model = _model(model_name, recording)

    async def generate(
        self, input: list[ChatMessage], tools: list[ToolInfo], tool_choice: ToolChoice, config: GenerateConfig
    ) -> ModelOutput:
        """Answer a prompt."""
        written: Any = await messages_to_openai(input)
        messages = convert_to_messages(written)
        options: dict[str, Any] = {} if config.seed is None else {"seed": config.seed}
        if tools and tool_choice != "none":
            options["tools"] = [
                {"type": "function", "function": tool.model_dump(exclude_none=True)} for tool in tools
            ]
        reply = await self._model.ainvoke(
            messages, {"metadata": dict(PLACE.get() or {})}, stop=config.stop_seqs, **options
        )
        return _output(f"reflexion/{self.model_name}", reply)


def _model(name: str, recording: str | None) -> BaseChatModel:
    match name, recording:
        case "demo", None:
            return DemoChatModel()
        case "recorded", str():
            return RecordedChatModel(Path(recording))
    raise ConfigurationError(
        f"no model 'reflexion/{name}': choose reflexion/demo, or reflexion/recorded with -M recording=FILE"
    )


def _output(model: str, reply: AIMessage) -> ModelOutput:
    calls = [
        ToolCall(id=call["id"] or "", function=call["name"], arguments=call["args"]) for call in reply.tool_calls
    ]
    message = ChatMessageAssistant(content=reply.text, tool_calls=calls or None, model=model, source="generate")
    ended: StopReason = "tool_calls" if calls else "stop"
    # Without an account, Inspect would count tokens with an encoding that is downloaded.
    used = reply.usage_metadata or {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
    return ModelOutput(
        model=model,
        choices=[ChatCompletionChoice(message=message, stop_reason=ended)],
        usage=ModelUsage(
            input_tokens=used["input_tokens"],
            output_tokens=used["output_tokens"],
            total_tokens=used["total_tokens"],
        ),
    )
