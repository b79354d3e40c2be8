"""The slots of a model server: a call waits here for its turn, so that its timeout begins when it is sent."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import httpx
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.language_models import BaseChatModel

from langgraph_reflexion.support.retries import WAITING
from langgraph_reflexion.support.secrets import public_url

SECONDS_TO_ASK = 5.0
"""Time for the server to name its slots, or to say that it is at work."""

PATIENCE = 10
"""Time-outs that a call may last in all, however slowly its reply arrives."""


class Slots:
    """The calls that may be in flight at once: no more than the server answers at once.

    A provider's model, which has no server of its own, may have any number. llama.cpp's server names its slots at
    `/props`. Of other servers the number is unknown. When a call times out beside others, it may have waited in the
    server's queue, so half as many calls are sent from then on.

    Attributes:
        url: The server's address without secrets, for messages; empty if the model has none.
        most: Maximum number of calls in flight; None for any number.
        named: Whether the server has named them.
    """

    def __init__(self, model: BaseChatModel) -> None:
        self.url = public_url(_base_url(model)) or ""
        self.address = address_of(model)
        self.most: int | None = None
        self.named = False
        self._asked = False
        # A condition works in one event loop only, and is of no use once that loop has gone.
        self._turns: WeakKeyDictionary[Any, _Turns] = WeakKeyDictionary()

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """Hold a slot inside `async with`."""
        if not self.address:
            yield
            return
        loop = asyncio.get_running_loop()
        turns = self._turns.setdefault(loop, _Turns())
        async with turns.changed:
            # Under the lock, so that calls that begin at the same time ask the server once.
            if not self._asked:
                self.most = await self._slots()
                self.named = self.most is not None
                self._asked = True
            if self._full(turns):
                await self._turn(turns)
            turns.busy += 1
        try:
            yield
        finally:
            # Before the lock, as a cancellation may end the wait for it.
            turns.busy -= 1
            async with turns.changed:
                turns.changed.notify_all()

    async def _turn(self, turns: "_Turns") -> None:
        """Wait until a slot is free."""
        turns.waiting += 1
        WAITING.info("calls waiting for a slot: %d (slots: %d)", turns.waiting, self.most)
        try:
            await turns.changed.wait_for(lambda: not self._full(turns))
        finally:
            turns.waiting -= 1

    @asynccontextmanager
    async def watched(self, progress: Callable[[], None], seconds: float | None) -> AsyncIterator[None]:
        """Call `progress` inside `async with` for as long as the server answers other requests.

        Where slots are named, a silent call is being worked at: llama.cpp reads 2,048 tokens of a prompt at once.
        What silence means at other servers is unknown, so `progress` is not called there.

        Args:
            progress: Resets the call's deadline.
            seconds: The time limit of the call; None or 0 for none.
        """
        if not self.named or not seconds:
            yield
            return
        watch = asyncio.create_task(self._watch(progress, seconds))
        try:
            yield
        finally:
            watch.cancel()

    async def _watch(self, progress: Callable[[], None], seconds: float) -> None:
        # Twice in each timeout, so that one lost answer does not end the call.
        pause = seconds / 2
        patience = min(SECONDS_TO_ASK, pause / 2)
        pauses = 0
        while True:
            await asyncio.sleep(pause)
            pauses += 1
            try:
                async with httpx.AsyncClient(timeout=patience) as client:
                    await client.get(f"{self.address}/health")
            except httpx.HTTPError:
                continue
            progress()
            WAITING.info("%.0f s: the server is at work, and silent", pauses * pause)

    def timed_out(self) -> None:
        """Send fewer calls at once from now on, if this one was not alone."""
        busy = sum(turns.busy for turns in self._turns.values())
        # A call alone cannot have waited for another one.
        if busy <= 1:
            return
        at_once = busy
        if self.most is not None:
            # More may be busy than are allowed now: calls that began before the number was halved.
            at_once = min(busy, self.most)
        self.most = max(1, at_once // 2)
        WAITING.info("a call timed out: no more than %d at once from now on", self.most)

    def _full(self, turns: "_Turns") -> bool:
        return self.most is not None and turns.busy >= self.most

    async def _slots(self) -> int | None:
        """Return the number of slots that the server names; None if it names none."""
        try:
            async with asyncio.timeout(SECONDS_TO_ASK), httpx.AsyncClient() as client:
                answer = await client.get(f"{self.address}/props")
                named = answer.raise_for_status().json()["total_slots"]
        # Another server than llama.cpp may answer anything.
        except (httpx.HTTPError, TimeoutError, RecursionError, ValueError, TypeError, KeyError):
            return None
        # Not `isinstance`: True is not a number of slots.
        if type(named) is int and named > 0:
            return named
        return None


class _Turns:
    """The calls of one event loop."""

    def __init__(self) -> None:
        self.busy = 0
        self.waiting = 0
        self.changed = asyncio.Condition()


def address_of(model: BaseChatModel) -> str:
    """Return the address of a model's own server, without its path; empty for a provider's."""
    url = urlsplit(_base_url(model))
    official = (url.hostname or "").endswith("api.openai.com")
    if official or not url.netloc:
        return ""
    return f"{url.scheme}://{url.netloc}"


def _base_url(model: BaseChatModel) -> str:
    for name in ("openai_api_base", "base_url"):
        url = getattr(model, name, None)
        if url:
            return str(url)
    return ""


class Progress(AsyncCallbackHandler):
    """Resets a call's deadline with each piece of its reply, and when its server is seen at work.

    No call lasts longer than `PATIENCE` timeouts: a server may send pieces for ever.
    """

    def __init__(self, deadline: asyncio.Timeout, seconds: float | None) -> None:
        self._deadline = deadline
        self._seconds = seconds or 0.0
        self._last = _now() + PATIENCE * self._seconds

    @property
    def ignore_chat_model(self) -> bool:
        # Otherwise LangChain would write out each prompt as one text, for `on_llm_start`.
        return True

    async def on_llm_new_token(self, *_: Any, **__: Any) -> None:
        self.seen()

    def seen(self) -> None:
        """Give the call as much time again, up to its last moment."""
        if not self._seconds or self._deadline.expired():
            return
        deadline = min(_now() + self._seconds, self._last)
        self._deadline.reschedule(deadline)

    def late(self) -> str:
        """Say why the deadline was missed."""
        if self._deadline.when() == self._last:
            return f"the model's reply did not end within {PATIENCE * self._seconds:g} seconds"
        return f"no part of the model's reply arrived within {self._seconds:g} seconds"


def _now() -> float:
    """Return the time on the clock of the event loop, by which its deadlines are set."""
    return asyncio.get_running_loop().time()
