"""Traces: a span for each trial, and environment actions as tool runs."""

import itertools
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackManager, BaseCallbackHandler, BaseCallbackManager
from langchain_core.callbacks.manager import AsyncCallbackManagerForChainRun, AsyncCallbackManagerForToolRun
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langchain_core.tracers import LangChainTracer
from langgraph.constants import TAG_NOSTREAM

from langgraph_reflexion.loop.events import emit, steps_in
from langgraph_reflexion.models.calls import TASK, TRIAL
from langgraph_reflexion.state import ReflexionState, Update

IN_TRIAL = ("act", "observe", "evaluate")
"""The nodes whose calls lie below the span of the trial."""

NodeFunction = Callable[[Any, RunnableConfig], Awaitable[Update]]

_numbers = itertools.count()


class TrialTracer(BaseCallbackHandler):
    """The span of the current trial in one run of a graph: a chain run named `trial N` below the root.

    As a callback handler it lives as long as its run and learns how the run ends; the span of an unfinished trial is
    closed then. When the run is resumed, the trial gets another span.
    """

    # LangChain would otherwise call these synchronous methods in a thread for each event.
    run_inline = True
    # Only runs of the graph matter, and a streamed reply has an event for each of its tokens.
    ignore_llm = ignore_chat_model = ignore_retriever = ignore_agent = True

    def __init__(self) -> None:
        self.number = next(_numbers)
        self.root: UUID | None = None
        self.trial = 0
        self.span: AsyncCallbackManagerForChainRun | None = None

    def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: UUID, **more: Any) -> None:
        # The first run is that of the graph; those of its nodes follow.
        if self.root is None:
            self.root = run_id

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **more: Any) -> None:
        if run_id == self.root and self.span:
            # This method cannot await the span's own manager.
            self.span.get_sync().on_chain_end({"status": "interrupted"})
            self.span = None

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **more: Any) -> None:
        if run_id == self.root and self.span:
            self.span.get_sync().on_chain_error(error)
            self.span = None

    async def begin(self, state: ReflexionState, callbacks: BaseCallbackManager) -> UUID:
        """Return the id of the trial's span; begin the span if there is none yet."""
        # The span of an earlier trial has ended with its evaluation.
        if self.span is not None and self.trial == state["trial"]:
            return self.span.run_id
        self.trial = state["trial"]
        inputs = {
            "task": state["task"]["instruction"],
            "trial": self.trial,
            "reflections": [each["text"] for each in state["reflections"]],
        }
        below = below_run(callbacks, self.root)
        self.span = await below.on_chain_start({}, inputs, name=f"trial {self.trial}")
        return self.span.run_id

    async def end(self, update: Update) -> None:
        """End the trial's span with its record, which LangSmith also gets as feedback."""
        span = self.span
        if span is None or not update.get("trials"):
            # A trial whose verdict waits for a person goes on.
            return
        self.span = None
        record = update["trials"][-1]
        outputs = {**record, "evaluation": update.get("evaluation"), "status": update["status"]}
        tracers = [each for each in span.handlers if isinstance(each, LangChainTracer)]
        if not tracers:
            await span.on_chain_end(outputs)
            return

        # LangSmith's own affairs are loaded only where one of its tracers listens.
        from langgraph_reflexion.loop import langsmith

        # Found before the end, as a tracer forgets a run that has ended.
        traces = langsmith.traces_of(span.run_id, tracers)
        await span.on_chain_end(outputs)
        langsmith.send_in_background(traces, self.root, update)


