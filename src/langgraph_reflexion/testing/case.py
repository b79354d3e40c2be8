"""An environment with something to do in it, and ways to do it."""

import asyncio
import time
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import inf
from typing import Any, TypeVar

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
    """An action with a value for each argument that its schema allows, as far as that can be made up."""
    parameters = spec.function["parameters"]
    args = {name: _value(field, parameters.get("$defs", {})) for name, field in parameters["properties"].items()}
    return Action(name=spec.name, args=args, text=spec.render(args))


def _value(schema: dict[str, Any], definitions: dict[str, Any], depth: int = 0) -> Any:
    if "$ref" in schema:
        return _value(definitions[schema["$ref"].rpartition("/")[2]], definitions, depth + 1)
    deep = depth > 1  # Models that hold themselves end here.
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            kinds = [each for each in schema[several] if each.get("type") != "null"]
            return None if deep and len(kinds) < len(schema[several]) else _value(kinds[0], definitions, depth)
    if values := schema.get("enum", [schema["const"]] if "const" in schema else []):
        return next((value for value in values if str(value).strip()), values[0])
    match schema.get("type"):
        case "boolean":
            return True
        case "integer" | "number":
            return _number(schema)
        case "array":
            items = schema.get("prefixItems", [schema.get("items", {})] * schema.get("minItems", not deep))
            return [_value(item, definitions, depth) for item in items]
        case "object":
            fields = schema.get("properties", {})
            return {name: _value(fields[name], definitions, depth) for name in schema.get("required", [])}
    shortest, longest = schema.get("minLength", 0), schema.get("maxLength", 7)
    return "thing 1" if shortest <= 7 <= longest else "a" * (shortest or longest)


def _number(schema: dict[str, Any]) -> float:
    low, high = schema.get("minimum", -inf), schema.get("maximum", inf)
    above, below = schema.get("exclusiveMinimum", -inf), schema.get("exclusiveMaximum", inf)
    bottom, top = max(low, above), min(high, below)
    usual = 2 if schema["type"] == "integer" else 2.5
    tries = (usual, bottom, top, bottom + 1, top - 1, (bottom + top) / 2)
    return next((each for each in tries if low <= each <= high and above < each < below), usual)


def parsed(environment: Environment, text: str) -> Action:
    """Read an action written as text, which must be one."""
    action = environment.parse(text)
    if action is None:
        raise AssertionError(f"{text!r} is not understood as an action")
    return action


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
