"""Scheduling of a run's tasks: order, concurrency and stop rules.

Rows are recorded as trials finish; a run that stops early keeps the complete ones.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.lab.experiments.record import TRIALS, RunRecord
from langgraph_reflexion.lab.experiments.rows import Finished, TrialRow
from langgraph_reflexion.lab.experiments.task_run import TaskError, TaskRun
from langgraph_reflexion.loop.budgets import Budgets


class Observer:
    """Sees how runs go; the methods of this one do nothing."""

    def on_start(self, folder: Path, tasks: int, trials: int, played_by: str) -> None:
        """A run of N tasks with up to N trials each begins; `played_by` names the engine, where there is a choice."""

    def on_action(self) -> None:
        """An action was taken."""

    def on_trial(self, row: TrialRow, finished: bool) -> None:
        """A trial was recorded, now or by an earlier process; `finished` if it was its task's last."""

    def on_error(self, task: str, error: str) -> None:
        """A task has ended with the exception of a bug, in one line."""

    def on_repair(self, task: str, what: str) -> None:
        """Rows of a task were missing, and were restored or will be made again."""


@dataclass
class Scheduler:
    """Advances tasks trial by trial, N of them (`concurrency`) at once, and records their trials."""

    runs: Sequence[TaskRun]
    record: RunRecord
    observer: Observer
    budgets: Budgets
    concurrency: int
    advance: Callable[[TaskRun], Awaitable[Finished]] = TaskRun.advance
    recorded: int = 0
    """N trials that were recorded in this process."""
    stopped_after: int | None = None
    """The trial after which `run_in_lockstep` has ended the run by its rule; None if it has not."""

    def __post_init__(self) -> None:
        self._slots = asyncio.Semaphore(self.concurrency)

    async def begun(self) -> bool:
        """Return whether anything has happened: a trial, a bug, or a model's answer in a trial in flight."""
        if self.record.trials or any(run.error for run in self.runs):
            return True
        return any([await run.answered() for run in self.runs])

    async def restore(self) -> None:
        """Restore every task from its checkpoint, and record the trials that a dead process had not recorded yet."""
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
                    f"{self.record.folder} holds trial {last} of {task}, and its checkpoint does not: "
                    "it cannot be resumed"
                )
        for run in self.runs:
            if run.error:
                continue
            task = run.task["id"]
            run.reopen()
            await self._repair(run)
            for trial in range(1, run.completed + 1):
                ended = run.status != "running" and trial == run.completed
                self.observer.on_trial(self.record.trials[task, trial], ended)

    async def _repair(self, run: TaskRun) -> None:
        """Restore the trials that are missing, as after a power cut, or else begin the task again."""
        task = run.task["id"]
        if not (missing := self.record.missing(task, run.completed)):
            return
        numbers = ", ".join(map(str, missing))
        for finished in await run.find(missing):
            self.record.append(finished)
        if not self.record.missing(task, run.completed):
            self.observer.on_repair(task, f"restored trial {numbers} from the checkpoints")
            return
        if self.record.shared:
            self.check()
        self.record.forget(task)
        await run.begin_again()
        self.observer.on_repair(task, f"the record lacks trial {numbers}: the task begins again")

    def check(self) -> None:
        """Make sure that every finished trial is recorded.

        Raises:
            ConfigurationError: another process has worked on the same checkpoints.
        """
        for run in self.runs:
            if missing := [] if run.error else self.record.missing(run.task["id"], run.completed):
                raise ConfigurationError(
                    f"{self.record.folder} lacks trial {missing[0]} of {run.task['id']}: another process has worked "
                    f"on the same checkpoints, as on a copy of the folder: append the copy's {TRIALS} to this "
                    "folder's, and resume this one alone"
                )

    async def run_all(self) -> None:
        """Run every task until it is finished."""
        await self._all(self._advance(run, to_end=True) for run in self.runs)

    async def run_in_lockstep(self) -> None:
        """Run all tasks one trial at a time, until a trial over all of them solves nothing new.

        This is the stop rule of the preprint (section 3.1, "fails to improve performance between two consecutive
        trials"). It acts on verdicts, as the loop does. A resumed run skips the trials that it has recorded, and
        decides the same.
        """
        trial, before = 0, None
        while any(run.unfinished for run in self.runs):
            trial += 1
            behind = [run for run in self.runs if run.unfinished and run.completed < trial]
            await self._all(self._advance(run, to_end=False) for run in behind)
            if self.budgets.run_used_up():
                return
            # A task that ended by an error says nothing about the trial, and is left out.
            solved = sum(run.status == "solved" and run.completed <= trial for run in self.runs if not run.error)
            if solved == before:
                if any(run.unfinished for run in self.runs):
                    self.stopped_after = trial
                return
            before = solved

    async def _advance(self, run: TaskRun, *, to_end: bool) -> None:
        # A task keeps its slot to its last trial, so that it is finished before others begin.
        async with self._slots:
            while run.unfinished and not self.budgets.run_used_up():
                try:
                    finished = await self.advance(run)
                except TaskError as error:
                    self._failed(run, error)
                    return
                self.record.append(finished)
                self.recorded += 1
                self.observer.on_trial(finished.row, run.status != "running")
                if not to_end:
                    return

    def _failed(self, run: TaskRun, error: TaskError) -> None:
        run.error = error
        self.record.add_error(run.task["id"], str(error), error.traceback)
        self.observer.on_error(run.task["id"], self.record.without_secrets(str(error)))

    async def _all(self, work: Iterable[Coroutine[Any, Any, None]]) -> None:
        """Await all of it; at the first error cancel the rest, and raise the error."""
        tasks = [asyncio.ensure_future(each) for each in work]
        try:
            await asyncio.gather(*tasks)
        except BaseException:
            # Other people's code may swallow a cancellation: repeat it.
            while pending := [task for task in tasks if not task.done()]:
                for task in pending:
                    task.cancel()
                await asyncio.wait(pending, timeout=1)
            raise