async def observed(node: str, function: NodeFunction, state: ReflexionState, config: RunnableConfig) -> Update:
    """Call a node's function, with its traces and events.

    Its model calls and actions lie below the trial's span, know the task and the trial, and are not streamed as
    messages. (The calls of a wrapped agent are streamed: its node `act` is an `AgentNode`, which does not come here.)
    """
    config = await with_trial(node, state, config)
    # What a judge or a reflection says is not an answer to whoever reads the stream.
    config["tags"] = [*(config.get("tags") or []), TAG_NOSTREAM]
    # An action of the environment is traced as what it would be for an agent: the run of a tool.
    tool = None
    if node == "observe":
        tool = await start_tool(state, config)
    try:
        with ambient(config):
            update = await function(state, config)
    except BaseException as error:
        # A pause for a person and a cancellation end the tool's run as well.
        if tool:
            await tool.on_tool_error(error)
        raise
    if tool:
        await tool.on_tool_end(result_in(update))
    emit(node, state, update)
    if node == "evaluate":
        tracer = tracer_of(config)
        if tracer:
            await tracer.end(update)
    return update


def result_in(update: Update) -> str:
    """Return what came of an action: its observation, or else the fault."""
    steps = steps_in(update)
    if steps:
        return steps[-1]["observation"]
    return str(update.get("fault", ""))


@contextmanager
def ambient(config: RunnableConfig) -> Iterator[None]:
    """Make this the config of everything that is called without one."""
    token = var_child_runnable_config.set(config)
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)


async def with_trial(node: str, state: ReflexionState, config: RunnableConfig) -> RunnableConfig:
    """Return the config of a node's calls: below the trial's span, with the task and the trial in the metadata."""
    config = config.copy()
    if node not in IN_TRIAL:
        return config
    metadata = dict(config.get("metadata", {}))
    metadata[TASK] = state["task"]["id"]
    metadata[TRIAL] = state["trial"]
    config["metadata"] = metadata
    callbacks = listeners_in(config)
    tracer = tracer_of(config)
    if tracer and callbacks:
        # A copy, as the manager is also that of the node's own run.
        below = callbacks.copy()
        below.parent_run_id = await tracer.begin(state, below)
        config["callbacks"] = below
    return config


async def start_tool(state: ReflexionState, config: RunnableConfig) -> AsyncCallbackManagerForToolRun | None:
    """Begin the tool run of the chosen action; None if it is invalid or the run is not traced."""
    decision = state.get("decision")
    if decision is None:
        return None
    action = decision["action"]
    callbacks = listeners_in(config)
    if action is None or not action["name"] or callbacks is None:
        return None
    below = below_run(callbacks, callbacks.parent_run_id)
    name = action["name"]
    args = action["args"]
    given = json.dumps(args, ensure_ascii=False)
    return await below.on_tool_start({"name": name}, given, name=name, inputs=args)


def listeners_in(config: RunnableConfig) -> BaseCallbackManager | None:
    """Return the callbacks of a config if anyone other than the tracers of trials is listening."""
    callbacks = config.get("callbacks")
    if not isinstance(callbacks, BaseCallbackManager):
        return None
    if all(isinstance(each, TrialTracer) for each in callbacks.handlers):
        return None
    return callbacks


def tracer_of(config: RunnableConfig) -> TrialTracer | None:
    """Return the tracer of the innermost graph that is run, which is the newest: managers do not keep their order."""
    callbacks = config.get("callbacks")
    if not isinstance(callbacks, BaseCallbackManager):
        return None
    tracers = [each for each in callbacks.handlers if isinstance(each, TrialTracer)]
    return max(tracers, key=lambda each: each.number, default=None)


def below_run(callbacks: BaseCallbackManager, run_id: UUID | None) -> AsyncCallbackManager:
    """Return the manager of runs below another run.

    `AsyncCallbackManager.configure` would prefer the node's run, where LangSmith traces.
    """
    return AsyncCallbackManager(
        callbacks.handlers,
        callbacks.inheritable_handlers,
        run_id,
        tags=callbacks.inheritable_tags,
        inheritable_tags=callbacks.inheritable_tags,
        metadata=callbacks.inheritable_metadata,
        inheritable_metadata=callbacks.inheritable_metadata,
    )
