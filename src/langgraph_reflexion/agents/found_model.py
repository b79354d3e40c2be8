"""The model of an agent with the middleware, which is known once the agent has called it."""

import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, NamedTuple, TypeVar
from uuid import uuid4

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.models.calls import CallId, Reply
from langgraph_reflexion.models.client import NO_MODEL, Client
from langgraph_reflexion.models.options import ModelOptions

T = TypeVar("T")

MOST_MODELS = 1000
"""Models that are remembered, the newest ones: a service may make one for each of its users."""


class _Chosen(NamedTuple):
    """The model of a run: its name, and the client, if this process knows the name."""

    name: str | None = None
    client: Client | None = None


class FoundModelClient(Client):
    """Calls the model that the agent has called itself, in each run that of the run.

    Several runs may go on at once, and other middleware may give each another model, with a key of its own.

    Args:
        options: How it is called.
        priced: Whether its price must be known, for a budget of money.
    """

    def __init__(self, options: ModelOptions, *, priced: bool = False) -> None:
        super().__init__(None, options, priced=priced, answered=True)
        # By names, which a state may hold.
        self._clients: OrderedDict[str, Client] = OrderedDict()
        self._lock = threading.Lock()
        self._chosen: ContextVar[_Chosen | None] = ContextVar("chosen", default=None)

    def found(self, model: BaseChatModel) -> str:
        """Remember a model that the agent calls, and return the name under which `choose` finds it.

        Raises:
            ConfigurationError: a budget of money needs its price.
        """
        # Agents that are called synchronously may run in several threads.
        with self._lock:
            for name, client in self._clients.items():
                if client.given is model:
                    self._clients.move_to_end(name)
                    return name
            name = uuid4().hex
            self._clients[name] = self.for_model(model)
            if len(self._clients) > MOST_MODELS:
                self._clients.popitem(last=False)
            return name

    def choose(self, name: str | None) -> None:
        """Call this model in what follows in this context.

        Args:
            name: Its name; None if the run has called none yet.
        """
        with self._lock:
            client = self._clients.get(name or "")
            if client is not None and name:
                # Its run goes on, so it is not the next one to be forgotten.
                self._clients.move_to_end(name)
        self._chosen.set(_Chosen(name, client))

    def knows(self, name: str | None) -> bool:
        """Return whether there is a model of this name; one of another process has a name of that process."""
        with self._lock:
            return name in self._clients

    @property
    def _client(self) -> Client:
        chosen = self._chosen.get() or _Chosen()
        if chosen.client is not None:
            return chosen.client
        # The run has called none yet, or this is work outside of any run, such as learning later. Where all runs have
        # the same model, it is that one. A run that has called another, which is not known here, has none.
        with self._lock:
            known = list(self._clients.values())
        if chosen.name is None and len(known) == 1:
            return known[0]
        raise ConfigurationError(NO_MODEL)

    @property
    def name(self) -> str:
        return self._client.name

    @property
    def model(self) -> Any:
        return self._client.model

    @property
    def replied(self) -> bool:
        return self._client.replied

    @property
    def has_own_server(self) -> bool:
        return self._client.has_own_server

    async def ask(self, messages: list[BaseMessage], config: RunnableConfig, call: CallId, **options: Any) -> Reply:
        return await self._client.ask(messages, config, call, **options)

    async def lend(
        self,
        work: Callable[[BaseChatModel, RunnableConfig], Awaitable[T]],
        config: RunnableConfig,
        call: CallId,
        *,
        own_models: bool = False,
    ) -> T:
        return await self._client.lend(work, config, call, own_models=own_models)
