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
from typing import Any, NamedTuple

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import StateSnapshot

from langgraph_reflexion.envs.base import FinishedTrial, Review, Task
from langgraph_reflexion.errors import Fault
from langgraph_reflexion.graph.resume import resume_point
from langgraph_reflexion.lab.experiments.locks import TaskLock
from langgraph_reflexion.lab.experiments.rows import Finished, TrialRow, add_reused_tokens, add_trajectory
from langgraph_reflexion.loop.budgets import Budgets
from langgraph_reflexion.loop.events import steps_in
from langgraph_reflexion.memory.useful import was_rejected
from langgraph_reflexion.models.recorded import ended_at_no_gain
from langgraph_reflexion.models.usage import add_usage
from langgraph_reflexion.nodes.observe import actions_of
from langgraph_reflexion.state import RECORD_PROMPTS, ReflexionState, Status, Step
from langgraph_reflexion.support.sync import to_thread
from langgraph_reflexion.support.text import sanitize

Graph = CompiledStateGraph[Any, None, Any, Any]


class TaskProgress(NamedTuple):
    """The progress of a task, as far as its trials are recorded."""

    status: Status = "running"
    completed: int = 0
    """The number of finished trials. A trial that is still to be reflected on is not finished."""
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
            in_one_line = " ".join(str(error).split())
            message = sanitize(in_one_line)[:MAX_CHARS]
        except Exception:  # `__str__` may have a bug, too
            message = "(no text)"
        name = type(error).__name__
        text = "".join(traceback.format_exception(error))
        return cls(f"{name}: {message}", text)


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
    on_action: Callable[[str, Step], None] = lambda task, step: None
    """Told of each action: the task, and the step."""
    progress: TaskProgress = field(default_factory=TaskProgress)
    user: str | None = None
    """The user whose lessons it uses; the run's unless given."""
    truth: bool = False
    """Whether success is read from a trial's record, where `truth=` has put it, and not from the environment's
    review."""
    begun: bool = False
    """Whether an earlier process began its first trial."""
    error: TaskError | None = None
    """The bug that ended it in this process."""

    def __post_init__(self) -> None:
        configurable: dict[str, Any] = {"thread_id": self.thread, RECORD_PROMPTS: True}
        if self.user is not None:
            configurable["user_id"] = self.user
        self.config = RunnableConfig(configurable=configurable)
        # If `restore` found a finished trial, the state that holds it: `reopen` decides whether to go on from there.
        self._left_finished: ReflexionState | None = None

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

        The state decides whether the trial is finished, and not LangGraph's next node: after a crash between two
        writes, there may be no next node although the trial is not finished.
        """
        state = await self._last_state()
        # Before the first reset, there is nothing to resume.
        if "status" not in state:
            return None
        self.begun = True
        self._left_finished = None
        if not self._update_progress(state):
            return None
        self._left_finished = state
        return await self._finished(state)

    def reopen(self) -> None:
        """Continue an ended task if there is a reason to.

        All tasks must have been restored: the run's budget has to know what each of them has used.
        """
        state = self._left_finished
        self._left_finished = None
        if state is None:
            return
        if self.status == "failed" and state["trial"] >= self.max_trials:
            return
        if self.status == "failed" and ended_at_no_gain(state["notes"]):
            # Its trials gained nothing, so a higher `max_trials` is no reason to go on.
            return
        if self.status == "budget" and self.budgets.used_up(state, self.config):
            return
        if resume_point(state) is None:
            return
        completed = len(state["trials"])
        cut_short = state["trials"][-1]["stop_reason"] in ("budget", "fault")
        # The last trial has to be finished again. If it was cut short, it has yet to end. Otherwise the task ended
        # before the reflection on it, which comes first now that the task goes on.
        if cut_short or self.reflects:
            completed -= 1
        self.progress = self.progress._replace(status="running", completed=completed)

    async def find(self, trials: Collection[int]) -> list[Finished]:
        """Return those of these trials that the checkpoints hold. A saver that keeps no history has only the last."""
        found: dict[int, Finished] = {}
        async for snapshot in self.graph.aget_state_history(self.config):
            state = _state_of(snapshot)
            trial = state.get("trial", 0)
            if trial not in trials or trial in found:
                continue
            if self._ended(state):
                found[trial] = await self._finished(state)
        return list(found.values())

    async def begin_again(self) -> None:
        """Forget the task's checkpoints, and begin with its first trial."""
        saver = self.graph.checkpointer
        assert isinstance(saver, BaseCheckpointSaver)  # no run is compiled without one
        await saver.adelete_thread(self.thread)
        self.budgets.start_task(self.task["id"], self.config)
        self.progress = TaskProgress()
        self.begun = False
        self._left_finished = None

    async def answered(self) -> bool:
        """Return whether a model has answered a call of the trial in flight."""
        state = await self._last_state()
        return bool(state.get("usage"))

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
        """See `advance`.

        `known` is the progress as the caller knows it. Another process may have come further: `self.progress` is
        updated from the checkpoint here, and then compared with it.
        """
        state = await self._last_state()
        if "status" not in state:
            return await self._run_to_end({"task": self.task}, known)
        ended = self._update_progress(state)
        # `_is_beyond` is also true of a trial that the caller has just reopened, but that moved no checkpoint.
        moved = self.progress.checkpoint != known.checkpoint
        if ended and moved and self._is_beyond(known):
            # Another process finished this trial and could not report it.
            return await self._finished(state)
        point = resume_point(state)
        if point:
            # The task has ended, so the state must be told to go on. One that runs continues by itself.
            await self.graph.aupdate_state(self.config, point.values, point.as_node)
        return await self._run_to_end(None, known)

    async def _run_to_end(self, start: dict[str, Any] | None, known: TaskProgress) -> Finished:
        """Run the graph until a trial has ended: from `start`, or if that is None, from the last checkpoint."""
        # Two passes, as a checkpoint of the stock savers may hold the end of the trial before as a pending write:
        # then the first pass only applies that write, and the second one runs the trial.
        for _ in range(2):
            await self._pass(start)
            start = None
            state = await self._last_state()
            ended = self._update_progress(state)
            if ended and self._is_beyond(known):
                return await self._finished(state)
        raise RuntimeError(f"the graph made no progress in trial {state['trial']} of {self.task['id']}")

    def _is_beyond(self, known: TaskProgress) -> bool:
        """Return whether the task has come further than it is known to be.

        The caller advances a running task, so one that has ended since has come further, too.
        """
        return self.completed > known.completed or self.status != "running"

    async def _pass(self, start: dict[str, Any] | None) -> None:
        """Run the graph once, up to the last node of a trial."""
        last_node = "evaluate"
        if self.reflects:
            last_node = "reflect"
        stream: Any = self.graph.astream(
            start,
            self.config,
            stream_mode="updates",
            interrupt_after=[last_node],
            # Otherwise the stock savers write in the background, and a killed process loses their queue.
            durability="sync",
        )
        try:
            await self._follow(stream)
        except PASSED_ON:
            raise
        except BaseException as error:
            # If the checkpoint cannot be read, this raises, too: that ends the run, and is no bug of the task.
            await self._last_state()
            raise TaskError.of(error) from error

    async def _follow(self, stream: Any) -> None:
        """Watch every update of the graph to its end."""
        async with aclosing(stream):
            async for update in stream:
                for node, written in update.items():
                    # The interrupt comes as an update, too, but is not a dictionary.
                    if isinstance(written, dict):
                        self._watch(node, written)

    def _watch(self, node: str, written: dict[str, Any]) -> None:
        if node != "observe":
            return
        for step in steps_in(written):
            if step["action"] is not None:
                self.on_action(self.task["id"], step)

    async def _last_state(self) -> ReflexionState:
        """Return the state in the task's last checkpoint; an empty one before the first `reset`."""
        snapshot = await self.graph.aget_state(self.config)
        checkpoint = snapshot.config["configurable"].get("checkpoint_id", "")
        self.progress = self.progress._replace(checkpoint=checkpoint)
        return _state_of(snapshot)

    def _update_progress(self, state: ReflexionState) -> bool:
        """Update the progress and the budgets from a state, and return whether it holds a finished trial."""
        self.budgets.record(state, self.config)
        ended = self._ended(state)
        completed = len(state["trials"])
        # A trial that waits for its reflection is not finished.
        if _evaluated(state) and not ended:
            completed -= 1
        self.progress = self.progress._replace(status=state["status"], completed=completed)
        return ended

    def _ended(self, state: ReflexionState) -> bool:
        """Return whether the current trial is finished."""
        if not _evaluated(state):
            return False
        if state["status"] != "running" or not self.reflects:
            return True
        # A useless reflection is not kept, so there is none to wait for.
        rejected = was_rejected(state["trials"][-1]["notes"])
        return rejected or _reflection(state) is not None

    async def _finished(self, state: ReflexionState) -> Finished:
        """Return the finished trial that a state holds, reviewed by the environment."""
        trial = _finished_trial(state)
        try:
            review = await to_thread(self.review, state["task"], trial)
        except PASSED_ON:
            raise
        except BaseException as error:
            raise TaskError.of(error) from error
        row = _row(self.task["id"], state, review, recorded_truth=self.truth)
        return Finished(row, review.files, state.get("sent_prompts", []))


