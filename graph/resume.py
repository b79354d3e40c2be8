"""How a task that has ended continues: after a fault, with a larger budget, or with more trials."""

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from langgraph.types import Overwrite

from langgraph_reflexion.agents.middleware_state import MiddlewareState, at_evaluation
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
    agent_state = cast(Mapping[str, Any], state)
    if "reflexion" in agent_state:
        own = at_evaluation(cast(MiddlewareState, agent_state["reflexion"]))
        return ResumePoint({"reflexion": own}, "model") if own else None
    state = cast(ReflexionState, state)
    if state.get("status", "running") in ("solved", "running"):
        return None
    values: dict[str, Any] = {"status": "running", "fault": ""}
    last, stopped = state["trials"][-1], state["stop_reason"]
    if state["status"] == "budget":
        values["notes"] = state["notes"][:-1]  # the last note names the budget
    if last["stop_reason"] not in ("budget", "fault"):
        values["trials"] = [{**last, "notes": values.get("notes", last["notes"])}]
        reflected = any(each["trial"] == last["trial"] for each in state["reflections"])
        return ResumePoint(values, "reflect" if reflected else "evaluate")
    values["trials"] = Overwrite(state["trials"][:-1])
    if not state["episode"]["observation"] and not state["trajectory"]:
        # There is no episode yet. `reset` counts the trial, and takes the last attempt from the trajectory.
        values |= {"trial": state["trial"] - 1, "trajectory": Overwrite(state.get("last_attempt", []))}
        return ResumePoint(values, "reflect")
    values["stop_reason"] = None if stopped in ("budget", "fault") else stopped
    return ResumePoint(values, "act" if stopped == "fault" and state.get("decision") else "heuristic_check")
