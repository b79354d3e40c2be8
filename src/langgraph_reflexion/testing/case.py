"""An environment with something to do in it, and ways to do it."""

import asyncio
import time
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, TypeVar, get_args, get_origin

from langgraph_reflexion.envs.base import Action, ActionSpec, Environment, StepResult, Task
from langgraph_reflexion.envs.pool import EpisodePool

_T = TypeVar("_T")


@dataclass(frozen=True)
class Case:
    """An environment, and what to do in it."""

    environment: Environment
    task: Task
    actions: list[Action]
    limit: int | None = None

    @classmethod
    def of(
        cls,
        environment: Environment,
        *,
        task: Task | None = None,
        actions: Sequence[Action | str] | None = None,
        limit: int | None = None,
    ) -> "Case":
        """Fill in what was left out.

        Args:
            environment: What is checked.
            task: In which task; its first one unless given.
            actions: What is done there, as actions or as text, best with all kinds of them and few enough to
                leave the episode running; otherwise each action once, with made-up arguments.
            limit: After how many steps the environment truncates an episode, if it does.
        """
        chosen = environment.tasks(limit=1)[0] if task is None else task
        if actions is None:
            return cls(environment, chosen, [made_up(spec) for spec in specs(environment)], limit)
        given = [parsed(environment, action) if isinstance(action, str) else action for action in actions]
        return cls(environment, chosen, given, limit)


def specs(environment: Environment) -> list[ActionSpec]:
    """The environment's actions in order."""
    return list(environment.episode.actions().values())


def made_up(spec: ActionSpec) -> Action:
    """An action with some value of the right type for each argument."""
    args = {name: _value(field.annotation) for name, field in spec.schema.model_fields.items()}
    return Action(name=spec.name, args=args, text=spec.render(args))


def _value(kind: Any) -> Any:
    if get_origin(kind) is Literal:
        return get_args(kind)[0]
    if isinstance(kind, type) and issubclass(kind, Enum):
        return next(iter(kind)).value
    return {int: 2, float: 2.5, bool: True}.get(kind, "thing 1")


def parsed(environment: Environment, text: str) -> Action:
    """Read an action written as text, which must be one."""
    action = environment.parse(text)
    if action is None:
        raise AssertionError(f"{text!r} is not understood as an action")
    return action


def filled(form: str, values: dict[str, Any]) -> str:
    """A text form with values in place of the braces."""
    for name, value in values.items():
        form = form.replace("{" + name + "}", str(value))
    return form


def first_snapshot(case: Case) -> dict[str, Any] | None:
    """The snapshot of a fresh episode; None where its environment makes none."""
    episode = case.environment.start(case.task)
    try:
        return episode.snapshot()
    finally:
        episode.close()


def played(case: Case) -> tuple[str, list[StepResult]]:
    """The first observation, and what all actions led to in an episode of its own."""
    episode = case.environment.start(case.task)
    try:
        return episode.observation, [episode.step(action) for action in case.actions]
    finally:
        episode.close()


async def pooled(case: Case) -> tuple[list[StepResult], list[dict[str, Any] | None]]:
    """The results of all actions in a live episode, and the snapshot before each of them."""
    pool = EpisodePool(case.environment)
    _, snapshot = await pool.start(case.task)
    results, snapshots = [], []
    for index, action in enumerate(case.actions):
        snapshots.append(snapshot)
        stepped = await pool.step(case.task, case.actions[:index], action, snapshot)
        results.append(stepped.result)
        snapshot = stepped.snapshot
    pool.close()
    return results, snapshots


async def largest_gap(case: Case) -> float:
    """For how many seconds the loop stood still at most while all actions were taken through a pool."""
    gap, stop = 0.0, asyncio.Event()

    async def tick() -> None:
        nonlocal gap
        while not stop.is_set():
            before = time.perf_counter()
            await asyncio.sleep(0.005)
            gap = max(gap, time.perf_counter() - before)

    ticker = asyncio.create_task(tick())
    await asyncio.sleep(0)
    await pooled(case)
    stop.set()
    await ticker
    return gap


def run(coroutine: Coroutine[Any, Any, _T]) -> _T:
    """Run to the end, in a thread of its own, since the caller's may have a loop that runs already."""
    with ThreadPoolExecutor(1) as executor:
        return executor.submit(asyncio.run, coroutine).result()