def _state_of(snapshot: StateSnapshot) -> ReflexionState:
    """Return the state in a checkpoint, with its type, which LangGraph leaves open."""
    values: Any = snapshot.values
    state: ReflexionState = values
    return state


def _evaluated(state: ReflexionState) -> bool:
    """Return whether the current trial has its record."""
    trials = state["trials"]
    return bool(trials) and trials[-1]["trial"] == state["trial"]


def _reflection(state: ReflexionState) -> str | None:
    """Return the reflection on the current trial; None without one."""
    reflections = state["reflections"]
    if not reflections or reflections[-1]["trial"] != state["trial"]:
        return None
    return reflections[-1]["text"]


def _finished_trial(state: ReflexionState) -> FinishedTrial:
    """Return the current trial, which is finished, as the environment reviews it."""
    record = state["trials"][-1]
    episode = state["episode"]
    observation = episode["observation"]
    if state["trajectory"]:
        observation = state["trajectory"][-1]["observation"]
    # Without a verdict, the evaluation in the state is still that of the trial before.
    feedback = ""
    evaluation = state["evaluation"]
    if evaluation and record["verdict"] is not None:
        feedback = evaluation["feedback"]
    return FinishedTrial(
        number=record["trial"],
        actions=actions_of(state),
        snapshot=episode["snapshot"],
        verdict=record["verdict"],
        stop_reason=record["stop_reason"],
        feedback=feedback,
        observation=observation,
        reflection=_reflection(state),
    )


def _row(task: str, state: ReflexionState, review: Review, *, recorded_truth: bool) -> TrialRow:
    """Return the row of the current trial, which is finished."""
    record = state["trials"][-1]
    usage = add_usage(*state["usage"].values())
    # Both are on the task's clock.
    seconds = state["seconds"] - state["episode"]["began"]
    success = review.success
    if success is None or recorded_truth:
        success = record["success"]
    row = TrialRow(
        task_id=task,
        trial=record["trial"],
        success=success,
        gradable=review.gradable,
        verdict=record["verdict"],
        score=record["score"],
        stop_reason=record["stop_reason"],
        actions=record["actions"],
        llm_calls=usage["llm_calls"],
        cached_calls=usage["cached_calls"],
        input_tokens=usage["input_tokens"],
        output_tokens=usage["output_tokens"],
        cost=usage["cost"],
        usage=state["usage"],
        measures=review.measures,
        reflection=_reflection(state),
        notes=state["notes"],
        fault=state["fault"],
        seconds=round(seconds, 3),
    )
    add_reused_tokens(row, usage)
    add_trajectory(row, state)
    if record.get("unverified"):
        row["unverified"] = True
    return row
