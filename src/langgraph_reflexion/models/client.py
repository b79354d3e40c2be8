"""The client through which nodes call a chat model: seeds, retries, accounting, and no refused options."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import merge_configs
from langgraph.errors import GraphBubbleUp

from langgraph_reflexion.errors import ConfigurationError, ContextTooLong, ModelFault, ReflexionError, ToolsRefused
from langgraph_reflexion.models.cache import ReplyCache
from langgraph_reflexion.models.calls import CallId, ModelCall, Reply, begin_call, charge, note
from langgraph_reflexion.models.faults import is_bug, is_timeout, refused_option, to_fault, unanswered, validate_reply
from langgraph_reflexion.models.limits import LIMITS, Limits, has_reasoned, is_cut, limiting
from langgraph_reflexion.models.load import load_model, without_own_retries
from langgraph_reflexion.models.options import ModelOptions
from langgraph_reflexion.models.replies import bounded, invalid_call, passing_reasoning, storable, with_content
from langgraph_reflexion.models.sent import expect_no_files
from langgraph_reflexion.models.slots import Progress, Slots
from langgraph_reflexion.models.usage import Usage, UsageCallback, add_usage, price_of, usage_of, with_usage
from langgraph_reflexion.support.secrets import secrets_of

T = TypeVar("T")

SHORTEST = 5
"""Characters of a reply that is not asked for again at another temperature."""

NO_MODEL = "no model is known yet that could reflect or judge: give model=..."

ESTIMATED = "tokens: estimated, as the server counts none"
"""The note of a trial whose usage is an estimate."""

UNLIMITED = "replies have no limit from now on, as reasoning uses it up"
"""The note of the trial in which the limit was lifted."""


class Client:
    """A chat model, and what is known about its server.

    Args:
        model: The model or its name. Its own retries are switched off, so that they do not multiply. None if `bind`
            gives it.
        options: How it is called.
        priced: Whether its price must be known, for a budget of money.
        answered: Whether the server is taken as one that has answered: then its being down is a fault like any other,
            and not one that stops the run.

    Raises:
        ConfigurationError: there is no such model, or no price.

    Attributes:
        name: The model's name.
        price: The price of its tokens, if it is known.
        answered: Whether the server has ever answered this process.
        refused: The options that the server refuses, and that are left out.
        replied: Whether the model has ever replied.
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
        self._options, self._priced = options or ModelOptions(), priced
        self.replied = self.unlimited = False
        self.answered = answered
        self.refused: set[str] = set()
        self._given: BaseChatModel | None = None
        if model is not None:
            self.bind(load_model(model) if isinstance(model, str) else model)

    def bind(self, model: BaseChatModel) -> None:
        """Call this model from now on."""
        if model is self._given:
            return
        self.model: Any = without_own_retries(model)
        self.name = name_of(model)
        self.price = price_of(self.name, self._options.prices, needed=self._priced)
        cache = self._options.cache
        self._cache = ReplyCache(cache, model) if cache is not None else None
        self._secrets = secrets_of(model)
        self._slots = Slots(model)
        self._fields = getattr(type(model), "model_fields", {})
        # Ollama's client takes the seed with the model, not with a call.
        self._seed_is_field = type(model).__module__.startswith("langchain_ollama")
        self._given = model

    @classmethod
    def pair(
        cls,
        model: BaseChatModel | str,
        reflection_model: BaseChatModel | str | None,
        options: ModelOptions,
        *,
        priced: bool = False,
        answered: bool = False,
    ) -> "tuple[Client, Client]":
        """Return the clients of actor and self-reflection: the same one unless two models are given."""
        second = model if reflection_model is None else reflection_model
        for name, given in (("model", model), ("reflection_model", second)):
            if not isinstance(given, Runnable | str):
                raise ConfigurationError(f"{name} must be a chat model or its name; got {type(given).__name__}")
        client = cls(model, options, priced=priced, answered=answered)
        if reflection_model is None or reflection_model is model:
            return client, client
        return client, cls(reflection_model, options, priced=priced, answered=answered)

    def check_tools(self) -> None:
        """Raise ConfigurationError unless the model's class supports tool calls."""
        try:
            schema = {"type": "object", "properties": {}}
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
        temperatures: Sequence[float] = (),
    ) -> Reply:
        """Call the model, with retries.

        Args:
            messages: The prompt.
            config: The node's config, so that traces and token streams stay connected.
            call: The call's id. Its seed is passed on if the model takes one.
            stop: Stop sequences. Servers may ignore them, so parsers cut the reply, too.
            tools: The tools that the model may call.
            max_tokens: The limit of the reply; by what is asked for unless given (`LIMITS`).
            temperatures: The temperatures at which a reply of fewer than `SHORTEST` characters is asked for again.

        Raises:
            ContextTooLong: the prompt is too long.
            ToolsRefused: the server does not support tool calls.
            ModelFault: the model could not be reached, refused, or gave an empty reply; permanent if no retry can
                succeed, or if the server has never answered.
        """
        if self._given is None:
            raise ConfigurationError(NO_MODEL)
        expect_no_files(messages)
        begun = begin_call(call, self._for_server(messages), tools)
        key = self._cache.key(messages, call, tools) if self._cache else None
        if self._cache and key and (cached := await self._cache.find(key, config)):
            charge(cached.paid or usage_of(cached.reply, self.price, cached=True))
            begun.reply = cached.reply
            return Reply(cached.reply)
        config = {**config, "metadata": {**config.get("metadata", {}), **call.metadata}}
        paid: list[Usage] = []
        limit = self._options.max_tokens or max_tokens or LIMITS.get(call.kind)
        limits = limiting(self.model, limit, overriding=self._options.max_tokens is not None) if limit else None

        async def attempt(progress: Progress) -> AIMessage:
            watched = merge_configs(config, {"callbacks": [progress]})
            for temperature in (None, *temperatures):
                reply = await self._request(messages, watched, call.seed(len(paid)), stop, tools, limits, temperature)
                used = usage_of(reply, self.price)
                if self._slots.address and not (used["input_tokens"] or used["cached_calls"]):
                    used = usage_of(with_usage(reply, messages), self.price)
                    note(ESTIMATED)
                # Whatever it holds, it was paid for.
                paid.append(used)
                charge(paid[-1])
                self.answered = self.replied = True
                if reply.tool_calls or is_cut(reply) or len(reply.text.strip()) >= SHORTEST:
                    break
            if is_cut(reply):
                note(f"{call.name}: the reply was cut at its limit")
                if limits and has_reasoned(reply) and self._options.max_tokens is None and not self.unlimited:
                    self.unlimited = True
                    note(UNLIMITED)
                    return await attempt(progress)
            validate_reply(reply)
            return reply

        reply = await self._retried(attempt)
        begun.reply = reply
        if self._cache and key:
            await self._cache.keep(key, reply, add_usage(*paid), config)
        note(*(f"the server refuses {option}, which is left out" for option in sorted(self.refused)))
        return Reply(reply)

    async def lend(
        self, work: Callable[[BaseChatModel, RunnableConfig], Awaitable[T]], config: RunnableConfig, call: CallId
    ) -> T:
        """Have a library call the model, with retries, and return its result.

        Args:
            work: Is called with the model and a config that counts its calls.
            config: The node's config.
            call: The id of the calls that the library makes.

        Raises:
            ModelFault: as for `ask`.
        """
        if self._given is None:
            raise ConfigurationError(NO_MODEL)

        async def attempt(_: Progress) -> T:
            counter = UsageCallback({"": self.price} if self.price else {})
            try:
                return await work(self.model, merge_configs(config, {"callbacks": [counter, CallsOf(call)]}))
            except (GraphBubbleUp, ReflexionError):
                raise
            except Exception as error:
                if is_bug(error):
                    raise
                raise to_fault(error, self._secrets) from error
            finally:
                charge(counter.usage)
                self.answered = self.answered or counter.usage["llm_calls"] > 0

        return await self._retried(attempt)

    async def _retried(self, attempt: Callable[[Progress], Awaitable[T]]) -> T:
        timeout = self._options.timeout

        async def timely() -> T:
            async with self._slots.one():
                try:
                    async with asyncio.timeout(timeout) as deadline:
                        progress = Progress(deadline, timeout)
                        async with self._slots.watched(progress.seen, timeout):
                            return await attempt(progress)
                except TimeoutError as error:
                    if not deadline.expired():
                        raise
                    self._slots.timed_out()
                    raise ModelFault(progress.late()) from error
                except ModelFault as fault:
                    if is_timeout(fault):
                        self._slots.timed_out()
                    raise

        try:
            return await self._options.retries(timely)
        except (ContextTooLong, ToolsRefused):
            self.answered = True
            raise
        except ModelFault as fault:
            if not (self.answered or fault.permanent):
                raise unanswered(fault, self._slots.url, self._options.retries.attempts) from fault
            raise

    def _for_server(self, messages: list[BaseMessage]) -> list[BaseMessage]:
        """Return the messages as this model's server takes them."""
        return with_content(messages) if self._slots.address else messages

    async def _request(
        self,
        messages: list[BaseMessage],
        config: RunnableConfig,
        seed: int,
        stop: list[str] | None,
        tools: Sequence[dict[str, Any]],
        limits: Limits | None,
        temperature: float | None,
    ) -> AIMessage:
        """Send the request, and again without each option that the server refuses."""
        options: dict[str, Any] = {"seed": seed} if "seed" in self._fields else {}
        options |= {"stop": stop} if stop else {}
        options |= {"stream": True} if getattr(self.model, "streaming", False) else {}
        if tools:
            # A provider's own models call tools by themselves, and forced they do so without a thought.
            options |= {"tool_choice": "any"} if self._slots.address else {}
            options["tools"] = tools
        own = getattr(self.model, "temperature", None)
        temperature = own if temperature is None or "temperature" not in self._fields else temperature
        if temperature is not None:
            options["temperature"] = temperature
        options |= {"max_tokens": limits} if limits and not self.unlimited else {}
        reasoning = passing_reasoning(self.model, messages)
        messages = self._for_server(messages)
        without = set(self.refused)
        while True:
            if tools and "tools" in without:
                self.refused.add("tools")
                raise ToolsRefused("the model's server does not support tool calls")
            sent = {name: value for name, value in options.items() if name not in without}
            passed = {name: sent[name] for name in ("seed", "stop") if name in sent} | reasoning
            fields: dict[str, Any] = {"streaming": False} if "stream" in without else {}
            if sent.get("temperature") != own:
                fields["temperature"] = sent.get("temperature")
            if "max_tokens" in sent and limits:
                fields, passed = fields | limits.fields, passed | limits.options
            if self._seed_is_field and "seed" in passed:
                fields["seed"] = passed.pop("seed")
            model = self.model.model_copy(update=fields) if fields else self.model
            try:
                choice = {"tool_choice": sent["tool_choice"]} if "tool_choice" in sent else {}
                bound = model.bind_tools(tools, **choice) if tools else model
                reply = await bound.ainvoke(messages, config, **passed)
            except (GraphBubbleUp, ReflexionError, asyncio.CancelledError):
                raise
            except Exception as error:
                if is_bug(error):
                    raise
                if broken := invalid_call(error):
                    note("a call's arguments were no JSON object; what the reply has cost is unknown")
                    return broken
                refused = refused_option(error, list(sent))
                if refused is None:
                    raise to_fault(error, self._secrets) from error
                without.add(refused)
            else:
                # Now it is certain that these options were the reason.
                self.refused |= without
                if not isinstance(reply, AIMessage):
                    raise ModelFault(f"the model's reply has the role of a {reply.type}")
                return storable(bounded(reply))


class CallsOf(BaseCallbackHandler):
    """A LangChain callback that enters the calls of a library in the account of the node that is running.

    Args:
        call: Their id.
    """

    run_inline = True  # in the node's context, which has the account

    def __init__(self, call: CallId) -> None:
        self._call = call
        self._begun: dict[UUID, ModelCall] = {}

    def on_chat_model_start(
        self, serialized: Any, messages: list[list[BaseMessage]], *, run_id: UUID, **more: Any
    ) -> None:
        tools = more.get("invocation_params", {}).get("tools") or ()
        self._begun[run_id] = begin_call(self._call, messages[0], tools)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **more: Any) -> None:
        generation = response.generations[0][0]
        if isinstance(generation, ChatGeneration) and isinstance(generation.message, AIMessage):
            self._begun[run_id].reply = storable(bounded(generation.message))


def name_of(model: BaseChatModel) -> str:
    """Return a model's name on its server, or else its class."""
    names = [getattr(model, attribute, None) for attribute in ("model_name", "model", "_llm_type")]
    return next((str(name) for name in names if name), type(model).__name__)
