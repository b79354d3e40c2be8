"""One task on its way through the graph, advanced trial by trial."""

from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph

from langgraph_reflexion.bench.record import TrajectoryRow, TrialRow
from langgraph_reflexion.envs.base import Task
from langgraph_reflexion.graph.state import Evaluation, Status, Step, TrialRecord, Usage

Graph = CompiledStateGraph[Any, None, Any, Any]

NO_LIMIT = 1_000_000
"""LangGraph's limit on supersteps. The trials and h bound the loop; this must never be what ends it."""


class Finished(NamedTuple):
    """A finished trial, as it is recorded."""

    row: TrialRow
    trajectory: TrajectoryRow


class TaskRun:
    """Pulls one task's updates out of the graph. Between two calls of `advance` the graph stands still.

    Args:
        graph: The Reflexion graph.
        task: The task.
        reflects: Whether a failed trial is reflected on before it counts as finished.
        on_action: Called after every action.

    Attributes:
        status: How the task stands.
        answered: Whether a model has answered any call of this task.
        unanswered: Whether the task ended because a model did not answer.
    """

    def __init__(self, graph: Graph, task: Task, *, reflects: bool, on_action: Callable[[], None]) -> None:
        self.task = task
        self.status: Status = "running"
        self.answered = False
        self.unanswered = False
        self._reflects = reflects
        self._on_action = on_action
        config = RunnableConfig(configurable={"thread_id": task["id"]}, recursion_limit=NO_LIMIT)
        self._stream: Any = graph.astream({"task": task}, config, stream_mode="updates")

    async def advance(self) -> Finished:
        """Run the next trial to its end, with the reflection that follows it."""
        started = perf_counter()
        self._begin_trial()
        async for update in self._stream:
            for node, written in update.items():
                self._take(node, written)
            # Once the task is finished the graph is let run to its own end; before, it is left standing.
            if self._complete and self.status == "running":
                break
        return self._finished(perf_counter() - started)

    async def close(self) -> None:
        """Let go of the graph's run, wherever it stands."""
        await self._stream.aclose()

    def _begin_trial(self) -> None:
        self._complete = False
        self._observation = ""
        self._steps: list[Step] = []
        self._evaluation: Evaluation | None = None
        self._reflection: str | None = None
        self._fault = ""

    def _take(self, node: str, written: dict[str, Any]) -> None:
        self._fault = written.get("fault", self._fault)
        if self._fault and node in ("act", "reflect"):
            self.unanswered = True
        if usage := written.get("usage"):
            self._usage: Usage = usage
            self.answered = self.answered or usage["llm_calls"] > 0
        self.status = written.get("status", self.status)
        match node:
            case "reset":
                self._observation = written["episode"]["observation"]
            case "observe" if "trajectory" in written:
                self._steps += written["trajectory"]
                if written["trajectory"][-1]["action"] is not None:
                    self._on_action()
            case "evaluate":
                self._evaluation = written["evaluation"]
                self._record: TrialRecord = written["trials"][-1]
                self._complete = not self._reflects
            case "reflect":
                self._complete = True
                if "reflections" in written:
                    self._reflection = written["reflections"][-1]["text"]

    def _finished(self, seconds: float) -> Finished:
        record, usage = self._record, self._usage
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
            reflection=self._reflection,
            fault=self._fault,
            seconds=round(seconds, 3),
        )
        trajectory = TrajectoryRow(
            task_id=self.task["id"],
            trial=record["trial"],
            observation=self._observation,
            steps=self._steps,
            evaluation=self._evaluation,
        )
        return Finished(row, trajectory)
