"""The client through which nodes call a chat model: seeds, retries, accounting, and no refused options."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import merge_configs
from langgraph.cache.base import FullKey
from langgraph.errors import GraphBubbleUp

from langgraph_reflexion.errors import ConfigurationError, ContextTooLong, ModelFault, ReflexionError, ToolsRefused
from langgraph_reflexion.models.cache import ReplyCache
from langgraph_reflexion.models.calls import (
    CallId,
    CallsOf,
    Reply,
    begin_call,
    charge,
    note,
    remember_charge,
    was_charged_for,
)
from langgraph_reflexion.models.faults import is_bug, is_timeout, to_fault, unanswered, validate_reply
from langgraph_reflexion.models.limits import LIMITS, ReplyLimits, has_reasoned, is_cut, limiting
from langgraph_reflexion.models.load import load_model, name_of, without_own_retries
from langgraph_reflexion.models.options import ModelOptions
from langgraph_reflexion.models.requests import Request, Requests
from langgraph_reflexion.models.sent import expect_no_files
from langgraph_reflexion.models.slots import Progress, Slots
from langgraph_reflexion.models.unasked import UnaskedChatModel
from langgraph_reflexion.models.usage import (
    Price,
    Usage,
    UsageCallback,
    add_usage,
    out_of_cache,
    price_of,
    usage_of,
    with_usage,
)
from langgraph_reflexion.support.secrets import secrets_of

T = TypeVar("T")

SHORTEST = 5
"""Characters of a reply that is not asked for again at another temperature."""

NO_MODEL = "no model is known yet that could reflect or judge: give model=..."

HIGHEST_DEFAULT = 1.0
"""Taken as the highest default temperature of any server."""

ESTIMATED = "tokens: estimated, as the server counts none"
"""The note of a trial whose usage is an estimate."""

UNLIMITED = "replies have no limit from now on, as reasoning uses it up"
"""The note of the trial in which the limit was lifted."""


@dataclass
class _Server:
    """What is known of a model's server, which several clients may share."""

    answered: bool
    slots: Slots | None = None
    """The calls in flight; None as long as no model is known."""


