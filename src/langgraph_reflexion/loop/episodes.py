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


def new_episode(
    task: Task, began: float, observation: str, snapshot: dict[str, Any] | None, key: str = ""
) -> EpisodeState:
    """Return the state of a fresh episode.

    Args:
        task: The task.
        began: The task's time in seconds before it.
        observation: Its first observation.
        snapshot: Its snapshot, if any.
        key: The key by which the pool finds it.
    """
    return EpisodeState(
        task=task["id"],
        began=began,
        observation=sanitize(observation),
        reward=None,
        terminated=False,
        truncated=False,
        snapshot=snapshot,
        key=key,
    )


def key_of(state: ReflexionState) -> str:
    """Return the key by which the pool finds the trial's episode."""
    return state["episode"].get("key", "")


async def begin_episode(
    pool: EpisodePool, task: Task, continued: Sequence[ContinuedTrial], key: str
) -> tuple[str, dict[str, Any] | None]:
    """Begin a trial's episode, and return its first observation and its snapshot.

    Args:
        pool: The live episodes.
        task: The task.
        continued: The trials that this one continues, the last of which has left the world; none for a fresh episode.
        key: The key by which the pool finds it again.

    Raises:
        Fault: it could not be started.
    """
    if not continued:
        return await pool.start(task, key=key)
    left = continued[-1]["episode"]
    # An environment that can go on has snapshots.
    snapshot = await pool.go_on(task, left["snapshot"] or {}, key=key)
    # As the conversation has shown it.
    return left["observation"], snapshot


async def begin_anew(pool: EpisodePool, state: ReflexionState, lost: EpisodeLost) -> Update:
    """Begin the trial again as it began, and say so in its notes; what it has spent remains spent."""
    task = state["task"]
    key = key_of(state)
    try:
        observation, snapshot = await begin_episode(pool, task, state.get("continued", []), key)
    except Fault as fault:
        return {"stop_reason": "fault", "fault": as_data(fault)}
    return {
        "trajectory": Overwrite([]),
        # They are kept by the numbers of steps, which begin anew.
        "replies": {},
        "episode": new_episode(task, state["episode"]["began"], observation, snapshot, key),
        "notes": [*state["notes"], str(lost)],
    }
