"""The workers of a run as its driver sees them: which trial each of them runs, and what replaces one that is lost."""

import asyncio
import json
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langgraph_reflexion.budgets import Spent
from langgraph_reflexion.errors import WorkersLost
from langgraph_reflexion.experiments.budgets import SharedBudgets
from langgraph_reflexion.experiments.messages import Link, LinkLost, encode, error_from
from langgraph_reflexion.experiments.rows import Finished
from langgraph_reflexion.experiments.task_run import Standing, TaskRun
from langgraph_reflexion.settings import RunSettings

_log = logging.getLogger(__name__)

MOST_LOSSES = 3
"""The number of workers lost in a row, before they start or on the same task, that ends the run."""


@dataclass(eq=False)
class Asked:
    """A trial that a worker was asked for.

    Attributes:
        run: Its task.
        answer: The trial, once it is finished.
        got_on: Whether the worker has said anything about it.
    """

    run: TaskRun
    answer: asyncio.Future[Finished] = field(default_factory=asyncio.Future)
    got_on: bool = False


@dataclass(eq=False)
class Member:
    """A worker.

    Attributes:
        link: What it is spoken to by.
        ready: Whether it has begun to work.
        asked: The trials that it was asked for, by task.
    """

    link: Link
    ready: bool = False
    asked: dict[str, Asked] = field(default_factory=dict)


class Crew:
    """Workers that advance tasks. They are started when the first task is advanced, and replaced when they are lost.

    Args:
        open_link: Starts a worker.
        size: How many there are.
        share: How many tasks each of them advances at once.
        start: The first message to a worker; see `starting`.
        budgets: The run's.
        on_action: Called after every action.
    """

    def __init__(
        self,
        open_link: Callable[[], Awaitable[Link]],
        size: int,
        share: int,
        start: dict[str, Any],
        budgets: SharedBudgets,
        on_action: Callable[[], None],
    ) -> None:
        self._open_link = open_link
        self._size, self._share = size, share
        self._start = start
        self._budgets = budgets
        self._on_action = on_action
        self._members: list[Member] = []
        self._serving: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self._failure: Exception | None = None
        self._answered: list[bool] = [False] * start["models"]
        self._stillborn = 0

    async def __aenter__(self) -> "Crew":
        return self

    async def __aexit__(self, *exception: object) -> None:
        for each in self._serving:
            each.cancel()
        if self._serving:
            await asyncio.wait(self._serving)

    async def advance(self, run: TaskRun) -> Finished:
        """Have a task's next trial run, by another worker where one is lost. See `TaskRun.advance`.

        Raises:
            TaskError: the task has met a bug.
            WorkersLost: every worker that advances this task is lost.
        """
        losses = 0
        while True:
            member = await self._free()
            asked = member.asked[run.task["id"]] = Asked(run)
            try:
                spent = self._budgets.spent(run.task["id"], run.config)
                told = {"task": run.task["id"], "standing": run.standing, "spent": spent, "news": self._news()}
                member.link.tell(encode("advance", **told))
                return await asked.answer
            except LinkLost as lost:
                losses = 1 if asked.got_on else losses + 1
                if losses == MOST_LOSSES:
                    raise WorkersLost(
                        f"{losses} workers were lost in a row while they advanced {run.task['id']} ({lost})"
                    ) from None
            finally:
                del member.asked[run.task["id"]]
                self._changed.set()

    async def _free(self) -> Member:
        """The worker that has least to do, once there is one that can do more."""
        while len(self._serving) < self._size and not self._failure:
            self._hire()
        while True:
            if self._failure:
                raise self._failure
            open_ones = [each for each in self._members if each.ready and len(each.asked) < self._share]
            if open_ones:
                return min(open_ones, key=lambda member: len(member.asked))
            self._changed.clear()
            await self._changed.wait()

    def _hire(self) -> None:
        task = asyncio.ensure_future(self._serve())
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _serve(self) -> None:
        """One worker after the other, each until it is lost."""
        while self._failure is None:
            try:
                member = Member(await self._open_link())
            except Exception as error:
                self._fail(error)
                return
            self._members.append(member)
            try:
                member.link.tell(encode("start", news=self._news(), **self._start))
                while True:
                    for message in await member.link.listen():
                        self._hear(member, json.loads(message))
            except LinkLost as lost:
                self._lose(member, lost)
            except Exception as error:
                self._fail(error)
            finally:
                self._members.remove(member)
                await _to_the_end(member.link.close())

    def _lose(self, member: Member, lost: LinkLost) -> None:
        _log.warning("a worker is lost (%s): another one takes its %d tasks up", lost, len(member.asked))
        self._stillborn = 0 if member.ready else self._stillborn + 1
        if self._stillborn == MOST_LOSSES:
            self._fail(WorkersLost(f"{self._stillborn} workers were lost in a row while they started ({lost})"))
        for asked in member.asked.values():
            if not asked.answer.done():
                asked.answer.set_exception(lost)

    def _hear(self, member: Member, said: dict[str, Any]) -> None:
        asked = member.asked.get(said.get("task") or "")
        match said["what"]:
            case "ready":
                member.ready = True
            case "failed":
                error = error_from(said["error"])
                if asked and not asked.answer.done():
                    asked.answer.set_exception(error)
                elif said["task"] is None:
                    raise error
            case "news" if asked:
                asked.got_on = True
                asked.run.answered = asked.run.answered or said["counts"]
                self._spread(asked.run, said, member)
                for _ in range(said["actions"]):
                    self._on_action()
            case "finished" if asked and not asked.answer.done():
                asked.run.standing = Standing(*said["standing"])
                asked.answer.set_result(Finished(said["row"], said["trajectory"], said["files"]))
        self._changed.set()

    def _spread(self, run: TaskRun, said: dict[str, Any], source: Member) -> None:
        """Take what a worker has to tell into account, and tell the others where it matters to them."""
        before = self._answered
        self._budgets.account(run.task["id"], run.config, Spent(*said["spent"]))
        self._answered = [any(pair) for pair in zip(before, said["answered"], strict=True)]
        if self._budgets.limits_run or self._answered != before:
            for member in self._members:
                if member is not source and member.ready:
                    member.link.tell(encode("news", news=self._news()))

    def _news(self) -> dict[str, Any]:
        return {"spent": self._budgets.total, "seconds": self._budgets.seconds, "answered": self._answered}

    def _fail(self, error: Exception) -> None:
        self._failure = self._failure or error
        for member in self._members:
            for asked in member.asked.values():
                if not asked.answer.done():
                    asked.answer.set_exception(error)
        self._changed.set()


async def _to_the_end(work: Coroutine[Any, Any, None]) -> None:
    """Do it even if whoever waits for it is cancelled meanwhile: a worker that is being closed must not be left."""
    doing, cancelled = asyncio.ensure_future(work), None
    while not doing.done():
        try:
            await asyncio.wait([doing])
        except asyncio.CancelledError as error:
            cancelled = error
    doing.result()
    if cancelled:
        raise cancelled


def starting(settings: RunSettings, run_id: str, checkpoints: Path, models: int) -> dict[str, Any]:
    """Return the first message to a worker.

    Args:
        settings: The run's, resolved.
        run_id: Names its checkpoints.
        checkpoints: The file that they are in, unless they are in a database.
        models: How many models there are whose answers are watched.
    """
    # The command line has put the folder that the user is in among the paths, perhaps as an empty one.
    paths = [os.path.abspath(path) for path in sys.path]
    return {
        "settings": settings.model_dump(mode="json"),
        "run_id": run_id,
        "checkpoints": str(checkpoints.absolute()),
        "models": models,
        "paths": paths,
    }
