"""The pool of live episodes, which the graph's state cannot hold.

The state holds the actions of a trial; the pool returns the trial's episode in which exactly these were taken: a live
one if there is one, else one that is rebuilt by replay or from a snapshot. So resuming after a crash or on another
machine, forking and time travel are one code path. A key tells the trials of several runs of one task apart, whose
episodes may differ after the same actions.
"""

import logging
import math
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar

from langgraph_reflexion.envs.base import Action, Environment, Episode, StepResult, Task
from langgraph_reflexion.envs.episode import has_coroutines
from langgraph_reflexion.envs.protocols import SupportsGoOn, SupportsRestore, blocks, is_replayable, prepare
from langgraph_reflexion.errors import EnvironmentFault, EpisodeLost, Fault, is_trouble
from langgraph_reflexion.support.langgraph import Pause
from langgraph_reflexion.support.retries import Retries
from langgraph_reflexion.support.sync import drive, finished, in_thread, on_background, resolved, run_blocking

_T = TypeVar("_T")
_Work = Callable[[], Coroutine[Any, Any, _T]]
_Undo = Callable[[_T], Coroutine[Any, Any, None]]
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Live:
    task: Task
    actions: list[Action]
    episode: Episode
    key: str


class Stepped(NamedTuple):
    """The result of `EpisodePool.step`."""

    result: StepResult
    snapshot: dict[str, Any] | None


