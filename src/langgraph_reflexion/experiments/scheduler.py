"""Advances many tasks through their trials: how many at once, in which order, and when to stop.

Rows are recorded as trials finish. What stops a run early leaves the rows that are complete.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

from langgraph_reflexion.budgets import Budgets
from langgraph_reflexion.envs.base import FinishedTrial, Review, Task
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.experiments.record import RunRecord
from langgraph_reflexion.experiments.rows import Finished, TrialRow
from langgraph_reflexion.experiments.task_run import Fence, Graph, TaskError, TaskRun, no_fence


class Observer(Protocol):
    """Sees how a run goes."""

    def on_start(self, folder: Path, tasks: int, trials: int, played_by: str) -> None:
        """Begin a run.

        Args:
            folder: Where it is recorded.
            tasks: How many tasks it has.
            trials: At most how many trials each of them has.
            played_by: The engine that plays them; empty where the environment has no choice.
        """

    def on_action(self) -> None:
        """An action was taken."""

    def on_trial(self, row: TrialRow, finished: bool) -> None:
        """A trial was recorded, now or by an earlier process; `finished` says whether that was its task's last."""

    def on_error(self, task: str, error: str) -> None:
        """A task has ended with the exception of a bug, in one line."""


class NullObserver:
    """An observer that ignores everything."""

    def on_start(self, folder: Path, tasks: int, trials: int, played_by: str) -> None:
        """See `Observer`."""

    def on_action(self) -> None:
        """See `Observer`."""

    def on_trial(self, row: TrialRow, finished: bool) -> None:
        """See `Observer`."""

    def on_error(self, task: str, error: str) -> None:
        """See `Observer`."""


class Drive:
    """Advances tasks through a graph and records their trials.

    Args:
        graph: The Reflexion graph, compiled with a checkpointer.
        tasks: The tasks.
        record: Where trials are recorded.
        observer: Sees how it goes.
        run_id: Tells the run's checkpoints from those of others in the same database.
        reflects: Whether the graph's strategy reflects.
        max_trials: The number of trials per task, as the graph has it.
        budgets: The graph's.
        review: Finds out about a finished trial outside the graph; the environment's own.
        concurrency: How many tasks are advanced at once.
        advance: Has a task's next trial run, in this process unless given; see `TaskRun.advance`.
        fence: Held while a task is advanced in this process.
    """

    def __init__(
        self,
        graph: Graph,
        tasks: Sequence[Task],
        record: RunRecord,
        observer: Observer,
        *,
        run_id: str,
        reflects: bool,
        max_trials: int,
        budgets: Budgets,
        review: Callable[[Task, FinishedTrial], Review],
        concurrency: int,
        advance: Callable[[TaskRun], Awaitable[Finished]] = TaskRun.advance,
        fence: Fence = no_fence,
    ) -> None:
        self.runs = [
            TaskRun(
                graph,
                task,
                f"{run_id}:{task['id']}",
                reflects=reflects,
                max_trials=max_trials,
                budgets=budgets,
                review=review,
                on_action=observer.on_action,
                fence=fence,
            )
            for task in tasks
        ]
        self.record = record
        self.observer = observer
        self.budgets = budgets
        self._run_trial = advance
        self._slots = asyncio.Semaphore(concurrency)

    @property
    def answered(self) -> bool:
        """True if a model has answered this process at least once."""
        return any(run.answered for run in self.runs)

    async def restore(self) -> None:
        """Restore every task from its checkpoint, and record what a process that died had finished and not recorded.

        Raises:
            ConfigurationError: record and checkpoints do not belong together.
        """
        for run in self.runs:
            task = run.task["id"]
            try:
                finished = await run.restore()
            except TaskError as error:
                self._failed(run, error)
                continue
            if finished is not None:
                self.record.restore(finished)
            last = self.record.last_trial(task)
            if last > run.completed + 1 or (last and not run.begun):
                raise ConfigurationError(
                    f"{self.record.folder} holds trial {last} of {task}, and its checkpoint does not: it cannot go on"
                )
        for run in self.runs:
            if run.error:
                continue
            task = run.task["id"]
            run.reopen()
            for trial in range(1, run.completed + 1):
                self.record.expect(task, trial)
                ended = run.status != "running" and trial == run.completed
                self.observer.on_trial(self.record.trials[task, trial], ended)

    async def run_all(self) -> None:
        """Run every task until it is finished."""
        await self._all(self._finish(run) for run in self.runs)

    async def run_in_lockstep(self) -> None:
        """Run all tasks one trial at a time, until a trial over all of them solves nothing new.

        That is the stop rule of the paper's first version (section 3.1, "fails to improve performance between
        two consecutive trials"). It acts on verdicts, as the loop itself does. A run that is resumed skips the
        trials that it has and takes the same decisions.
        """
        trial, before = 0, None
        while any(run.unfinished for run in self.runs):
            trial += 1
            behind = [run for run in self.runs if run.unfinished and run.completed < trial]
            await self._all(self._advance(run) for run in behind)
            if self.budgets.run_used_up():
                return
            # A task that ended by an error proves nothing about the trial: it is left out of the comparison.
            solved = sum(run.status == "solved" and run.completed <= trial for run in self.runs if not run.error)
            if solved == before:
                return
            before = solved

    async def _finish(self, run: TaskRun) -> None:
        # One slot from the first trial to the last, so that what began is finished before other tasks begin.
        async with self._slots:
            while run.unfinished and not self.budgets.run_used_up():
                await self._trial(run)

    async def _advance(self, run: TaskRun) -> None:
        async with self._slots:
            if not self.budgets.run_used_up():
                await self._trial(run)

    async def _trial(self, run: TaskRun) -> None:
        try:
            finished = await self._run_trial(run)
        except TaskError as error:
            self._failed(run, error)
            return
        self.record.append(finished)
        self.observer.on_trial(finished.row, run.status != "running")

    def _failed(self, run: TaskRun, error: TaskError) -> None:
        run.error = error
        self.record.add_error(run.task["id"], str(error), error.traceback)
        self.observer.on_error(run.task["id"], self.record.without_secrets(str(error)))

    async def _all(self, work: Iterable[Coroutine[Any, Any, None]]) -> None:
        """Do it all; at the first error stop the rest, and raise it."""
        tasks = [asyncio.ensure_future(each) for each in work]
        try:
            await asyncio.gather(*tasks)
        except BaseException:
            # A cancellation can get lost on its way through other people's code: it is repeated until it is heard.
            while pending := [task for task in tasks if not task.done()]:
                for task in pending:
                    task.cancel()
                await asyncio.wait(pending, timeout=1)
            raise
