"""Traces: a span for each trial, environment actions as tool runs, verdicts as LangSmith feedback."""

import asyncio
import itertools
import json
import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackManager, BaseCallbackHandler, BaseCallbackManager
from langchain_core.callbacks.manager import AsyncCallbackManagerForChainRun, AsyncCallbackManagerForToolRun
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langchain_core.tracers import LangChainTracer
from langgraph.constants import TAG_NOSTREAM
from langsmith.run_helpers import get_tracing_context
from langsmith.utils import LangSmithNotFoundError, get_tracer_project

from langgraph_reflexion.loop.events import emit, steps_in
from langgraph_reflexion.models.calls import TASK, TRIAL
from langgraph_reflexion.state import ReflexionState, Update
from langgraph_reflexion.support.text import one_line

IN_TRIAL = ("act", "observe", "evaluate")
"""The nodes whose calls lie below the span of the trial."""

ATTEMPTS, PAUSE = 5, 1.0
"""How often LangSmith is asked for the project of a run, which comes into being with its first run; and seconds
between."""
_numbers = itertools.count()
NodeFunction = Callable[[Any, RunnableConfig], Awaitable[Update]]


class TrialTracer(BaseCallbackHandler):
    """The span of the current trial in one run of a graph: a chain run named `trial N` below the root.

    As a callback handler it lives as long as its run and learns how the run ends; the span of an unfinished trial is
    closed then. When the run is resumed, the trial gets another span.
    """

    run_inline = True
    ignore_llm = ignore_chat_model = ignore_retriever = ignore_agent = True

    def __init__(self) -> None:
        self.number = next(_numbers)
        self.root: UUID | None = None
        self.trial = 0
        self.span: AsyncCallbackManagerForChainRun | None = None

    def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: UUID, **more: Any) -> None:
        self.root = self.root or run_id

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **more: Any) -> None:
        if run_id == self.root and self.span:
            self.span.get_sync().on_chain_end({"status": "interrupted"})
            self.span = None

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **more: Any) -> None:
        if run_id == self.root and self.span:
            self.span.get_sync().on_chain_error(error)
            self.span = None

    async def begin(self, state: ReflexionState, callbacks: BaseCallbackManager) -> UUID:
        """Return the id of the trial's span; begin the span if there is none yet."""
        if self.span is None or self.trial != state["trial"]:
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
        """End the trial's span with its record."""
        if self.span:
            span, self.span = self.span, None
            tracers = [each for each in span.handlers if isinstance(each, LangChainTracer)]
            traces = [(tracer, tracer.run_map.get(str(span.run_id))) for tracer in tracers]
            outputs = {**update["trials"][-1], "evaluation": update.get("evaluation"), "status": update["status"]}
            await span.on_chain_end(outputs)
            local = get_tracing_context()["enabled"] == "local"  # as when LangSmith evaluates without uploading
            for tracer, run in traces:
                if run is not None and not local:
                    # A tracer that was made by environment variables names no project, but its runs do.
                    named = tracer.project_name or run.session_name
                    project: str = named or get_tracer_project() or "default"
                    runs = (run.trace_id, span.run_id, self.root)
                    send = partial(send_feedback, tracer.client, project, runs, update)
                    asyncio.get_running_loop().run_in_executor(None, send)


async def observed(node: str, function: NodeFunction, state: ReflexionState, config: RunnableConfig) -> Update:
    """Call a node's function, with its traces and events.

    Its model calls and actions lie below the trial's span, know the task and the trial, and are not streamed as
    messages; those of a wrapped agent are.
    """
    config = await with_trial(node, state, config)
    config["tags"] = [*(config.get("tags") or []), TAG_NOSTREAM]
    tool = await start_tool(state, config) if node == "observe" else None
    try:
        with ambient(config):
            update = await function(state, config)
    except BaseException as error:
        if tool:
            await tool.on_tool_error(error)
        raise
    if tool:
        steps = steps_in(update)
        await tool.on_tool_end(steps[-1]["observation"] if steps else str(update.get("fault", "")))
    emit(node, state, update)
    if node == "evaluate" and (tracer := tracer_of(config)):
        await tracer.end(update)
    return update


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
    config = {**config}
    if node not in IN_TRIAL:
        return config
    config["metadata"] = {**config.get("metadata", {}), TASK: state["task"]["id"], TRIAL: state["trial"]}
    callbacks, tracer = config.get("callbacks"), tracer_of(config)
    if tracer and isinstance(callbacks, BaseCallbackManager) and is_traced(callbacks):
        config["callbacks"] = callbacks = callbacks.copy()
        callbacks.parent_run_id = await tracer.begin(state, callbacks)
    return config


async def start_tool(state: ReflexionState, config: RunnableConfig) -> AsyncCallbackManagerForToolRun | None:
    """Begin the tool run of the chosen action; None if it is invalid or the run is not traced."""
    decision, callbacks = state.get("decision"), config.get("callbacks")
    action = decision["action"] if decision else None
    if not (action and action["name"] and isinstance(callbacks, BaseCallbackManager) and is_traced(callbacks)):
        return None
    below = below_run(callbacks, callbacks.parent_run_id)
    given = json.dumps(action["args"], ensure_ascii=False)
    return await below.on_tool_start({"name": action["name"]}, given, name=action["name"], inputs=action["args"])


def is_traced(callbacks: BaseCallbackManager) -> bool:
    """Return whether anybody else listens than the tracers of trials."""
    return not all(isinstance(each, TrialTracer) for each in callbacks.handlers)


def tracer_of(config: RunnableConfig) -> TrialTracer | None:
    """Return the tracer of the innermost graph that is run, which is the newest: managers do not keep their order."""
    callbacks = config.get("callbacks")
    handlers = callbacks.handlers if isinstance(callbacks, BaseCallbackManager) else []
    tracers = [each for each in handlers if isinstance(each, TrialTracer)]
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


def send_feedback(
    client: Any, project_name: str, runs: tuple[UUID | None, UUID, UUID | None], update: Mapping[str, Any]
) -> None:
    """Send the trial's verdict and score to LangSmith, and after the last trial the task's outcome."""
    trace, trial, root = runs
    record, evaluation = update["trials"][-1], update.get("evaluation")
    given: list[tuple[UUID | None, str, Any, str | None]] = []
    if evaluation:
        given += [(trial, "verdict", record["verdict"], evaluation["feedback"] or None)]
        given += [(trial, "score", record["score"], None)]
    if update["status"] != "running":
        given += [(root, "solved", update["status"] == "solved", None), (root, "trials", record["trial"], None)]
    try:
        for left in reversed(range(ATTEMPTS)):
            try:
                project = client.read_project(project_name=project_name).id
                break
            except LangSmithNotFoundError:
                if not left:
                    raise
                time.sleep(PAUSE)
        for run, key, score, comment in given:
            client.create_feedback(run, key, score=score, comment=comment, trace_id=trace, session_id=project)
    except Exception as error:  # a trace must not cost the run
        logging.getLogger(__name__).warning("LangSmith did not take the feedback: %s", one_line(error))