class EpisodePool:
    """The live episodes of one environment, found by their history.

    Args:
        environment: The environment.
        retries: The retries after transient faults, none by default. Each attempt starts from the same history,
            rebuilt.
        size: The maximum number of live episodes. The least recently used is closed first, and rebuilt when needed.
    """

    def __init__(self, environment: Environment, retries: Retries | None = None, size: int = 512) -> None:
        self.environment = environment
        self.retries = retries or Retries(attempts=1)
        self.size = size
        self._live: list[_Live] = []
        # A graph may run on several event loops at once, each in its own thread.
        self._lock = threading.Lock()

    async def prepare(self, task: Task) -> dict[str, Any]:
        """Prepare a task; see `SupportsPrepare`."""
        return await self._tried(task, lambda: resolved(prepare(self.environment, task)))

    async def start(self, task: Task, *, key: str = "") -> tuple[str, dict[str, Any] | None]:
        """Start a fresh episode, and return its first observation and its snapshot, if any.

        Args:
            task: The task.
            key: The trial's, by which its episode is found again.
        """

        async def begin() -> tuple[Episode, dict[str, Any] | None]:
            episode = await resolved(self.environment.start(task))
            async with self._closed_on_error(episode):
                snapshot = await resolved(episode.snapshot())
            return episode, snapshot

        episode, snapshot = await self._tried(task, begin, self._close_first)
        await self._keep(_Live(task, [], episode, key))
        return episode.observation, snapshot

    async def go_on(self, task: Task, snapshot: dict[str, Any], *, key: str = "") -> dict[str, Any] | None:
        """Start an episode where that of an earlier trial has ended, and return its snapshot; see `SupportsGoOn`."""

        async def begin() -> tuple[Episode, dict[str, Any] | None]:
            environment = self.environment
            if not isinstance(environment, SupportsGoOn):
                raise NotImplementedError(f"an episode of {environment.name} ends for good")
            episode = await resolved(environment.go_on(task, snapshot))
            async with self._closed_on_error(episode):
                after = await resolved(episode.snapshot())
            return episode, after

        episode, after = await self._tried(task, begin, self._close_first)
        await self._keep(_Live(task, [], episode, key))
        return after

    async def step(
        self,
        task: Task,
        actions: list[Action],
        action: Action,
        snapshot: dict[str, Any] | None = None,
        *,
        key: str = "",
    ) -> Stepped:
        """Take an action in the episode of this task in which exactly `actions` were taken, or of the snapshot.

        Raises:
            EnvironmentFault: the environment failed. The episode is closed, and rebuilt the next time.
            EpisodeLost: it is not live any more, and cannot be rebuilt.
        """

        async def advance() -> tuple[Episode, Stepped]:
            episode = await self._find(task, actions, snapshot, key)
            before = _Live(task, actions, episode, key)
            async with self._closed_on_error(episode, paused=before):
                result = _checked(await resolved(episode.step(action)))
                after = await resolved(episode.snapshot())
            return episode, Stepped(result, after)

        episode, stepped = await self._tried(task, advance, self._close_first)
        await self._keep(_Live(task, [*actions, action], episode, key))
        return stepped

    async def borrow(
        self, task: Task, actions: list[Action], snapshot: dict[str, Any] | None = None, *, key: str = ""
    ) -> Episode:
        """Take the episode with this history out of the pool, live or rebuilt, to use it and `give_back` it."""
        find = partial(self._find, task, actions, snapshot, key)
        return await self._tried(task, find, self._close)

    async def give_back(self, task: Task, actions: list[Action], episode: Episode, *, key: str = "") -> None:
        """Keep an episode that was borrowed, in which exactly `actions` were taken."""
        await self._keep(_Live(task, actions, episode, key))

    async def finalize(
        self, task: Task, actions: list[Action], snapshot: dict[str, Any] | None = None, *, key: str = ""
    ) -> StepResult | None:
        """Evaluate the episode with this history, whose trial was stopped; see `Episode.finalize`."""
        # Nothing to evaluate, so that no episode needs to be rebuilt.
        if self.environment.episode.finalize is Episode.finalize:
            return None

        async def finalized() -> tuple[Episode, StepResult | None]:
            episode = await self._find(task, actions, snapshot, key)
            async with self._closed_on_error(episode):
                result = await resolved(episode.finalize())
                if result is not None:
                    result = _checked(result)
            return episode, result

        episode, result = await self._tried(task, finalized, self._close_first)
        await self._keep(_Live(task, actions, episode, key))
        return result

    async def release(self, task: Task, actions: list[Action], *, key: str = "") -> None:
        """Close the live episode with this history, if any. A failure to close is logged."""
        live = self._take(task, actions, key)
        if live is not None:
            await self._let_go(live)

    def close(self) -> None:
        """Close every live episode, from synchronous code."""
        run_blocking(self.aclose())

    async def aclose(self) -> None:
        """Close every live episode."""
        while self._live:
            await self._let_go(self._live.pop())

    async def _find(self, task: Task, actions: list[Action], snapshot: dict[str, Any] | None, key: str) -> Episode:
        live = self._take(task, actions, key)
        if live is not None:
            return live.episode
        if snapshot is not None:
            return await self._restored(task, snapshot)
        if actions and not is_replayable(self.environment):
            raise EpisodeLost(task["id"], len(actions))
        episode = await resolved(self.environment.start(task))
        async with self._closed_on_error(episode):
            for action in actions:
                await resolved(episode.step(action))
        return episode

    async def _restored(self, task: Task, snapshot: dict[str, Any]) -> Episode:
        if not isinstance(self.environment, SupportsRestore):
            raise NotImplementedError(f"episodes of {self.environment.name} are rebuilt by replaying their actions")
        return await resolved(self.environment.restore(task, snapshot))

    def _take(self, task: Task, actions: list[Action], key: str) -> _Live | None:
        with self._lock:
            for index, live in enumerate(self._live):
                # Two tasks may have the same id, such as a task and its edited copy.
                if live.key == key and live.actions == actions and live.task == task:
                    return self._live.pop(index)
        return None

    async def _keep(self, live: _Live) -> None:
        with self._lock:
            self._live.append(live)
            # The least recently used come first.
            surplus = self._live[: -self.size]
            self._live = self._live[-self.size :]
        for each in surplus:
            await self._let_go(each)

    async def _let_go(self, live: _Live) -> None:
        try:
            in_a_thread = blocks(self.environment, live.task)
        except Exception:
            # The task cannot be read any more. A thread is right in either case.
            in_a_thread = True
        await self._run(partial(self._close, live.episode), in_a_thread)

    async def _close(self, episode: Episode) -> None:
        # An episode that does not close must not fail a trial.
        try:
            await resolved(episode.close())
        except Exception:
            _log.warning("an episode of %s could not be closed", self.environment.name, exc_info=True)

    async def _close_first(self, result: tuple[Episode, Any]) -> None:
        episode, _ = result
        await self._close(episode)

    @asynccontextmanager
    async def _closed_on_error(self, episode: Episode, paused: _Live | None = None) -> AsyncIterator[None]:
        try:
            yield
        except BaseException as error:
            if paused and isinstance(error, Pause):
                # The action asks a person, and is taken in this episode once there is an answer.
                with self._lock:
                    self._live.append(paused)
            else:
                await self._close(episode)
            raise

    async def _tried(self, task: Task, work: _Work[_T], undo: _Undo[_T] | None = None) -> _T:
        ended: Fault | None = None

        async def attempt() -> _T:
            nonlocal ended
            try:
                return await self._run(work, blocks(self.environment, task), undo)
            except EpisodeLost:
                if ended is None:
                    raise
                # The fault before it closed the episode. Starting over might meet it again, without end.
                raise EnvironmentFault(str(ended), transient=False) from ended
            except Fault as fault:
                ended = fault
                raise
            except Exception as error:
                if not is_trouble(error):
                    raise
                ended = EnvironmentFault(f"{self.environment.name} failed: {type(error).__name__}: {error}")
                raise ended from error

        return await self.retries(attempt)

    async def _run(self, work: _Work[_T], in_a_thread: bool, undo: _Undo[_T] | None = None) -> _T:
        """Run what calls the environment: on the background loop, in a thread, or right here."""
        if is_asynchronous(self.environment):
            return await on_background(work, undo)
        if not in_a_thread:
            return await work()
        if undo is None:
            return await in_thread(lambda: drive(work()))
        return await in_thread(lambda: drive(work()), lambda result: drive(undo(result)))


def is_asynchronous(environment: Environment) -> bool:
    """Return whether a method that the graph calls is a coroutine function, of the environment or its episodes.

    Then all of them are called on the background event loop, where whatever blocks must be awaited.
    """
    return has_coroutines(type(environment)) or has_coroutines(environment.episode)


def call_blocking(environment: Environment, method: Callable[..., _T | Awaitable[_T]], *args: Any) -> _T:
    """Call a method of an environment or its episodes from synchronous code, where the pool would call it."""
    if not is_asynchronous(environment):
        return finished(method(*args))

    async def called() -> _T:
        return await resolved(method(*args))

    return run_blocking(called())


def _checked(result: object) -> StepResult:
    if not isinstance(result, StepResult):
        raise TypeError(f"a step must return a StepResult, not {result!r}")
    if result.reward is not None and not math.isfinite(result.reward):
        raise ValueError(f"a reward must be a finite number, not {result.reward!r}")
    return result
