"""A task of a run, advanced through the graph trial by trial from its last checkpoint.

The graph stops after a trial's last node, so that its checkpoint holds the whole trial while the trial is recorded;
the next `reset` clears the trajectory. Rows are always read from the checkpoint. So a process that dies at any moment
leaves either a trial that can continue, or a finished one that the next process can record.

`TaskRun.advance` depends on the checkpoint and the recorded progress alone, so any process can call it, and another
one when that dies.
"""

import asyncio
import traceback
from collections.abc import Callable, Collection
from contextlib import aclosing
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NamedTuple, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph

from langgraph_reflexion.envs.base import FinishedTrial, Review, Task
from langgraph_reflexion.errors import Fault
from langgraph_reflexion.graph.resume import resume_point
from langgraph_reflexion.lab.experiments.locks import TaskLock
from langgraph_reflexion.lab.experiments.rows import Finished, TrialRow, trajectory_of
from langgraph_reflexion.loop.budgets import Budgets
from langgraph_reflexion.loop.events import steps_in
from langgraph_reflexion.memory.useful import was_rejected
from langgraph_reflexion.models.usage import add_usage
from langgraph_reflexion.nodes.observe import actions_of
from langgraph_reflexion.state import RECORD_PROMPTS, ReflexionState, Status
from langgraph_reflexion.support.sync import to_thread
from langgraph_reflexion.support.text import sanitize

Graph = CompiledStateGraph[Any, None, Any, Any]


class TaskProgress(NamedTuple):
    """The progress of a task, as far as its trials are recorded."""

    status: Status = "running"
    completed: int = 0
    """N trials that are finished, with the reflection that follows them."""
    checkpoint: str = ""
    """The id of the checkpoint that this was read from; empty without one."""


PASSED_ON = (Fault, KeyboardInterrupt, asyncio.CancelledError, GeneratorExit)
"""Exceptions of a task that are not bugs."""
MAX_CHARS = 300
"""Characters of an exception's message in `run.json` and in the terminal; its traceback is in the log."""


class TaskError(Exception):
    """A bug in an evaluator, a tool, a heuristic or an environment, which ends one task."""

    def __init__(self, message: str, traceback: str = "") -> None:
        super().__init__(message)
        self.traceback = traceback

    @classmethod
    def of(cls, error: BaseException) -> "TaskError":
        """Wrap the exception that the bug has raised."""
        try:
            message = sanitize(" ".join(str(error).split()))[:MAX_CHARS]
        except Exception:  # `__str__` may have a bug, too
            message = "(no text)"
        return cls(f"{type(error).__name__}: {message}", "".join(traceback.format_exception(error)))


