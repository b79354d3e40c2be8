"""Chat models that reply from a script."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field, SkipValidation

from langgraph_reflexion.errors import ReflexionError

Reply = str | AIMessage | Exception


class ScriptExhausted(ReflexionError):
    """A scripted model has no reply left. Not a fault: the test or the agent is wrong."""


class ScriptedChatModel(BaseChatModel):
    """A chat model that replies from a list, in order, or from a function of the prompt, and keeps every prompt.

    Attributes:
        replies: Texts, messages, exceptions to raise, or a function of the messages. A used-up list raises
            `ScriptExhausted`, which ends the run and is not taken for a fault.
        prompts: The messages of every call so far.
        seeds: The seed of every call so far.
    """

    replies: Annotated[Sequence[Reply] | Callable[[list[BaseMessage]], Reply], SkipValidation]
    seed: int | None = None
    prompts: list[list[BaseMessage]] = Field(default_factory=list)
    seeds: list[int | None] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[LanguageModelInput, AIMessage]:
        return self.bind(tools=[convert_to_openai_tool(each) for each in tools], **kwargs)

    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        self.prompts.append(messages)
        self.seeds.append(kwargs.get("seed", self.seed))
        if callable(self.replies):
            reply = self.replies(messages)
        elif len(self.prompts) > len(self.replies):
            raise ScriptExhausted(
                f"the script has no reply left: it has {len(self.replies)}, and this is call {len(self.prompts)}"
            )
        else:
            reply = self.replies[len(self.prompts) - 1]
        if isinstance(reply, Exception):
            raise reply
        message = AIMessage(reply) if isinstance(reply, str) else reply
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _agenerate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        return self._generate(messages, stop, **kwargs)
