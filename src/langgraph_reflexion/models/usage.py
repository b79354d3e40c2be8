"""Usage: the calls, tokens and cost of a model."""

import math
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, LLMResult

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.models.recorded import NO_USAGE as NO_USAGE
from langgraph_reflexion.models.recorded import Usage as Usage
from langgraph_reflexion.models.recorded import add_usage as add_usage
from langgraph_reflexion.models.recorded import out_of_cache as out_of_cache

CHARACTERS_PER_TOKEN = 4
"""An estimate for English text."""

MOST_TOKENS = 10**12
"""A count of tokens that no call reaches."""


@dataclass(frozen=True)
class Price:
    """The price of a million tokens, in the currency of the budget.

    Attributes:
        input: A million tokens of prompt.
        output: A million tokens of reply.
        cached_input: A million tokens of prompt from the provider's prefix cache; `input` unless given.
    """

    input: float
    output: float
    cached_input: float | None = None

    def __post_init__(self) -> None:
        parts = (self.input, self.output, self.cached_input or 0)
        # `nan` is neither less nor more than any number.
        if not all(0 <= part < math.inf for part in parts):
            raise ConfigurationError(f"the price {str(self)!r}: a price is a finite number, at least 0")

    @classmethod
    def parse(cls, text: str) -> "Price":
        """Read a price such as `0.15,0.60` or `0.15,0.60,0.075`.

        Raises:
            ConfigurationError: it is not a price.
        """
        try:
            parts = [float(part) for part in text.split(",")]
            return cls(*parts)
        except ConfigurationError:
            raise
        except (TypeError, ValueError) as error:
            raise ConfigurationError(
                f"the price {text!r}: write it as INPUT,OUTPUT or INPUT,OUTPUT,CACHED_INPUT, per million tokens"
            ) from error

    def __str__(self) -> str:
        parts = [self.input, self.output]
        if self.cached_input is not None:
            parts.append(self.cached_input)
        return ",".join(f"{part:g}" for part in parts)


def price_of(model: str, prices: Mapping[str, Price], *, needed: bool = False) -> Price | None:
    """Return the price of a model, by its name with or without the provider; None if there is none.

    Raises:
        ConfigurationError: it is missing and `needed`.
    """
    for known, price in prices.items():
        if model in (known, known.partition(":")[2]):
            return price
    if needed:
        raise ConfigurationError(
            f"a budget of money needs the price of {model}: prices={{{model!r}: Price(input, output)}}"
        )
    return None


def with_usage(reply: AIMessage, prompt: Sequence[BaseMessage]) -> AIMessage:
    """Return a reply with an estimate of its usage."""
    read = math.ceil(size(prompt) / CHARACTERS_PER_TOKEN)
    wrote = math.ceil(size([reply]) / CHARACTERS_PER_TOKEN)
    usage = UsageMetadata(input_tokens=read, output_tokens=wrote, total_tokens=read + wrote)
    return reply.model_copy(update={"usage_metadata": usage})


def size(messages: Sequence[BaseMessage]) -> int:
    """Return the characters of messages: their texts, and the arguments of their tool calls."""
    characters = 0
    for message in messages:
        characters += len(message.text)
        if isinstance(message, AIMessage):
            characters += sum(len(str(call["args"])) for call in message.tool_calls)
    return characters


def usage_of(reply: AIMessage, price: Price | None) -> Usage:
    """Return the usage of a reply: at this price, or without cost; free if it comes from LangChain's own cache."""
    counted = reply.usage_metadata
    read = _number(counted, "input_tokens")
    wrote = _number(counted, "output_tokens")
    cost = 0.0
    if price and counted:
        # Some servers count more tokens from their prefix cache than the prompt has.
        cached_input = min(_number(counted.get("input_token_details"), "cache_read"), read)
        cost = _cost(price, read - cached_input, cached_input, wrote)
    usage = Usage(llm_calls=1, cached_calls=0, input_tokens=read, output_tokens=wrote, cost=cost)
    # LangChain's own cache marks its replies by this key, with the tokens of the original call.
    if counted and counted.get("total_cost") == 0:
        return out_of_cache(usage)
    return usage


def _cost(price: Price, new_input: int, cached_input: int, output: int) -> float:
    cached_price = price.cached_input
    if cached_price is None:
        cached_price = price.input
    return (new_input * price.input + cached_input * cached_price + output * price.output) / 1e6


def _number(counted: Any, name: str) -> int:
    """Return a count of a server's; 0 if it sent something else, or more than any model reads."""
    try:
        number = int(counted[name])
    except (KeyError, TypeError, ValueError, OverflowError):
        return 0
    if 0 <= number < MOST_TOKENS:
        return number
    return 0


class UsageCallback(BaseCallbackHandler):
    """A LangChain callback that counts the model calls of an agent.

    Args:
        prices: The prices by model name, with or without the provider. The longest name that a model's name begins
            with applies.

    Attributes:
        usage: The usage so far.
        unpriced: The models that were called and have no price.
        counted: The models of which a reply has said how many tokens it has.
        uncounted: The models of which a reply has not.
    """

    run_inline = True  # a thread per event would cost more than the callback

    def __init__(self, prices: Mapping[str, Price]) -> None:
        self.usage = NO_USAGE
        self.unpriced: set[str] = set()
        self.counted: set[str] = set()
        self.uncounted: set[str] = set()
        self._prices = dict(prices)
        for name, price in prices.items():
            # A name may contain a colon itself (`qwen3:8b`), so the whole one stays.
            _, colon, model = name.partition(":")
            if colon:
                self._prices[model] = price
        self._lock = threading.Lock()

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        generation = response.generations[0][0]
        if isinstance(generation, ChatGeneration) and isinstance(generation.message, AIMessage):
            usage = self._usage(generation.message)
            # The calls of an agent may be made in several threads.
            with self._lock:
                self.usage = add_usage(self.usage, usage)

    def account(self, messages: Iterable[BaseMessage]) -> Usage:
        """Return the usage, with calls before this process took over, as far as the agent's messages show."""
        shown = NO_USAGE
        for message in messages:
            if not isinstance(message, AIMessage):
                continue
            # A node that writes its messages itself calls no model.
            if message.response_metadata or message.usage_metadata:
                shown = add_usage(shown, self._usage(message))
        # The callback also hears calls whose replies are not among the messages, but none of another process.
        if shown["llm_calls"] > self.usage["llm_calls"]:
            return shown
        return self.usage

    def _usage(self, message: AIMessage) -> Usage:
        model = str(message.response_metadata.get("model_name", ""))
        name = model or "the agent's model"
        if message.usage_metadata:
            self.counted.add(name)
        else:
            self.uncounted.add(name)
        # Providers add a date or a version to the name that was asked for.
        known = [priced for priced in self._prices if model.startswith(priced)]
        if not known:
            self.unpriced.add(name)
            return usage_of(message, None)
        # The longest, as `gpt-4o` begins the name of `gpt-4o-mini`, too.
        longest = max(known, key=len)
        return usage_of(message, self._prices[longest])
