"""The demo model as an Inspect provider: `--model reflexion/demo`. It follows rules, and is not an LLM."""

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
from langchain_core.messages import AIMessage, convert_to_messages

from langgraph_reflexion.demo import DemoChatModel
from langgraph_reflexion.errors import ConfigurationError

MODEL = "reflexion/demo"


@modelapi(name="reflexion")
def reflexion_models() -> type[ModelAPI]:
    """The provider `reflexion`."""
    return DemoProvider


class DemoProvider(ModelAPI):
    """The demo model. It uses no network, and counts tokens itself.

    Raises:
        ConfigurationError: there is no such model.
    """

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - as Inspect's own have it
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        if model_name != "demo":
            raise ConfigurationError(f"no model 'reflexion/{model_name}': choose reflexion/demo")

    async def generate(
        self, input: list[ChatMessage], tools: list[ToolInfo], tool_choice: ToolChoice, config: GenerateConfig
    ) -> ModelOutput:
        written: Any = await messages_to_openai(input)
        messages = convert_to_messages(written)
        options: dict[str, Any] = {} if config.seed is None else {"seed": config.seed}
        if tools and tool_choice != "none":
            options["tools"] = [
                {"type": "function", "function": tool.model_dump(exclude_none=True)} for tool in tools
            ]
        return _output(await DemoChatModel().ainvoke(messages, stop=config.stop_seqs, **options))


def _output(reply: AIMessage) -> ModelOutput:
    calls = [
        ToolCall(id=call["id"] or "", function=call["name"], arguments=call["args"]) for call in reply.tool_calls
    ]
    message = ChatMessageAssistant(content=reply.text, tool_calls=calls or None, model=MODEL, source="generate")
    ended: StopReason = "tool_calls" if calls else "stop"
    # Without usage, Inspect would download an encoding to count tokens.
    used = reply.usage_metadata or {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
    return ModelOutput(
        model=MODEL,
        choices=[ChatCompletionChoice(message=message, stop_reason=ended)],
        usage=ModelUsage(
            input_tokens=used["input_tokens"], output_tokens=used["output_tokens"], total_tokens=used["total_tokens"]
        ),
    )
