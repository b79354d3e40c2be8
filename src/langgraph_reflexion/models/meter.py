"""The account of model calls that somebody else makes: of a wrapped agent's."""

import threading
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, LLMResult

from langgraph_reflexion.models.prices import NO_USAGE, Price, add_usage, usage_of


class Meter(BaseCallbackHandler):
    """Counts the model calls that are made under it, as a LangChain callback.

    Args:
        prices: What tokens cost, by the model's name.

    Attributes:
        usage: The account so far.
    """

    def __init__(self, prices: Mapping[str, Price]) -> None:
        self.usage = NO_USAGE
        self._prices = prices
        self._lock = threading.Lock()

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """Add a call."""
        generation = response.generations[0][0]
        message = generation.message if isinstance(generation, ChatGeneration) else None
        if isinstance(message, AIMessage):
            name = message.response_metadata.get("model_name", "")
            price = next((self._prices[known] for known in self._prices if name.startswith(known)), None)
            with self._lock:
                self.usage = add_usage(self.usage, usage_of(message, price))
