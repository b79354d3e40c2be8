"""A chat model for graphs that never ask one."""

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult
from langchain_core.runnables import Runnable

from langgraph_reflexion.errors import ConfigurationError


class UnaskedChatModel(BaseChatModel):
    """Stands for the model of a graph that is only drawn or read, or whose nodes need none."""

    @property
    def _llm_type(self) -> str:
        return "langgraph-reflexion-unasked"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Runnable[Any, Any]:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        raise ConfigurationError("no model is named that could act, reflect or judge: give model=... (--model)")
