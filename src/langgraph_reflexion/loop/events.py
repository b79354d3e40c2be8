"""Custom stream events (`stream_mode="custom"`): the progress of a task for front ends, as small dicts."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from langgraph.config import get_stream_writer
from langgraph.types import Overwrite

from langgraph_reflexion.state import ReflexionState, Step, Update

SHOWN = 500
"""Maximum number of characters of an observation in an event; the state has the whole text."""


Event = dict[str, Any]
"""An event: its kind (`event`), the task's id (`task`), `trial`, and what `events_of` adds for its kind."""


def emit(node: str, state: ReflexionState, update: Update) -> None:
    """Write the events of a node's update to the run's stream, if there is one."""
    try:
        writer = get_stream_writer()
    except (KeyError, RuntimeError):  # a node that is called outside a graph
        return
    for event in events_of(node, state, update):
        writer(event)


def events_of(node: str, state: ReflexionState, update: Mapping[str, Any]) -> Iterator[Event]:
    """Yield the events of a node's update: `trial_started`, `action`, `verdict` or `reflection`.

    A wrapped agent's actions come when its trial has ended. The verdict is None after a fault or a used-up budget.
    """
    seen = cast(ReflexionState, {**state, **update})
    if not isinstance(seen.get("task"), dict):
        return
    about = {"task": seen["task"]["id"], "trial": seen["trial"]}
    if node == "reset":
        yield {"event": "trial_started", **about}
    elif node == "observe":
        for step in steps_in(update):
            if action := step["action"]:
                observation = step["observation"][:SHOWN]
                yield {"event": "action", **about, "number": step["number"], **action, "observation": observation}
    elif node == "evaluate":
        record, evaluation = update["trials"][-1], update.get("evaluation")
        given = {name: record[name] for name in ("verdict", "score", "stop_reason")}
        feedback = evaluation["feedback"] if evaluation else ""
        yield {"event": "verdict", **about, **given, "feedback": feedback, "status": update["status"]}
    elif node == "reflect" and update.get("reflections"):
        yield {"event": "reflection", **about, "text": update["reflections"][-1]["text"]}


def steps_in(update: Mapping[str, Any]) -> list[Step]:
    """Return the steps that an update adds to the trajectory, or replaces it with."""
    steps = update.get("trajectory", [])
    return cast(list[Step], steps.value if isinstance(steps, Overwrite) else steps)
