"""Bridges between synchronous and asynchronous code: a background event loop, and calls in threads."""

import asyncio
import contextlib
import inspect
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from contextvars import ContextVar, copy_context
from typing import Any, Generic, TypeVar

T = TypeVar("T")


_called_off: ContextVar[threading.Event | None] = ContextVar("called_off", default=None)
"""Set once the caller of `to_thread` or `to_own_thread` has been cancelled; None outside of such a call."""


async def to_thread(function: Callable[..., T], *args: Any) -> T:
    """Call a function in a thread. A `StopIteration`, which no future can hold, becomes a `RuntimeError`.

    If the caller is cancelled, the thread goes on; long work in it asks `is_called_off` whether to give up.
    """
    called_off = threading.Event()
    try:
        return await asyncio.to_thread(_called, called_off, function, *args)
    except asyncio.CancelledError:
        called_off.set()
        raise


def is_called_off() -> bool:
    """Return whether nobody waits any more for the call of `to_thread` that this is a part of."""
    called_off = _called_off.get()
    return called_off is not None and called_off.is_set()


async def to_own_thread(function: Callable[..., T], *args: Any) -> T:
    """Call a function as `to_thread` does, in a thread that is left behind if the caller is cancelled.

    The threads of `asyncio.to_thread` are few, and the process waits for them at its end: functions that hang would
    hold up all others, and then the end.
    """
    returned: Future[T] = Future()
    # Otherwise the caller's cancellation would cancel it, and the thread could not set its result.
    returned.set_running_or_notify_cancel()

    called_off = threading.Event()

    def call() -> None:
        try:
            result = _called(called_off, function, *args)
        except BaseException as error:
            returned.set_exception(error)
            return
        returned.set_result(result)

    context = copy_context()
    threading.Thread(target=context.run, args=(call,), daemon=True).start()
    try:
        return await asyncio.wrap_future(returned)
    except asyncio.CancelledError:
        called_off.set()
        raise


def _called(called_off: threading.Event, function: Callable[..., T], *args: Any) -> T:
    # The thread has a context of its own.
    _called_off.set(called_off)
    try:
        return function(*args)
    except StopIteration as error:
        name = getattr(function, "__name__", "the function")
        raise RuntimeError(f"{name} raised StopIteration") from error


class _Background(threading.Thread):
    """An event loop in its own thread, for all synchronous calls of the process."""

    def __init__(self) -> None:
        super().__init__(name="langgraph-reflexion", daemon=True)
        self.loop = asyncio.new_event_loop()
        self.starting = threading.Lock()

    def run(self) -> None:
        while True:
            # An exit raised in a task also ends the loop. `_contained` passes it to the caller, and the loop
            # continues for the others.
            with contextlib.suppress(SystemExit, KeyboardInterrupt):
                self.loop.run_forever()


_background = _Background()


def _forget_background() -> None:
    """Replace the loop after a fork, which does not copy its thread."""
    global _background
    _background = _Background()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_background)


async def _contained(coroutine: Coroutine[Any, Any, T]) -> tuple[list[T], BaseException | None]:
    try:
        return [await coroutine], None
    except (SystemExit, KeyboardInterrupt) as leaving:
        return [], leaving


def _submit(coroutine: Coroutine[Any, Any, T]) -> "Future[T]":
    with _background.starting:
        if _background.ident is None:
            _background.start()
    return asyncio.run_coroutine_threadsafe(coroutine, _background.loop)


def run_blocking(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine from synchronous code, whether or not this thread runs an event loop.

    Raises:
        RuntimeError: it is called on the background loop itself, where it would deadlock.
    """
    if threading.current_thread() is _background:
        coroutine.close()
        raise RuntimeError(
            "graph.invoke was called inside a graph that runs synchronously, and would wait for itself: "
            "await graph.ainvoke there, or call graph.invoke in a thread"
        )
    future = _submit(_contained(coroutine))
    try:
        result, leaving = future.result()
    except BaseException:
        future.cancel()
        raise
    if leaving:
        raise leaving
    return result[0]


def finished(result: T | Awaitable[T]) -> T:
    """Return a result; an awaitable one is awaited on the background loop. For synchronous code."""
    if inspect.isawaitable(result):
        value: T = run_blocking(_awaited(result))
        return value
    return result


async def resolved(result: T | Awaitable[T]) -> T:
    """Return a result; an awaitable one is awaited on the background loop. Elsewhere, this blocks the thread."""
    if inspect.isawaitable(result) and threading.current_thread() is _background:
        return await result
    return finished(result)


async def _awaited(result: Awaitable[T]) -> T:
    return await result


def drive(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits, such as one that only awaits `resolved`, in a thread without a loop."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    raise RuntimeError(f"{coroutine} waits, and needs an event loop")


class _Handover(Generic[T]):
    """A result on its way to another thread, where the caller may have been cancelled meanwhile."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._given: list[T] = []
        self._abandoned = False

    def give(self, result: T) -> bool:
        """Hand a result over; return whether the caller still waits for it."""
        with self._lock:
            self._given.append(result)
            return not self._abandoned

    def abandon(self) -> list[T]:
        """Return the result that has been given and cannot be used any more, if any."""
        with self._lock:
            self._abandoned = True
            return self._given


async def in_thread(call: Callable[[], T], undo: Callable[[T], object] | None = None) -> T:
    """Make the call in a thread; if the caller is cancelled, undo it as soon as it returns."""
    handover = _Handover[T]()

    def work() -> T:
        result = call()
        if not handover.give(result) and undo:
            undo(result)
        return result

    try:
        return await to_thread(work)
    except asyncio.CancelledError:
        # No thread can be cancelled: if it has no result yet, it will undo the call itself.
        if undo:
            for result in handover.abandon():
                undo(result)
        raise


async def on_background(
    work: Callable[[], Coroutine[Any, Any, T]], undo: Callable[[T], Coroutine[Any, Any, object]] | None = None
) -> T:
    """Run a coroutine on the background loop, whichever loop awaits this.

    If the caller is cancelled, so is the coroutine; a result that comes too late for that is undone.
    """
    if threading.current_thread() is _background:
        return await work()
    handover = _Handover[T]()

    async def run() -> T:
        result = await work()
        if not handover.give(result) and undo:
            _submit(undo(result))
        return result

    try:
        result, leaving = await asyncio.wrap_future(_submit(_contained(run())))
    except asyncio.CancelledError:
        # The coroutine may have ended at the same moment.
        if undo:
            for late in handover.abandon():
                _submit(undo(late))
        raise
    if leaving:
        raise leaving
    return result[0]
