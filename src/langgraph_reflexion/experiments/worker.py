"""A worker of a run: it runs the trials that the driver asks for and reports how they ended.

It has an environment, models and a checkpointer of its own. What it is asked for it does from the checkpoint on
(`TaskRun.advance`), so that it holds nothing that is lost with it.
"""

import asyncio
import json
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any, cast

from langgraph_reflexion.budgets import Spent
from langgraph_reflexion.checkpoints import open_checkpointer
from langgraph_reflexion.experiments.messages import encode, error_as_json
from langgraph_reflexion.experiments.setup import Setup, open_connections, set_up
from langgraph_reflexion.experiments.task_locks import open_fence
from langgraph_reflexion.experiments.task_run import Standing, TaskRun
from langgraph_reflexion.experiments.tracing import tracing_as_asked
from langgraph_reflexion.memory.opening import open_lessons
from langgraph_reflexion.settings import RunSettings
from langgraph_reflexion.state import Strategy


class Worker:
    """Advances tasks, as many at once as it is asked for.

    Args:
        inbox: What the driver says arrives there.
        say: Sends the driver a message.

    Attributes:
        secrets: What must not be written down, once that is known.
    """

    def __init__(self, inbox: asyncio.Queue[str], say: Callable[[str], None]) -> None:
        self.secrets: list[str] = []
        self._inbox = inbox
        self._say = say

    async def serve(self) -> None:
        """Do what the driver asks for, until it says that this was all."""
        try:
            start = json.loads(await self._inbox.get())
            # What is found by a path there has to be found here.
            sys.path += [path for path in start["paths"] if path not in sys.path]
            settings = RunSettings.model_validate(start["settings"])
            environment = settings.make_environment()
            try:
                async with open_connections(settings) as connections:
                    setup = set_up(settings, environment, connections)
                    try:
                        await self._work(settings, setup, start)
                    finally:
                        setup.graph.pool.close()
            finally:
                environment.close()
        except Exception as error:
            self._say(encode("failed", task=None, error=error_as_json(error)))

    async def _work(self, settings: RunSettings, setup: Setup, start: dict[str, Any]) -> None:
        self.secrets = list(setup.secrets)
        setup.budgets.on_note = lambda task, spent: jobs[task].noted(spent) if task in jobs else None
        tasks = {task["id"]: task for task in setup.tasks}
        jobs: dict[str, Job] = {}
        doing: set[asyncio.Task[None]] = set()
        async with AsyncExitStack() as stack:
            stack.enter_context(tracing_as_asked())
            where = settings.database or Path(start["checkpoints"])
            saver = await stack.enter_async_context(open_checkpointer(settings.checkpoints, where))
            fence = await stack.enter_async_context(open_fence(settings.database))
            store = await stack.enter_async_context(open_lessons(settings.lessons)) if settings.lessons else None
            graph = setup.graph.compile(checkpointer=saver, store=store)
            self._hear_news(setup, start["news"])
            self._say(encode("ready"))
            try:
                while (said := json.loads(await self._inbox.get()))["what"] != "end":
                    self._hear_news(setup, said["news"])
                    if said["what"] == "advance":
                        make = partial(
                            TaskRun,
                            graph,
                            tasks[said["task"]],
                            f"{start['run_id']}:{said['task']}",
                            reflects=Strategy(cast(str, settings.strategy)).reflects,
                            max_trials=cast(int, settings.max_trials),
                            budgets=setup.budgets,
                            review=setup.environment.review,
                            fence=fence,
                        )
                        job = jobs[said["task"]] = Job(make, setup, said, self._say)
                        task = asyncio.create_task(job.do())
                        doing.add(task)
                        task.add_done_callback(doing.discard)
            finally:
                while doing:
                    for task in doing:
                        task.cancel()
                    await asyncio.wait(doing, timeout=1)

    def _hear_news(self, setup: Setup, news: dict[str, Any]) -> None:
        setup.budgets.hear(Spent(*news["spent"]), news["seconds"])
        for client, answered in zip(setup.graph.clients, news["answered"], strict=True):
            client.answered = client.answered or answered


class Job:
    """One trial of a task, and what the driver hears of it."""

    def __init__(
        self, make: Callable[..., TaskRun], setup: Setup, asked: dict[str, Any], say: Callable[[str], None]
    ) -> None:
        self.task = asked["task"]
        self._actions = 0
        self._clients = setup.graph.clients
        self._say = say
        self._said: list[Any] = []
        self._run = make(on_action=self._acted, standing=Standing(*asked["standing"]))
        setup.budgets.take_over(self.task, self._run.config, Spent(*asked["spent"]))

    async def do(self) -> None:
        """Run the trial, and say how it ended."""
        try:
            row, trajectory, files = await self._run.advance()
            told = {"row": row, "trajectory": trajectory, "files": files, "standing": self._run.standing}
            self._say(encode("finished", task=self.task, **told))
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            self._say(encode("failed", task=self.task, error=error_as_json(error)))

    def noted(self, spent: Spent) -> None:
        """Tell the driver what the task has spent by now, and what else is new."""
        answered = [client.answered for client in self._clients]
        news = [spent._replace(seconds=0.0), answered, self._run.answered]
        if self._actions or news != self._said:
            told = {"actions": self._actions, "spent": spent, "answered": answered, "counts": self._run.answered}
            self._say(encode("news", task=self.task, **told))
            self._actions, self._said = 0, news

    def _acted(self) -> None:
        self._actions += 1
