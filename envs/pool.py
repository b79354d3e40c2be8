"""The pool of live episodes, which the graph's state cannot hold.

The state holds the actions of a trial; the pool returns the episode of a task in which exactly these actions were
taken: a live one if there is one, else one that is rebuilt by replay or from a snapshot. So resuming after a crash or
on another machine, forking and time travel are one code path.
"""

import asyncio
import logging
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar

from langgraph_reflexion.envs.base import Action, Environment, Episode, StepResult, Task
from langgraph_reflexion.errors import EnvironmentFault, EpisodeLost
from langgraph_reflexion.retries import Retries
from langgraph_reflexion.sync import to_thread

_T = TypeVar("_T")
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Live:
    task: Task
    actions: list[Action]
    episode: Episode


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
        """Prepare a task; see `Environment.prepare`."""
        return await self._tried(task, lambda: self.environment.prepare(task))

    async def start(self, task: Task) -> tuple[str, dict[str, Any] | None]:
        """Start a fresh episode, and return its first observation and its snapshot, if any."""

        def begin() -> tuple[Episode, dict[str, Any] | None]:
            episode = self.environment.start(task)
            with self._closed_on_error(episode):
                return episode, episode.snapshot()

        episode, snapshot = await self._tried(task, begin, self._close_first)
        await self._keep(_Live(task, [], episode))
        return episode.observation, snapshot

    async def step(
        self, task: Task, actions: list[Action], action: Action, snapshot: dict[str, Any] | None = None
    ) -> Stepped:
        """Take an action in the episode of this task in which exactly `actions` were taken, or of the snapshot.

        Raises:
            EnvironmentFault: the environment failed. The episode is closed, and rebuilt the next time.
            EpisodeLost: it is not live any more, and cannot be rebuilt.
        """

        def advance() -> tuple[Episode, Stepped]:
            live = self._take(task, actions)
            episode = live.episode if live else self._rebuild(task, actions, snapshot)
            with self._closed_on_error(episode):
                result = _checked(episode.step(action))
                return episode, Stepped(result, episode.snapshot())

        episode, stepped = await self._tried(task, advance, self._close_first)
        await self._keep(_Live(task, [*actions, action], episode))
        return stepped

    async def borrow(self, task: Task, actions: list[Action], snapshot: dict[str, Any] | None = None) -> Episode:
        """Take the episode with this history out of the pool, live or rebuilt, to use it and `give_back` it."""

        def found() -> Episode:
            live = self._take(task, actions)
            return live.episode if live else self._rebuild(task, actions, snapshot)

        return await self._tried(task, found, self._close)

    async def give_back(self, task: Task, actions: list[Action], episode: Episode) -> None:
        """Keep an episode that was borrowed, in which exactly `actions` were taken."""
        await self._keep(_Live(task, actions, episode))

    async def finalize(
        self, task: Task, actions: list[Action], snapshot: dict[str, Any] | None = None
    ) -> StepResult | None:
        """Evaluate the episode with this history, whose trial was stopped; see `Episode.finalize`."""
        if self.environment.episode.finalize is Episode.finalize:
            return None

        def finalized() -> tuple[Episode, StepResult | None]:
            live = self._take(task, actions)
            episode = live.episode if live else self._rebuild(task, actions, snapshot)
            with self._closed_on_error(episode):
                result = episode.finalize()
                return episode, None if result is None else _checked(result)

        episode, result = await self._tried(task, finalized, self._close_first)
        await self._keep(_Live(task, actions, episode))
        return result

    async def release(self, task: Task, actions: list[Action]) -> None:
        """Close the live episode with this history, if any. A failure to close is logged."""
        if live := self._take(task, actions):
            await self._let_go(live)

    def close(self) -> None:
        """Close every live episode."""
        while self._live:
            self._close(self._live.pop().episode)

    def _rebuild(self, task: Task, actions: list[Action], snapshot: dict[str, Any] | None) -> Episode:
        if snapshot is not None:
            return self.environment.restore(task, snapshot)
        if actions and not self.environment.replayable:
            raise EpisodeLost(task["id"], len(actions))
        episode = self.environment.start(task)
        with self._closed_on_error(episode):
            for action in actions:
                episode.step(action)
        return episode

    def _take(self, task: Task, actions: list[Action]) -> _Live | None:
        with self._lock:
            for index, live in enumerate(self._live):
                # Two tasks may have the same id, such as a task and its edited copy.
                if live.actions == actions and live.task == task:
                    return self._live.pop(index)
        return None

    async def _keep(self, live: _Live) -> None:
        with self._lock:
            self._live.append(live)
            surplus, self._live = self._live[: -self.size], self._live[-self.size :]
        for each in surplus:
            await self._let_go(each)

    async def _let_go(self, live: _Live) -> None:
        try:
            blocks = self.environment.blocks(live.task)
        except Exception:  # its task cannot be read any more
            blocks = True
        if blocks:
            await in_thread(partial(self._close, live.episode), None)
        else:
            self._close(live.episode)

    def _close(self, episode: Episode) -> None:
        # An episode that does not close must not fail a trial.
        try:
            episode.close()
        except Exception:
            _log.warning("an episode of %s could not be closed", self.environment.name, exc_info=True)

    def _close_first(self, result: tuple[Episode, Any]) -> None:
        self._close(result[0])

    @contextmanager
    def _closed_on_error(self, episode: Episode) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._close(episode)
            raise

    async def _tried(self, task: Task, call: Callable[[], _T], undo: Callable[[_T], None] | None = None) -> _T:
        return await self.retries(lambda: self._run(task, call, undo))

    async def _run(self, task: Task, call: Callable[[], _T], undo: Callable[[_T], None] | None) -> _T:
        try:
            return await in_thread(call, undo) if self.environment.blocks(task) else call()
        except OSError as error:
            # Any exception but OSError is a bug in the environment, and is raised as it is.
            raise EnvironmentFault(f"{self.environment.name} failed: {type(error).__name__}: {error}") from error


def _checked(result: object) -> StepResult:
    if not isinstance(result, StepResult):
        raise TypeError(f"a step must return a StepResult, not {result!r}")
    if result.reward is not None and not math.isfinite(result.reward):
        raise ValueError(f"a reward must be a finite number, not {result.reward!r}")
    return result


async def in_thread(call: Callable[[], _T], undo: Callable[[_T], None] | None) -> _T:
    """Make the call in a thread; if the caller is cancelled, undo it as soon as it returns."""
    lock = threading.Lock()
    done: list[_T] = []
    abandoned = False

    def work() -> _T:
        result = call()
        with lock:
            done.append(result)
            if abandoned and undo is not None:
                undo(result)
        return result

    try:
        return await to_thread(work)
    except asyncio.CancelledError:
        with lock:
            abandoned = True
            if done and undo is not None:
                undo(done[0])
        raise
