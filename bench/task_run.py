"""One task on its way through the graph, advanced trial by trial, from wherever its checkpoint stands.

The graph is stopped after a trial's last node, so that its checkpoint holds the whole trial while the trial is
recorded; the next `reset` clears the trajectory. What is recorded is always read from the checkpoint. So a process
that dies at any moment leaves either a trial that goes on, or a finished one that the next process can record.
"""

from collections.abc import Callable
from contextlib import aclosing
from time import perf_counter
from typing import Any, NamedTuple

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Overwrite

from langgraph_reflexion.bench.rows import Finished, TrajectoryRow, TrialRow
from langgraph_reflexion.envs.base import Task
from langgraph_reflexion.graph.state import Evaluation, Status

Graph = CompiledStateGraph[Any, None, Any, Any]


class Reopening(NamedTuple):
    """How a task that had ended goes on: what is written, and the node that is to have written it."""

    values: dict[str, Any]
    as_node: str


class TaskRun:
    """Advances one task. Between two calls of `advance` the graph stands still, checkpointed.

    Args:
        graph: The Reflexion graph, compiled with a checkpointer.
        task: The task.
        thread: The thread that its checkpoints are under.
        reflects: Whether a failed trial is reflected on before it counts as finished.
        max_trials: After how many trials the task has failed.
        on_action: Called after every action.

    Attributes:
        status: How the task stands.
        begun: Whether its first trial had begun before this process did.
        completed: How many of its trials are finished, with the reflection that follows them.
        answered: Whether a model has answered this process any call of this task.
        unanswered: Whether the task ended because a model did not answer.
    """

    def __init__(
        self,
        graph: Graph,
        task: Task,
        thread: str,
        *,
        reflects: bool,
        max_trials: int,
        on_action: Callable[[], None],
    ) -> None:
        self.task = task
        self.status: Status = "running"
        self.begun = False
        self.completed = 0
        self.answered = False
        self.unanswered = False
        self._graph = graph
        self._config = RunnableConfig(configurable={"thread_id": thread})
        self._reflects = reflects
        self._max_trials = max_trials
        self._on_action = on_action
        self._input: dict[str, Any] | None = {"task": task}
        self._calls = 0
        self._reopening: Reopening | None = None

    async def restore(self, evaluation: Callable[[int], Evaluation | None]) -> Finished | None:
        """Find out where the task stands.

        Whether it is finished is what its state says, and nothing else: to LangGraph, a run whose process died
        between two writes can look as if no node were left.

        Args:
            evaluation: Gives the recorded verdict on an earlier trial.

        Returns:
            The finished trial that the checkpoint holds, which may have been recorded or not. `seconds` is 0.
        """
        values = await self._values()
        # Before the first reset has written it, there is nothing to go on from.
        if "status" not in values:
            return None
        self.begun = True
        self._input = None
        self._calls = values["usage"]["llm_calls"]
        ended = self._read(values)
        self._reopening = self._reopened(values, evaluation)
        if self._reopening is not None:
            # What is done again is no longer done: a fault's trial, or the reflection on a last trial.
            done = values["status"] == "failed" and not self._reflects
            self.completed = len(values["trials"]) - (not done)
            self.status = "running"
        return self._finished(values, 0.0) if ended else None

    async def advance(self) -> Finished:
        """Run the next trial to its end, or the one in flight, with the reflection that follows it."""
        started = perf_counter()
        if self._reopening is not None:
            await self._graph.aupdate_state(self._config, *self._reopening)
            self._reopening = None
        before = self.completed
        # A checkpoint of the stock savers may hold the last trial's end as a write that is not yet applied: then
        # the first pass does nothing but apply it.
        for _ in range(2):
            await self._pass()
            values = await self._values()
            if self._read(values) and (self.completed > before or self.status != "running"):
                return self._finished(values, perf_counter() - started)
        raise RuntimeError(f"the graph stood still in trial {values['trial']} of {self.task['id']}")

    async def _pass(self) -> None:
        stream: Any = self._graph.astream(
            self._input,
            self._config,
            stream_mode="updates",
            interrupt_after=["reflect" if self._reflects else "evaluate"],
            # The stock savers write behind the run's back otherwise, and a killed process loses all that is queued.
            durability="sync",
        )
        self._input = None
        async with aclosing(stream):
            async for update in stream:
                for node, written in update.items():
                    if isinstance(written, dict):  # the stop itself is an update, too
                        self._watch(node, written)

    def _watch(self, node: str, written: dict[str, Any]) -> None:
        if written.get("fault") and node in ("act", "reflect"):
            self.unanswered = True
        if usage := written.get("usage"):
            self.answered = self.answered or usage["llm_calls"] > self._calls
            self._calls = usage["llm_calls"]
        if node == "observe" and "trajectory" in written and written["trajectory"][-1]["action"] is not None:
            self._on_action()

    async def _values(self) -> dict[str, Any]:
        return (await self._graph.aget_state(self._config)).values

    def _read(self, values: dict[str, Any]) -> bool:
        """Take over how the task stands. Returns whether the state holds a finished trial."""
        trials, trial = values["trials"], values["trial"]
        self.status = values["status"]
        evaluated = bool(trials) and trials[-1]["trial"] == trial
        reflected = bool(values["reflections"]) and values["reflections"][-1]["trial"] == trial
        ended = evaluated and (self.status != "running" or reflected or not self._reflects)
        self.completed = len(trials) - (evaluated and not ended)
        return ended

    def _reopened(self, values: dict[str, Any], evaluation: Callable[[int], Evaluation | None]) -> Reopening | None:
        trials, status = values["trials"], values["status"]
        if status == "failed" and values["trial"] < self._max_trials:
            return Reopening({"status": "running"}, "evaluate")
        if status != "fault":
            return None
        if trials[-1]["stop_reason"] != "fault":
            return Reopening({"status": "running", "fault": ""}, "evaluate")
        # The trial begins anew. Where the actor is shown its last attempt, that is what `reset` must find again.
        last = trials[-1]["trial"] - 1
        again = {"status": "running", "fault": "", "stop_reason": None, "trial": last}
        again |= {"trials": Overwrite(trials[:-1]), "trajectory": Overwrite(values.get("last_attempt", []))}
        return Reopening(again | {"evaluation": evaluation(last)}, "reflect")

    def _finished(self, values: dict[str, Any], seconds: float) -> Finished:
        record, usage = values["trials"][-1], values["usage"]
        lesson = values["reflections"][-1] if values["reflections"] else None
        row = TrialRow(
            task_id=self.task["id"],
            trial=record["trial"],
            success=record["success"],
            verdict=record["verdict"],
            score=record["score"],
            stop_reason=record["stop_reason"],
            actions=record["actions"],
            llm_calls=usage["llm_calls"],
            input_tokens=usage["input_tokens"],
            output_tokens=usage["output_tokens"],
            reflection=lesson["text"] if lesson and lesson["trial"] == record["trial"] else None,
            fault=values["fault"],
            seconds=round(seconds, 3),
        )
        trajectory = TrajectoryRow(
            task_id=self.task["id"],
            trial=record["trial"],
            observation=values["episode"]["observation"],
            steps=values["trajectory"],
            evaluation=values["evaluation"],
        )
        return Finished(row, trajectory)