@dataclass(eq=False)
class TaskRun:
    """Advances one task. Between two calls of `advance` the graph waits, checkpointed."""

    graph: Graph
    task: Task
    thread: str
    """The thread of its checkpoints."""
    _: KW_ONLY
    reflects: bool
    """Whether a failed trial is finished only after the reflection on it."""
    max_trials: int
    budgets: Budgets
    review: Callable[[Task, FinishedTrial], Review]
    lock: TaskLock
    """Held while the task is advanced."""
    on_action: Callable[[], None] = lambda: None
    progress: TaskProgress = field(default_factory=TaskProgress)
    user: str | None = None
    """The user whose lessons it uses; the run's unless given."""
    begun: bool = False
    """Whether an earlier process began its first trial."""
    error: TaskError | None = None
    """The bug that ended it in this process."""

    def __post_init__(self) -> None:
        named = {} if self.user is None else {"user_id": self.user}
        self.config = RunnableConfig(configurable={"thread_id": self.thread, RECORD_PROMPTS: True, **named})
        self._stopped: dict[str, Any] | None = None

    @property
    def status(self) -> Status:
        return self.progress.status

    @property
    def unfinished(self) -> bool:
        return self.status == "running" and self.error is None

    @property
    def completed(self) -> int:
        return self.progress.completed

    async def restore(self) -> Finished | None:
        """Read the task's progress from its checkpoint, and return the finished trial that it holds, if any.

        Its state alone says whether it is finished: after a crash between two writes, LangGraph may report no next
        node.
        """
        values = await self._values()
        # Before the first reset, there is nothing to resume.
        if "status" not in values:
            return None
        self.begun = True
        self._stopped = values if self._read(values) else None
        return await self._finished(values) if self._stopped else None

    def reopen(self) -> None:
        """Continue an ended task if there is a reason to. All tasks must have been restored."""
        values, self._stopped = cast(ReflexionState, self._stopped), None
        if (
            not values
            or (self.status == "failed" and values["trial"] >= self.max_trials)
            or (self.status == "budget" and self.budgets.used_up(values, self.config))
        ):
            return
        if resume_point(values) is not None:
            # A trial that was cut short, or the reflection on it, is repeated.
            cut_short = values["trials"][-1]["stop_reason"] in ("budget", "fault")
            completed = len(values["trials"]) - (cut_short or self.reflects)
            self.progress = self.progress._replace(status="running", completed=completed)

    async def find(self, trials: Collection[int]) -> list[Finished]:
        """Return those of these trials that the checkpoints hold: with a history all, otherwise the last one."""
        found: dict[int, Finished] = {}
        async for each in self.graph.aget_state_history(self.config):
            trial: int = each.values.get("trial", 0)
            if trial in trials and trial not in found and self._ended(each.values):
                found[trial] = await self._finished(each.values)
        return list(found.values())

    async def begin_again(self) -> None:
        """Forget the task's checkpoints, and begin with its first trial."""
        saver = cast(BaseCheckpointSaver[Any], self.graph.checkpointer)
        await saver.adelete_thread(self.thread)
        self.budgets.start_task(self.task["id"], self.config)
        self.progress, self.begun, self._stopped = TaskProgress(), False, None

    async def answered(self) -> bool:
        """Return whether a model has answered a call of the trial in flight."""
        return bool((await self._values()).get("usage"))

    async def advance(self) -> Finished:
        """Run the next trial to its end, or the one in flight, with the reflection that follows it.

        A trial that another process finished and could not report is returned, not repeated.

        Raises:
            TaskError: an evaluator, a tool, a heuristic or the environment has a bug.
            Fault: the run cannot continue.
        """
        async with self.lock(self.thread):
            return await self._advance(self.progress)

    async def _advance(self, known: TaskProgress) -> Finished:
        values = await self._values()
        start = None if "status" in values else {"task": self.task}
        if start is None:
            ended = self._read(values)
            if ended and self.progress.checkpoint != known.checkpoint and self._is_beyond(known):
                return await self._finished(values)
            if going_on := resume_point(cast(ReflexionState, values)):
                await self.graph.aupdate_state(self.config, *going_on)
        # A checkpoint of the stock savers may hold the end of the last trial as a pending write: then the first
        # pass only applies it.
        for _ in range(2):
            await self._pass(start)
            start, values = None, await self._values()
            if self._read(values) and self._is_beyond(known):
                return await self._finished(values)
        raise RuntimeError(f"the graph made no progress in trial {values['trial']} of {self.task['id']}")

    def _is_beyond(self, known: TaskProgress) -> bool:
        return self.completed > known.completed or self.status != "running"

    async def _pass(self, start: dict[str, Any] | None) -> None:
        stream: Any = self.graph.astream(
            start,
            self.config,
            stream_mode="updates",
            interrupt_after=["reflect" if self.reflects else "evaluate"],
            # Otherwise the stock savers write in the background, and a killed process loses their queue.
            durability="sync",
        )
        try:
            async with aclosing(stream):
                async for update in stream:
                    for node, written in update.items():
                        if isinstance(written, dict):  # the interrupt is an update, too
                            self._watch(node, written)
        except PASSED_ON:
            raise
        except BaseException as error:
            await self._values()  # an unreadable checkpoint is a problem of the run, not of the task
            raise TaskError.of(error) from error

    def _watch(self, node: str, written: dict[str, Any]) -> None:
        if node == "observe" and any(step["action"] is not None for step in steps_in(written)):
            self.on_action()

    async def _values(self) -> dict[str, Any]:
        snapshot = await self.graph.aget_state(self.config)
        checkpoint = snapshot.config["configurable"].get("checkpoint_id", "")
        self.progress = self.progress._replace(checkpoint=checkpoint)
        return snapshot.values

    def _read(self, values: dict[str, Any]) -> bool:
        """Update the progress. Returns whether the state holds a finished trial."""
        self.budgets.record(cast(ReflexionState, values), self.config)
        trials, ended = values["trials"], self._ended(values)
        evaluated = bool(trials) and trials[-1]["trial"] == values["trial"]
        completed = len(trials) - (evaluated and not ended)
        self.progress = self.progress._replace(status=values["status"], completed=completed)
        return ended

    def _ended(self, values: dict[str, Any]) -> bool:
        trials, trial, status = values["trials"], values["trial"], values["status"]
        evaluated = bool(trials) and trials[-1]["trial"] == trial
        reflected = bool(values["reflections"]) and values["reflections"][-1]["trial"] == trial
        # A useless reflection is not kept, and nothing else follows it.
        reflected = reflected or (evaluated and was_rejected(trials[-1]["notes"]))
        return evaluated and (status != "running" or reflected or not self.reflects)

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
            review = await to_thread(self.review, values["task"], trial)
        except PASSED_ON:
            raise
        except BaseException as error:
            raise TaskError.of(error) from error
        row: dict[str, Any] = {
            "task_id": self.task["id"],
            "trial": record["trial"],
            "success": record["success"] if review.success is None else review.success,
            "gradable": review.gradable,
            "verdict": record["verdict"],
            "score": record["score"],
            "stop_reason": record["stop_reason"],
            "actions": record["actions"],
            **usage,
            "usage": values["usage"],
            "measures": review.measures,
            "reflection": reflection,
            "notes": values["notes"],
            "fault": values["fault"],
            "seconds": round(values["seconds"] - episode["began"], 3),
            **trajectory_of(values),
        }
        if record.get("unverified"):
            row["unverified"] = True
        return Finished(cast(TrialRow, row), review.files, values.get("sent_prompts", []))
