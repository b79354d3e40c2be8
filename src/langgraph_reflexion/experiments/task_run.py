"""A task of a run, advanced through the graph trial by trial from its last checkpoint.

The graph is stopped after a trial's last node, so that its checkpoint holds the whole trial while the trial is
recorded; the next `reset` clears the trajectory. What is recorded is always read from the checkpoint. So a process
that dies at any moment leaves either a trial that goes on, or a finished one that the next process can record.

`TaskRun.advance` is the one function behind every executor: what it does follows from the checkpoint and from what is
recorded already, so that any process can do it, and another one when that is lost.
"""

import asyncio
import traceback
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from typing import Any, NamedTuple, cast

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph

from langgraph_reflexion.budgets import Budgets
from langgraph_reflexion.envs.base import FinishedTrial, Review, Task
from langgraph_reflexion.errors import Fault
from langgraph_reflexion.experiments.rows import Finished, TrajectoryRow, TrialRow
from langgraph_reflexion.graph.resume import reopen
from langgraph_reflexion.models.calls import storable
from langgraph_reflexion.models.usage import add_usage
from langgraph_reflexion.nodes.observe import actions_of
from langgraph_reflexion.state import ReflexionState, Status
from langgraph_reflexion.sync import to_thread

Graph = CompiledStateGraph[Any, None, Any, Any]

Fence = Callable[[str], AbstractAsyncContextManager[None]]
"""Keeps every other process away from a thread, given by its name, while one is at work on it."""


def no_fence(thread: str) -> AbstractAsyncContextManager[None]:
    """For checkpoints in a file of the run folder, which is held as a whole (`experiments.lock`)."""
    return nullcontext()


class Standing(NamedTuple):
    """The progress of a task, as far as its trials are recorded."""

    status: Status = "running"
    completed: int = 0
    """The number of its trials that are finished, with the reflection that follows them."""
    checkpoint: str = ""
    """The id of the checkpoint that says so; empty where there is none."""


NEW = Standing()


PASSED_ON = (Fault, KeyboardInterrupt, asyncio.CancelledError, GeneratorExit)
"""Exceptions of a task that are no bug of it."""
LONGEST = 300
"""Characters of an exception's message in `run.json` and in the terminal; its traceback is in the log."""


class TaskError(Exception):
    """An exception that is no fault: a bug in an evaluator, a tool, a heuristic or an environment ends one task.

    Attributes:
        traceback: The bug's.
    """

    def __init__(self, message: str, traceback: str) -> None:
        super().__init__(message)
        self.traceback = traceback

    @classmethod
    def of(cls, error: BaseException) -> "TaskError":
        """Wrap the exception that the bug has raised."""
        try:
            said = storable(" ".join(str(error).split()))[:LONGEST]
        except Exception:  # the exception's own text is somebody's code, too
            said = "(no text)"
        return cls(f"{type(error).__name__}: {said}", "".join(traceback.format_exception(error)))


