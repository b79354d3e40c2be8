"""Custom stream events (`stream_mode="custom"`): the progress of a task for front ends, as small dicts."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, cast

from langgraph.config import get_stream_writer
from langgraph.types import Overwrite
from typing_extensions import TypedDict

from langgraph_reflexion.state import ReflexionState, Status, Step, TrialRecord, Update

SHOWN = 500
"""Maximum number of characters of an observation in an event; the state has the whole text."""


class TrialStarted(TypedDict):
    """A trial begins."""

    event: Literal["trial_started"]
    task: str
    """The task's id, as in all events."""
    trial: int


class ActionTaken(TypedDict):
    """An action was taken. A wrapped agent's actions are sent when its trial has ended."""

    event: Literal["action"]
    task: str
    trial: int
    number: int
    """The step's number in the trial."""
    name: str
    """The action's name; empty if the action is invalid."""
    args: dict[str, Any]
    text: str
    """The action as the model wrote it, or a tool call as text."""
    observation: str
    """At most 500 characters."""


class VerdictGiven(TypedDict):
    """A trial was evaluated."""

    event: Literal["verdict"]
    task: str
    trial: int
    verdict: bool | None
    """None after a fault or a used-up budget."""
    score: float | None
    feedback: str
    stop_reason: str
    status: Status
    """The status of the task; `running` unless this was its last trial."""


class ReflectionWritten(TypedDict):
    """A reflection was written."""

    event: Literal["reflection"]
    task: str
    trial: int
    text: str


Event = TrialStarted | ActionTaken | VerdictGiven | ReflectionWritten


def emit(node: str, state: ReflexionState, update: Update) -> None:
    """Write the events of a node's update to the run's stream, if there is one."""
    try:
        writer = get_stream_writer()
    except (KeyError, RuntimeError):  # a node that is called outside a graph
        return
    for event in events_of(node, state, update):
        writer(event)


def events_of(node: str, state: ReflexionState, update: Mapping[str, Any]) -> Iterator[Event]:
    """Yield the events of a node's update."""
    seen = cast(ReflexionState, {**state, **update})
    if not isinstance(seen.get("task"), dict):
        return
    task, trial = seen["task"]["id"], seen["trial"]
    if node == "reset":
        yield TrialStarted(event="trial_started", task=task, trial=trial)
    elif node == "observe":
        for step in steps_in(update):
            if action := step["action"]:
                yield ActionTaken(
                    event="action",
                    task=task,
                    trial=trial,
                    number=step["number"],
                    name=action["name"],
                    args=action["args"],
                    text=action["text"],
                    observation=step["observation"][:SHOWN],
                )
    elif node == "evaluate":
        record: TrialRecord = update["trials"][-1]
        evaluation = update.get("evaluation")
        yield VerdictGiven(
            event="verdict",
            task=task,
            trial=trial,
            verdict=record["verdict"],
            score=record["score"],
            feedback=evaluation["feedback"] if evaluation else "",
            stop_reason=record["stop_reason"],
            status=update["status"],
        )
    elif node == "reflect" and update.get("reflections"):
        yield ReflectionWritten(event="reflection", task=task, trial=trial, text=update["reflections"][-1]["text"])


def steps_in(update: Mapping[str, Any]) -> list[Step]:
    """Return the steps that an update adds to the trajectory, or replaces it with."""
    steps = update.get("trajectory", [])
    return cast(list[Step], steps.value if isinstance(steps, Overwrite) else steps)
