"""How a task that has ended continues: after a fault, with a larger budget, or with more trials."""

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from langgraph.types import Overwrite

from langgraph_reflexion.agents.middleware_state import MiddlewareState, at_evaluation
from langgraph_reflexion.models.recorded import NO_GAIN, ended_at_no_gain
from langgraph_reflexion.state import ReflexionState


class ResumePoint(NamedTuple):
    """The arguments of `update_state`: what is written to the state, and as which node."""

    values: dict[str, Any]
    as_node: str


def resume_point(state: ReflexionState | Mapping[str, Any]) -> ResumePoint | None:
    """Return how a task continues from its last state; None if it is solved, still running or not begun.

    A trial that was cut short, by a fault or a budget, continues with the very action that was next; a wrapped
    agent's starts over. After a verdict comes the reflection, and then one more trial. An agent with
    `ReflexionMiddleware` continues only at an evaluation that a fault has prevented.

    Example:
        if point := resume_point(graph.get_state(config).values):
            graph.update_state(config, *point)
            final = graph.invoke(None, config)
    """
    given: Mapping[str, object] = state
    if "reflexion" in given:
        return _middleware_point(cast(MiddlewareState, given["reflexion"]))
    return _point(cast(ReflexionState, state))


def _middleware_point(own: MiddlewareState) -> ResumePoint | None:
    """Return how an agent with `ReflexionMiddleware` continues, if it can."""
    waiting = at_evaluation(own)
    if not waiting:
        return None
    return ResumePoint({"reflexion": waiting}, "model")


def _point(state: ReflexionState) -> ResumePoint | None:
    """Return how a graph's task continues, if it has ended without a solution."""
    if state.get("status", "running") in ("solved", "running"):
        return None
    values: dict[str, Any] = {"status": "running", "fault": ""}
    if state["status"] == "budget":
        # The last note names the budget.
        values["notes"] = state["notes"][:-1]
    elif ended_at_no_gain(state["notes"]):
        # It goes on all the same.
        values["notes"] = [note for note in state["notes"] if not note.startswith(NO_GAIN)]

    if state["trials"][-1]["stop_reason"] in ("budget", "fault"):
        return _within_trial(state, values)
    return _after_verdict(state, values)


def _after_verdict(state: ReflexionState, values: dict[str, Any]) -> ResumePoint:
    """Return how a task continues after its last trial: with the reflection, or with one more trial."""
    last = state["trials"][-1]
    notes = values.get("notes", last["notes"])
    values["trials"] = [{**last, "notes": notes}]
    reflected = any(each["trial"] == last["trial"] for each in state["reflections"])
    # Written as a node, the values lead to what comes after that node.
    if reflected:
        return ResumePoint(values, "reflect")
    return ResumePoint(values, "evaluate")


def _within_trial(state: ReflexionState, values: dict[str, Any]) -> ResumePoint:
    """Return how a trial that was cut short continues."""
    # The trial gets its record at its end. A plain list would be merged with the records of the state.
    values["trials"] = Overwrite(state["trials"][:-1])
    has_begun = bool(state["episode"]["observation"] or state["trajectory"])
    if not has_begun:
        # There is no episode yet. `reset` counts the trial, and takes the last attempt from the trajectory.
        values["trial"] = state["trial"] - 1
        values["trajectory"] = Overwrite(state.get("last_attempt", []))
        return ResumePoint(values, "reflect")
    stopped = state["stop_reason"]
    # From `heuristic_check` a stop reason leads to `evaluate`: a trial that had come to its end is only judged.
    values["stop_reason"] = stopped
    # One that was cut short goes on.
    if stopped in ("budget", "fault"):
        values["stop_reason"] = None
    if stopped == "fault" and state.get("decision"):
        # The action was chosen, and not done.
        return ResumePoint(values, "act")
    return ResumePoint(values, "heuristic_check")