class TaskRun:
    """Advances one task. Between two calls of `advance` the graph waits, checkpointed.

    Args:
        graph: The Reflexion graph, compiled with a checkpointer.
        task: The task.
        thread: The thread that its checkpoints are under.
        reflects: Whether a failed trial is reflected on before it counts as finished.
        max_trials: After how many trials the task has failed.
        budgets: The graph's.
        review: Finds out about a trial outside the graph; the environment's own.
        on_action: Called after every action.
        standing: The task's progress, if it is known.
        fence: Held while the task is advanced.

    Attributes:
        standing: The task's progress.
        begun: Whether its first trial had begun before this process did.
        error: The bug that has ended it in this process; None without one.
        answered: Whether a model has answered this process any call of this task.
    """

    def __init__(
        self,
        graph: Graph,
        task: Task,
        thread: str,
        *,
        reflects: bool,
        max_trials: int,
        budgets: Budgets,
        review: Callable[[Task, FinishedTrial], Review],
        on_action: Callable[[], None],
        standing: Standing = NEW,
        fence: Fence = no_fence,
    ) -> None:
        self.task = task
        self.standing = standing
        self.begun = False
        self.error: TaskError | None = None
        self.answered = False
        self.config = RunnableConfig(configurable={"thread_id": thread})
        self._graph = graph
        self._thread = thread
        self._reflects = reflects
        self._max_trials = max_trials
        self._budgets = budgets
        self._review = review
        self._on_action = on_action
        self._fence = fence
        self._stopped: dict[str, Any] | None = None

    @property
    def status(self) -> Status:
        """The task's status."""
        return self.standing.status

    @property
    def unfinished(self) -> bool:
        """True if this process has something left to do for it."""
        return self.status == "running" and self.error is None

    @property
    def completed(self) -> int:
        """The number of its trials that are finished, with the reflection that follows them."""
        return self.standing.completed

    async def restore(self) -> Finished | None:
        """Read the task's progress from its checkpoint.

        Whether it is finished is what its state says, and nothing else: to LangGraph, a run whose process died
        between two writes can look as if no node were left.

        Returns:
            The finished trial that the checkpoint holds, which may have been recorded or not.

        Raises:
            TaskError: the environment's review of that trial fails.
        """
        values = await self._values()
        # Before the first reset has written it, there is nothing to go on from.
        if "status" not in values:
            return None
        self.begun = True
        self._stopped = values if self._read(values) else None
        return await self._finished(values) if self._stopped else None

    def reopen(self) -> None:
        """Let a task that had ended go on, where there is reason to. All tasks are restored before that."""
        values, self._stopped = cast(ReflexionState, self._stopped), None
        if (
            not values
            or (self.status == "failed" and values["trial"] >= self._max_trials)
            or (self.status == "budget" and self._budgets.used_up(values, self.config))
        ):
            return
        if reopen(values) is not None:
            # What is done again is no longer done: a trial that was cut short, or the reflection on it.
            cut_short = values["trials"][-1]["stop_reason"] in ("budget", "fault")
            completed = len(values["trials"]) - (cut_short or self._reflects)
            self.standing = self.standing._replace(status="running", completed=completed)

    async def advance(self) -> Finished:
        """Run the next trial to its end, or the one in flight, with the reflection that follows it.

        A trial that another process has finished, and was lost before anybody heard of it, is not run again.

        Raises:
            TaskError: an evaluator, a tool, a heuristic or the environment has a bug.
            Fault: the run cannot go on.
        """
        async with self._fence(self._thread):
            return await self._advance(self.standing)

    async def _advance(self, known: Standing) -> Finished:
        values = await self._values()
        start = None if "status" in values else {"task": self.task}
        if start is None:
            ended = self._read(values)
            if ended and self.standing.checkpoint != known.checkpoint and self._beyond(known):
                return await self._finished(values)
            if going_on := reopen(cast(ReflexionState, values)):
                await self._graph.aupdate_state(self.config, *going_on)
        # A checkpoint of the stock savers may hold the last trial's end as a write that is not yet applied: then
        # the first pass does nothing but apply it.
        for _ in range(2):
            await self._pass(start)
            start, values = None, await self._values()
            if self._read(values) and self._beyond(known):
                return await self._finished(values)
        raise RuntimeError(f"the graph stood still in trial {values['trial']} of {self.task['id']}")

    def _beyond(self, known: Standing) -> bool:
        return self.completed > known.completed or self.status != "running"

    async def _pass(self, start: dict[str, Any] | None) -> None:
        stream: Any = self._graph.astream(
            start,
            self.config,
            stream_mode="updates",
            interrupt_after=["reflect" if self._reflects else "evaluate"],
            # The stock savers write behind the run's back otherwise, and a killed process loses all that is queued.
            durability="sync",
        )
        try:
            async with aclosing(stream):
                async for update in stream:
                    for node, written in update.items():
                        if isinstance(written, dict):  # the stop itself is an update, too
                            self._watch(node, written)
        except PASSED_ON:
            raise
        except BaseException as error:
            await self._values()  # if the checkpoints cannot be read, that is the trouble, and the run's
            raise TaskError.of(error) from error

    def _watch(self, node: str, written: dict[str, Any]) -> None:
        self.answered = self.answered or bool(written.get("usage"))
        if node == "observe" and "trajectory" in written and written["trajectory"][-1]["action"] is not None:
            self._on_action()

    async def _values(self) -> dict[str, Any]:
        snapshot = await self._graph.aget_state(self.config)
        checkpoint = snapshot.config["configurable"].get("checkpoint_id", "")
        self.standing = self.standing._replace(checkpoint=checkpoint)
        return snapshot.values

    def _read(self, values: dict[str, Any]) -> bool:
        """Take over the task's progress. Returns whether the state holds a finished trial."""
        self._budgets.note(cast(ReflexionState, values), self.config)
        trials, trial, status = values["trials"], values["trial"], values["status"]
        evaluated = bool(trials) and trials[-1]["trial"] == trial
        reflected = bool(values["reflections"]) and values["reflections"][-1]["trial"] == trial
        ended = evaluated and (status != "running" or reflected or not self._reflects)
        self.standing = self.standing._replace(status=status, completed=len(trials) - (evaluated and not ended))
        return ended

    async def _finished(self, values: dict[str, Any]) -> Finished:
        record, usage = values["trials"][-1], add_usage(*values["usage"].values())
        lesson = values["reflections"][-1] if values["reflections"] else None
        reflection = lesson["text"] if lesson and lesson["trial"] == record["trial"] else None
        evaluation = values["evaluation"] if record["verdict"] is not None else None
        steps, episode = values["trajectory"], values["episode"]
        trial = FinishedTrial(
            number=record["trial"],
            actions=actions_of(cast(ReflexionState, values)),
            snapshot=episode["snapshot"],
            verdict=record["verdict"],
            stop_reason=record["stop_reason"],
            feedback=evaluation["feedback"] if evaluation else "",
            observation=steps[-1]["observation"] if steps else episode["observation"],
            reflection=reflection,
        )
        try:
            review = await to_thread(self._review, values["task"], trial)
        except PASSED_ON:
            raise
        except BaseException as error:
            raise TaskError.of(error) from error
        row = TrialRow(
            task_id=self.task["id"],
            trial=record["trial"],
            success=record["success"] if review.success is None else review.success,
            gradable=review.gradable,
            verdict=record["verdict"],
            score=record["score"],
            stop_reason=record["stop_reason"],
            actions=record["actions"],
            **usage,
            usage=values["usage"],
            measures=review.measures,
            reflection=reflection,
            notes=values["notes"],
            lessons=[recalled["id"] for recalled in values.get("lessons", [])],
            fault=values["fault"],
            seconds=round(values["seconds"] - episode["began"], 3),
        )
        if "lessons" not in values:
            del row["lessons"]
        trajectory = TrajectoryRow(
            task_id=self.task["id"],
            trial=record["trial"],
            observation=episode["observation"],
            steps=steps,
            evaluation=evaluation,
        )
        return Finished(row, trajectory, review.files)
