"""Custom stream events (`stream_mode="custom"`): the progress of a task for front ends, as small dicts."""

from collections.abc import Iterator, Mapping
from typing import Any

from langgraph.config import get_stream_writer
from langgraph.types import Overwrite

from langgraph_reflexion.envs.base import Action
from langgraph_reflexion.state import ReflexionState, Step, Update

SHOWN = 500
"""Maximum number of characters of an observation, or of a judge's words, in an event."""

Event = dict[str, Any]
"""An event: its kind (`event`), the task's id (`task`), `trial`, and what `events_of` adds for its kind."""


def emit(node: str, state: ReflexionState, update: Update) -> None:
    """Write the events of a node's update to the run's stream, if there is one."""
    for event in events_of(node, state, update):
        _write(event)


def emit_criterion(state: ReflexionState, number: int, criterion: str, verdict: Mapping[str, Any]) -> None:
    """Write a `criterion` to the run's stream, if there is one: a judge's verdict on it, as soon as it is known.

    Args:
        state: The state of the trial.
        number: The criterion's number, counted from 1.
        criterion: Its words.
        verdict: `met` ("yes", "no" or "unknown"), `evidence` and `missing`.
    """
    _write(
        {
            "event": "criterion",
            "task": state["task"]["id"],
            "trial": state["trial"],
            "number": number,
            "criterion": criterion,
            "met": verdict["met"],
            "evidence": verdict["evidence"][:SHOWN],
            "missing": verdict["missing"][:SHOWN],
        }
    )


def _write(event: Event) -> None:
    try:
        writer = get_stream_writer()
    except (KeyError, RuntimeError):  # a node that is called outside a graph
        return
    writer(event)


def events_of(node: str, state: ReflexionState, update: Mapping[str, Any]) -> Iterator[Event]:
    """Yield the events of a node's update: `trial_started`, `action`, `verdict` or `reflection`.

    A wrapped agent's actions come when its trial has ended. The verdict is None after a fault or a used-up budget,
    and comes only after a person's decision if it waits for one.
    """
    seen: Mapping[str, Any] = {**state, **update}
    task = seen.get("task")
    # Until `reset` has found it, a task may be words.
    if not isinstance(task, dict):
        return
    about = {"task": task["id"], "trial": seen["trial"]}
    if node == "reset":
        yield {"event": "trial_started", **about}
    elif node == "observe":
        for step in steps_in(update):
            if step["action"]:
                yield _action_event(about, step, step["action"])
    elif node == "evaluate" and update.get("trials"):
        yield _verdict_event(about, update)
    elif node == "reflect" and update.get("reflections"):
        newest = update["reflections"][-1]
        # Without a useful one on this trial, the newest is that on an earlier one.
        if newest["trial"] == about["trial"]:
            yield {"event": "reflection", **about, "text": newest["text"]}


def _action_event(about: Event, step: Step, action: Action) -> Event:
    return {
        "event": "action",
        **about,
        "number": step["number"],
        **action,
        "observation": step["observation"][:SHOWN],
    }


def _verdict_event(about: Event, update: Mapping[str, Any]) -> Event:
    record = update["trials"][-1]
    evaluation = update.get("evaluation")
    feedback = ""
    if evaluation:
        feedback = evaluation["feedback"]
    return {
        "event": "verdict",
        **about,
        "verdict": record["verdict"],
        "score": record["score"],
        "stop_reason": record["stop_reason"],
        "feedback": feedback,
        "status": update["status"],
    }


def steps_in(update: Mapping[str, Any]) -> list[Step]:
    """Return the steps that an update adds to the trajectory, or replaces it with."""
    written = update.get("trajectory", [])
    steps: list[Step] = written
    if isinstance(written, Overwrite):
        steps = written.value
    return steps
