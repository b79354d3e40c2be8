"""Verdicts as LangSmith feedback. Imported only where a tracer of LangSmith's listens."""

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from langchain_core.tracers import LangChainTracer
from langchain_core.tracers.schemas import Run
from langsmith import Client
from langsmith.run_helpers import get_tracing_context
from langsmith.utils import LangSmithNotFoundError, get_tracer_project

from langgraph_reflexion.state import Update
from langgraph_reflexion.support.text import one_line

ATTEMPTS = 5
"""How often LangSmith is asked for the project of a run, which comes into being with its first run."""
PAUSE = 1.0
"""Seconds between these requests."""
OWN_KEYS = ("verdict", "score", "solved", "trials")
"""The keys of the feedback that is sent, which comes from no person."""


@dataclass(frozen=True)
class Trace:
    """The span of a trial, as one of LangSmith's tracers records it."""

    tracer: LangChainTracer
    span: Run

    @property
    def project(self) -> str:
        """The name of the project that the trace belongs to."""
        # A tracer that was made by environment variables names no project, but its runs do.
        named = self.tracer.project_name or self.span.session_name
        return str(named or get_tracer_project() or "default")


@dataclass(frozen=True)
class Feedback:
    """A value that LangSmith keeps with a run."""

    run: UUID | None
    key: str
    score: Any
    comment: str | None = None


def traces_of(run_id: UUID, tracers: Sequence[LangChainTracer]) -> list[Trace]:
    """Return the traces of a run that has not ended yet, of those tracers that know it."""
    traces = []
    for tracer in tracers:
        span = tracer.run_map.get(str(run_id))
        if span is not None:
            traces.append(Trace(tracer, span))
    return traces


def send_in_background(traces: Sequence[Trace], root: UUID | None, update: Update) -> None:
    """Send what an evaluation says to the trial's traces, and the task's outcome to the run at the root.

    The event loop's threads do so: the trial does not wait.
    """
    if get_tracing_context()["enabled"] == "local":
        # As when LangSmith evaluates without uploading.
        return
    loop = asyncio.get_running_loop()
    for trace in traces:
        given = feedback_in(update, trace.span.id, root)
        send = partial(send_feedback, trace.tracer.client, trace.project, trace.span.trace_id, given)
        loop.run_in_executor(None, send)


def feedback_in(update: Mapping[str, Any], trial: UUID, root: UUID | None) -> list[Feedback]:
    """Return the trial's verdict and score, and after the last trial the task's outcome."""
    record = update["trials"][-1]
    evaluation = update.get("evaluation")
    given = []
    if evaluation:
        given.append(Feedback(trial, "verdict", record["verdict"], evaluation["feedback"] or None))
        given.append(Feedback(trial, "score", record["score"]))
    if update["status"] != "running":
        given.append(Feedback(root, "solved", update["status"] == "solved"))
        given.append(Feedback(root, "trials", record["trial"]))
    return given


def send_feedback(client: Client, project_name: str, trace_id: UUID | None, given: Sequence[Feedback]) -> None:
    """Send feedback to LangSmith. If it cannot be sent, a warning is logged."""
    try:
        project = project_id(client, project_name)
        for each in given:
            client.create_feedback(
                each.run, each.key, score=each.score, comment=each.comment, trace_id=trace_id, session_id=project
            )
    except Exception as error:  # a trace must not cost the run
        logging.getLogger(__name__).warning("LangSmith did not take the feedback: %s", one_line(error))


def project_id(client: Client, name: str) -> Any:
    """Return the id of a project, which may not be there at once.

    Raises:
        LangSmithNotFoundError: it is not there after `ATTEMPTS` requests.
    """
    for _ in range(ATTEMPTS - 1):
        try:
            return client.read_project(project_name=name).id
        except LangSmithNotFoundError:
            time.sleep(PAUSE)
    # The last request is made here, so that its error is raised.
    return client.read_project(project_name=name).id