class Client:
    """A chat model, and what is known about its server.

    Args:
        model: The model or its name. Its own retries are switched off, so that they do not multiply. None if it is
            not known yet.
        options: How it is called.
        priced: Whether its price must be known, for a budget of money.
        answered: Whether the server is taken as one that has answered: then its being down is a fault like any other,
            and not one that stops the run.

    Raises:
        ConfigurationError: there is no such model, or no price.

    Attributes:
        price: The price of its tokens, if it is known.
        refused: The options that the server refuses, and that are left out.
        unlimited: Whether replies have no limit any more, as reasoning uses it up.
    """

    def __init__(
        self,
        model: BaseChatModel | str | None,
        options: ModelOptions | None = None,
        *,
        priced: bool = False,
        answered: bool = False,
    ) -> None:
        self._options = options or ModelOptions()
        self._priced = priced
        self._replied = False
        self.unlimited = False
        self._server = _Server(answered)
        self.refused: set[str] = set()
        self._given: BaseChatModel | None = None
        if isinstance(model, str):
            model = load_model(model)
        if model is not None:
            self._bind(model)

    @property
    def name(self) -> str:
        """The model's name.

        Raises:
            ConfigurationError: no model is known yet.
        """
        self._expect_model()
        return self._name

    @property
    def given(self) -> BaseChatModel | None:
        """The model as it was given; None if it is not known yet."""
        return self._given

    @property
    def replied(self) -> bool:
        """Whether the model has ever replied."""
        return self._replied

    @property
    def model(self) -> Any:
        """The model as it is called.

        Raises:
            ConfigurationError: none is known yet.
        """
        self._expect_model()
        return self._model

    @property
    def has_own_server(self) -> bool:
        """Whether the model has a server of its user's own, and is not a provider's."""
        self._expect_model()
        return bool(self._slots.address)

    @property
    def answered(self) -> bool:
        """Whether the server has ever answered this process, or is taken as one that has."""
        return self._server.answered

    @property
    def _slots(self) -> Slots:
        slots = self._server.slots
        if slots is None:
            raise ConfigurationError(NO_MODEL)
        return slots

    def for_model(self, model: BaseChatModel | str) -> "Client":
        """Return a client of another model, which is called in the same way.

        Raises:
            ConfigurationError: it is not a model, or there is none of this name.
        """
        _expect_model_or_name("model", model)
        return Client(model, self._options, priced=self._priced, answered=self.answered)

    def require_price(self) -> None:
        """Need the price of the model, as a budget of money does: of one that is bound later, too.

        Raises:
            ConfigurationError: the model is known, and its price is not.
        """
        self._priced = True
        if self._given is not None:
            self._find_price(self._given)

    def _bind(self, model: BaseChatModel) -> None:
        self._model = without_own_retries(model)
        self._name = name_of(model)
        self._find_price(model)
        self._cache: ReplyCache | None = None
        if self._options.cache is not None:
            self._cache = ReplyCache(self._options.cache, model)
        self._secrets = secrets_of(model)
        self._server.slots = Slots(model)
        own_server = bool(self._slots.address)
        self._requests = Requests(self._model, self.refused, self._secrets, own_server=own_server)
        # Assigned last: a model whose price is missing, or whose cache is broken, must not count as known.
        self._given = model

    @classmethod
    def of_models(
        cls,
        models: Sequence[BaseChatModel | str],
        reflection_model: BaseChatModel | str | None,
        options: ModelOptions,
        *,
        priced: bool = False,
        answered: bool = False,
    ) -> "tuple[list[Client], Client]":
        """Return the actor's clients, one for each model, and that of self-reflection, the first unless given."""
        # All are checked before one is loaded, which takes a while.
        for model in models:
            _expect_model_or_name("model", model)
        if reflection_model is not None:
            _expect_model_or_name("reflection_model", reflection_model)
        clients = [cls(model, options, priced=priced, answered=answered) for model in models]
        # One client for one model, which learns only once what its server refuses.
        second = clients[0]
        if reflection_model is not None and reflection_model is not models[0]:
            second = cls(reflection_model, options, priced=priced, answered=answered)
        for number, client in enumerate([*clients, second]):
            # The first client of a server has its counts, and each later one shares them.
            for earlier in reversed(clients[:number]):
                client._share_server(earlier)
        return clients, second

    def _share_server(self, other: "Client") -> None:
        """Have one count of calls in flight, and of answers, with another client if both have the same server."""
        address = self._slots.address
        if address != other._slots.address:
            return
        # A provider's models have no address; their class identifies the provider.
        if address or type(self.model) is type(other.model):
            self._server = other._server

    def await_first_answer(self) -> None:
        """Take the server as one that has never answered: if it is down, the run stops, also around an agent."""
        self._server.answered = False

    def mark_answered(self) -> None:
        """Take the server as one that has answered, as it has answered another process."""
        self._server.answered = True

    def check_tools(self) -> None:
        """Raise ConfigurationError unless the model's class supports tool calls."""
        try:
            schema = {"type": "object", "properties": {}}
            # Whether the server takes tools, only a call shows.
            probe = {"name": "probe", "description": "", "parameters": schema}
            self.model.bind_tools([{"type": "function", "function": probe}])
        except NotImplementedError as error:
            raise ConfigurationError(
                f"{type(self.model).__name__} does not support tool calls: use actor='react', which needs none"
            ) from error

    async def ask(
        self,
        messages: list[BaseMessage],
        config: RunnableConfig,
        call: CallId,
        *,
        stop: list[str] | None = None,
        tools: Sequence[dict[str, Any]] = (),
        max_tokens: int | None = None,
        temperature: float | None = None,
        temperatures: Sequence[float] = (),
        schema: dict[str, Any] | None = None,
    ) -> Reply:
        """Call the model, with retries.

        Args:
            messages: The prompt.
            config: The node's config, so that traces and token streams stay connected.
            call: The call's id. Its seed is passed on if the model takes one.
            stop: Stop sequences. Servers may ignore them, so parsers cut the reply, too.
            tools: The tools that the model may call.
            max_tokens: The limit of the reply; by what is asked for unless given (`LIMITS`).
            temperature: The sampling temperature; the model's own unless given, or if that is higher. A model without
                one of its own is asked at `HIGHEST_DEFAULT` at least.
            temperatures: The temperatures at which a reply of fewer than `SHORTEST` characters is asked for again.
            schema: The JSON schema of the reply. A server that refuses it replies in its own form.

        Raises:
            ContextTooLong: the prompt is too long.
            ToolsRefused: the server does not support tool calls.
            ModelFault: the model could not be reached, refused, or gave an empty reply; permanent if no retry can
                succeed, or if the server has never answered.
        """
        self._expect_model()
        # First of all: a message may come from a state that somebody else has written.
        expect_no_files(messages)
        # Before it is sent: calls are recorded in the order in which they began.
        begun = begin_call(call, self._requests.for_server(messages), tools)
        key: FullKey | None = None
        if self._cache is not None:
            key = self._cache.key(messages, call, tools)
            cached = await self._cache.find(key, config)
            if cached is not None:
                used = cached.usage
                if was_charged_for(key[1]):
                    used = out_of_cache(used)
                charge(used)
                remember_charge(key[1])
                begun.reply = cached.reply
                return Reply(cached.reply)
        metadata = {**config.get("metadata", {}), **call.metadata}
        config = {**config, "metadata": metadata}
        request = Request(
            messages,
            config,
            stop,
            tools,
            self._limits(call, max_tokens),
            temperature=self._at_least(temperature),
            schema=schema,
        )
        paid: list[Usage] = []

        async def attempt(progress: Progress) -> AIMessage:
            watched = merge_configs(config, {"callbacks": [progress]})
            return await self._attempt(request._replace(config=watched), call, temperatures, paid)

        reply = await self._retried(attempt)
        begun.reply = reply
        # Failed attempts have been paid for as well.
        if self._cache is not None and key is not None:
            await self._cache.keep(key, reply, add_usage(*paid), config)
            remember_charge(key[1])
        for option in sorted(self.refused):
            note(f"the server refuses {option}, which is left out")
        return Reply(reply)

    def _find_price(self, model: BaseChatModel) -> None:
        # What is never asked costs nothing.
        is_asked = not isinstance(model, UnaskedChatModel)
        needed = self._priced and is_asked
        self.price = price_of(self._name, self._options.prices, needed=needed)

    def _expect_model(self) -> None:
        if self._given is None:
            raise ConfigurationError(NO_MODEL)

    def _at_least(self, temperature: float | None) -> float | None:
        """Return a temperature for a request; None for the model's own, which may be higher."""
        if temperature is None:
            return None
        own = getattr(self.model, "temperature", None)
        if own is None:
            # The server's default is not known, and may be as high as this.
            return max(temperature, HIGHEST_DEFAULT)
        if own >= temperature:
            return None
        return temperature

    def _limits(self, call: CallId, max_tokens: int | None) -> ReplyLimits | None:
        """Return what limits the reply to a call: the user's number before the caller's, and that before our own."""
        tokens = self._options.max_tokens or max_tokens or LIMITS.get(call.kind)
        if not tokens:
            return None
        return limiting(self.model, tokens, overriding=self._options.max_tokens is not None)

    async def _attempt(
        self, request: Request, call: CallId, temperatures: Sequence[float], paid: list[Usage]
    ) -> AIMessage:
        """Return a valid reply; each request is added to `paid`."""
        reply = await self._first_reply(request, call, temperatures, paid)
        if is_cut(reply):
            note(f"{call.name}: the reply was cut at its limit")
            # Only a limit of ours is lifted, not one that the user has set.
            ours = request.limits is not None and self._options.max_tokens is None
            if ours and not self.unlimited and has_reasoned(reply):
                self.unlimited = True
                note(UNLIMITED)
                return await self._attempt(request, call, temperatures, paid)
        validate_reply(reply)
        return reply

    async def _first_reply(
        self, request: Request, call: CallId, temperatures: Sequence[float], paid: list[Usage]
    ) -> AIMessage:
        """Return the first reply that says anything, at the model's temperature or one of these, or the last one."""
        if self.unlimited:
            request = request._replace(limits=None)
        for temperature in (request.temperature, *temperatures):
            # With the same seed, the same reply would come again.
            seed = call.seed(len(paid))
            reply = await self._requests.send(request._replace(seed=seed, temperature=temperature))
            # Whatever it holds, it was paid for.
            used = self._usage_of(reply, request.messages)
            paid.append(used)
            charge(used)
            self._server.answered = True
            self._replied = True
            if _says_anything(reply):
                break
        return reply

    def _usage_of(self, reply: AIMessage, messages: list[BaseMessage]) -> Usage:
        """Return what a reply has cost, by an estimate if a server of one's own does not count tokens."""
        used = usage_of(reply, self.price)
        counted = used["input_tokens"] or used["cached_calls"]
        if counted or not self._slots.address:
            return used
        note(ESTIMATED)
        return usage_of(with_usage(reply, messages), self.price)

    async def lend(
        self,
        work: Callable[[BaseChatModel, RunnableConfig], Awaitable[T]],
        config: RunnableConfig,
        call: CallId,
        *,
        own_models: bool = False,
    ) -> T:
        """Have a library call the model, with retries, and return its result.

        Args:
            work: Is called with the model and a config that counts its calls.
            config: The node's config.
            call: The id of the calls that the library makes.
            own_models: Whether the library calls models of its own, whose prices are those of their names.

        Raises:
            ModelFault: as for `ask`.
        """
        self._expect_model()

        async def attempt(_: Progress) -> T:
            prices: dict[str, Price] = {}
            if own_models:
                prices.update(self._options.prices)
            elif self.price is not None:
                # Every model's name begins with the empty one, so this price is that of all calls.
                prices[""] = self.price
            counter = UsageCallback(prices)
            counted = merge_configs(config, {"callbacks": [counter, CallsOf(call)]})
            try:
                return await work(self.model, counted)
            # LangGraph's own signals, and what this package has raised itself, pass as they are.
            except (GraphBubbleUp, ReflexionError):
                raise
            except Exception as error:
                if is_bug(error):
                    raise
                raise to_fault(error, self._secrets) from error
            finally:
                # Also after an error, as the calls before it were paid for.
                charge(counter.usage)
                # Instead of any other error, as a budget that cannot count must not go on.
                if own_models and self._priced and counter.unpriced:
                    missing = ", ".join(sorted(counter.unpriced))
                    raise ConfigurationError(f"a budget of money needs prices of {missing}")
                if counter.usage["llm_calls"] > 0:
                    self._server.answered = True

        return await self._retried(attempt)

    async def _retried(self, attempt: Callable[[Progress], Awaitable[T]]) -> T:
        """Make an attempt, and again after transient faults."""
        try:
            return await self._options.retries(partial(self._timely, attempt))
        except (ContextTooLong, ToolsRefused):
            # Only a server that is up says so.
            self._server.answered = True
            raise
        except ModelFault as fault:
            # A server that has never answered is most likely not there: other tasks need not wait for it as well.
            if not (self.answered or fault.permanent):
                raise unanswered(fault, self._slots.url, self._options.retries.attempts) from fault
            raise

    async def _timely(self, attempt: Callable[[Progress], Awaitable[T]]) -> T:
        """Make an attempt in a slot of the server, within the timeout."""
        timeout = self._options.timeout
        async with self._slots.one():
            try:
                async with asyncio.timeout(timeout) as deadline:
                    progress = Progress(deadline, timeout)
                    async with self._slots.watched(progress.seen, timeout):
                        return await attempt(progress)
            except TimeoutError as error:
                # Somebody else's.
                if not deadline.expired():
                    raise
                self._slots.timed_out()
                raise ModelFault(progress.late()) from error
            except ModelFault as fault:
                if is_timeout(fault):
                    self._slots.timed_out()
                raise


def _expect_model_or_name(argument: str, given: object) -> None:
    if not isinstance(given, Runnable | str):
        raise ConfigurationError(f"{argument} must be a chat model or its name; got {type(given).__name__}")


def _says_anything(reply: AIMessage) -> bool:
    """Return whether a reply need not be asked for again: a cut one would be cut at any temperature."""
    if reply.tool_calls or is_cut(reply):
        return True
    return len(reply.text.strip()) >= SHORTEST
