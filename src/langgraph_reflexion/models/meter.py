"""The account of model calls that somebody else makes: of a wrapped agent's."""

import threading
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult

from langgraph_reflexion.models.prices import NO_USAGE, Price, add_usage, usage_of
from langgraph_reflexion.state import Usage


class Meter(BaseCallbackHandler):
    """Counts the model calls that are made under it, as a LangChain callback.

    Args:
        prices: What tokens cost, by the model's name. A provider in front of it is not looked at; of several names
            that a model's begins with, the longest is meant.

    Attributes:
        usage: The account so far.
        unpriced: The models that were called and have no price.
    """

    # Under a coroutine it would be handed to a thread for every event, which costs more than what it does.
    run_inline = True

    def __init__(self, prices: Mapping[str, Price]) -> None:
        self.usage = NO_USAGE
        self.unpriced: set[str] = set()
        # A name may hold a colon of its own (`qwen3:8b`).
        self._prices = {**prices, **{name.partition(":")[2]: price for name, price in prices.items() if ":" in name}}
        self._lock = threading.Lock()

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """Add a call."""
        generation = response.generations[0][0]
        if isinstance(generation, ChatGeneration) and isinstance(generation.message, AIMessage):
            usage = self._usage(generation.message)
            with self._lock:
                self.usage = add_usage(self.usage, usage)

    def account(self, messages: Iterable[BaseMessage]) -> Usage:
        """The account, with what was spent before this process took over, as far as the messages tell.

        Args:
            messages: All that the agent added to the conversation.
        """
        told = add_usage(*(self._usage(message) for message in messages if isinstance(message, AIMessage)))
        return told if told["llm_calls"] > self.usage["llm_calls"] else self.usage

    def _usage(self, message: AIMessage) -> Usage:
        model = str(message.response_metadata.get("model_name", ""))
        known = max((name for name in self._prices if model.startswith(name)), key=len, default=None)
        if known is None:
            self.unpriced.add(model or "the agent's model")
        return usage_of(message, self._prices[known] if known else None)
