"""How a task that has ended goes on: after a fault, with a larger budget, or with more trials."""

from typing import Any, NamedTuple

from langgraph.types import Overwrite

from langgraph_reflexion.state import ReflexionState


class Reopening(NamedTuple):
    """What is written to a task's state, and the node that is to have written it: `update_state`'s arguments."""

    values: dict[str, Any]
    as_node: str


def reopen(state: ReflexionState) -> Reopening | None:
    """Say how a task goes on from where it ended.

    A trial that was cut short, by a fault or a budget, goes on with the very action that it stands before, so that it
    ends as if it had never stopped; a wrapped agent's begins anew. After a verdict, what follows is the reflection on
    the trial.

    Args:
        state: The task's last state.

    Returns:
        What to write; None for a task that is solved, still running, or not yet begun. A task that has failed goes on
        with one more trial, however many the graph gives.

    Example:
        ```python
        if going_on := reopen(graph.get_state(config).values):
            graph.update_state(config, *going_on)
            final = graph.invoke(None, config)
        ```
    """
    if state.get("status", "running") in ("solved", "running"):
        return None
    going_on: dict[str, Any] = {"status": "running", "fault": ""}
    last = state["trials"][-1]
    if state["status"] == "budget":
        # The last note says which budget it was.
        going_on["notes"] = state["notes"][:-1]
    if last["stop_reason"] not in ("budget", "fault"):
        going_on["trials"] = [{**last, "notes": going_on.get("notes", last["notes"])}]
        return Reopening(going_on, "evaluate")
    going_on["trials"] = Overwrite(state["trials"][:-1])
    if not state["episode"]["observation"] and not state["trajectory"]:
        # There is no episode yet: the trial begins anew. `reset` counts it, and takes what the actor is shown of its
        # last attempt from the trajectory.
        going_on |= {"trial": state["trial"] - 1, "trajectory": Overwrite(state.get("last_attempt", []))}
        return Reopening(going_on, "reflect")
    stopped = state["stop_reason"]
    if stopped == "fault" and state.get("decision"):
        return Reopening(going_on | {"stop_reason": None}, "act")
    return Reopening(
        going_on | {"stop_reason": None if stopped in ("budget", "fault") else stopped}, "heuristic_check"
    )
