"""Scheduling of a run's tasks: order, concurrency and stop rules.

Rows are recorded as trials finish; a run that stops early keeps the complete ones.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.lab.experiments.record import RunRecord
from langgraph_reflexion.lab.experiments.rows import Finished, TrialRow
from langgraph_reflexion.lab.experiments.run_files import TRIALS
from langgraph_reflexion.lab.experiments.task_run import TaskError, TaskRun
from langgraph_reflexion.loop.budgets import Budgets
from langgraph_reflexion.state import Step


class Observer:
    """Sees how runs go; the methods of this one do nothing."""

    def on_start(self, folder: Path, tasks: int, trials: int, played_by: str) -> None:
        """A run of N tasks with up to N trials each begins; `played_by` names the engine, where there is a choice."""

    def on_trial_start(self, task: str, trial: int) -> None:
        """A task's next trial begins, or goes on that an earlier process has begun."""

    def on_action(self, task: str, step: Step) -> None:
        """An action was taken. Those of an agent, and of Ray's workers, are told when the trial has ended."""

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
        for run in self.runs:
            if await run.answered():
                return True
        return False

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
            beyond = last > run.completed + 1
            if beyond or (last and not run.begun):
                raise ConfigurationError(
                    f"{self.record.folder} holds trial {last} of {task}, and its checkpoint does not: "
                    "it cannot be resumed"
                )
        for run in self.runs:
            if run.error:
                continue
            run.reopen()
            await self._repair(run)
            self._report_recorded(run)

    def _report_recorded(self, run: TaskRun) -> None:
        """Tell the observer of the trials that an earlier process has recorded."""
        task = run.task["id"]
        for trial in range(1, run.completed + 1):
            is_last = trial == run.completed and run.status != "running"
            self.observer.on_trial(self.record.trials[task, trial], is_last)

    async def _repair(self, run: TaskRun) -> None:
        """Restore the trials that are missing, as after a power cut, or else begin the task again."""
        task = run.task["id"]
        missing = self.record.missing(task, run.completed)
        if not missing:
            return
        numbers = ", ".join(map(str, missing))
        for finished in await run.find(missing):
            self.record.restore(finished)
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
            if run.error:
                continue
            missing = self.record.missing(run.task["id"], run.completed)
            if missing:
                raise ConfigurationError(
                    f"{self.record.folder} lacks trial {missing[0]} of {run.task['id']}: another process has worked "
                    f"on the same checkpoints, as on a copy of the folder: append the copy's {TRIALS} to this "
                    "folder's, and resume this one alone"
                )

    async def run_all(self) -> None:
        """Run every task until it is finished."""
        work = [self._advance(run, to_end=True) for run in self.runs]
        await self._all(work)

    async def run_in_lockstep(self) -> None:
        """Run all tasks one trial at a time, until a trial over all of them solves nothing new.

        This is the stop rule of the preprint (section 3.1, "fails to improve performance between two consecutive
        trials"). It acts on verdicts, as the loop does. A resumed run skips the trials that it has recorded, and
        decides the same.
        """
        trial = 0
        solved_before: int | None = None
        while self._any_unfinished():
            trial += 1
            work = []
            for run in self.runs:
                if run.unfinished and run.completed < trial:
                    work.append(self._advance(run, to_end=False))
            await self._all(work)
            if self.budgets.run_used_up():
                return
            solved = self._solved_within(trial)
            if solved == solved_before:
                # Otherwise there is nothing left that the rule could stop.
                if self._any_unfinished():
                    self.stopped_after = trial
                return
            solved_before = solved

    def _any_unfinished(self) -> bool:
        return any(run.unfinished for run in self.runs)

    def _solved_within(self, trials: int) -> int:
        """Return the number of tasks that were solved in at most N trials."""
        solved = 0
        for run in self.runs:
            # A task that ended by an error says nothing about the trial, and is left out.
            if run.error:
                continue
            if run.status == "solved" and run.completed <= trials:
                solved += 1
        return solved

    async def _advance(self, run: TaskRun, *, to_end: bool) -> None:
        # A task keeps its slot to its last trial, so that it is finished before others begin.
        async with self._slots:
            while run.unfinished and not self.budgets.run_used_up():
                self.observer.on_trial_start(run.task["id"], run.completed + 1)
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
            pending = set(tasks)
            while pending:
                for task in pending:
                    task.cancel()
                _, pending = await asyncio.wait(pending, timeout=1)
            raise
