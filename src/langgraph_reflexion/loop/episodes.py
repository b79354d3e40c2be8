"""A trial's episode in the state: how a trial starts, and starts over."""

from collections.abc import Sequence
from typing import Any

from langgraph.types import Overwrite

from langgraph_reflexion.envs.base import Task
from langgraph_reflexion.envs.pool import EpisodePool
from langgraph_reflexion.errors import EpisodeLost, Fault
from langgraph_reflexion.models.calls import as_data
from langgraph_reflexion.state import ContinuedTrial, EpisodeState, ReflexionState, Update
from langgraph_reflexion.support.text import sanitize


def new_episode(task: Task, began: float, observation: str, snapshot: dict[str, Any] | None) -> EpisodeState:
    """Return the state of a fresh episode; `began` is the task's time in seconds before it."""
    return EpisodeState(
        task=task["id"],
        began=began,
        observation=sanitize(observation),
        reward=None,
        terminated=False,
        truncated=False,
        snapshot=snapshot,
    )


async def begin_episode(
    pool: EpisodePool, task: Task, continued: Sequence[ContinuedTrial]
) -> tuple[str, dict[str, Any] | None]:
    """Begin a trial's episode, and return its first observation and its snapshot.

    Args:
        pool: The live episodes.
        task: The task.
        continued: The trials that this one continues, the last of which has left the world; none for a fresh episode.

    Raises:
        Fault: it could not be started.
    """
    if not continued:
        return await pool.start(task)
    left = continued[-1]["episode"]
    # An environment that can go on has snapshots.
    snapshot = await pool.go_on(task, left["snapshot"] or {})
    # As the conversation has shown it.
    return left["observation"], snapshot


async def begin_anew(pool: EpisodePool, state: ReflexionState, lost: EpisodeLost) -> Update:
    """Begin the trial again as it began, and say so in its notes; what it has spent remains spent."""
    task = state["task"]
    try:
        observation, snapshot = await begin_episode(pool, task, state.get("continued", []))
    except Fault as fault:
        return {"stop_reason": "fault", "fault": as_data(fault)}
    return {
        "trajectory": Overwrite([]),
        # They are kept by the numbers of steps, which begin anew.
        "replies": {},
        "episode": new_episode(task, state["episode"]["began"], observation, snapshot),
        "notes": [*state["notes"], str(lost)],
    }
