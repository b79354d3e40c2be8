"""A task, the actions to take in it, and helpers that take them."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from jinja2.exceptions import TemplateError

from langgraph_reflexion.envs.base import Action, ActionSpec, Environment, StepResult, Task
from langgraph_reflexion.envs.grammar import parse_action
from langgraph_reflexion.envs.json_schema import alternatives, literals
from langgraph_reflexion.envs.load import tasks_of
from langgraph_reflexion.envs.pool import EpisodePool, call_blocking
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.prompts import Prompts


@dataclass(frozen=True)
class Case:
    """An environment, one of its tasks, and actions to take in it."""

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
        """Make a case from the arguments of `check_environment`."""
        if task is None:
            task = tasks_of(environment, limit=1)[0]
        if actions is None:
            return cls(environment, task, [made_up(spec) for spec in specs(environment)], limit)
        given = []
        for action in actions:
            if isinstance(action, str):
                action = parsed(environment, action)
            given.append(action)
        return cls(environment, task, given, limit)


def specs(environment: Environment) -> list[ActionSpec]:
    """Return the environment's actions in order."""
    return list(environment.actions().values())


def made_up(spec: ActionSpec) -> Action:
    """Return an action with generated arguments of the right types; other rules of its schema may be broken."""
    parameters = spec.function["parameters"]
    args = {name: _value(field, parameters) for name, field in parameters["properties"].items()}
    return Action(name=spec.name, args=args, text=spec.render(args))


def _value(given: Any, root: dict[str, Any]) -> Any:
    """Return a value that a schema allows."""
    schema, *others = alternatives(given, root)
    # A model that holds itself ends here.
    if schema.get("type") == "object" and {"type": "null"} in others:
        return None
    values = literals(schema)
    if values:
        return _first_visible(values)
    match schema.get("type"):
        case "boolean":
            return True
        case "integer" | "number":
            highest = schema.get("maximum", 2)
            return schema.get("minimum", min(2, highest))
        case "array":
            items = schema.get("items", {})
            return [_value(items, root) for _ in range(schema.get("minItems", 0))]
        case "object":
            fields = schema.get("properties", {})
            return {name: _value(fields[name], root) for name in schema.get("required", [])}
    return "thing 1"


def _first_visible(values: Sequence[Any]) -> Any:
    """Return the first value that is not blank, which a text form could not show; the first if all are."""
    for value in values:
        if str(value).strip():
            return value
    return values[0]


def parsed(environment: Environment, text: str) -> Action:
    """Parse an action; raise AssertionError for any other text."""
    action = parse_action(environment, text)
    if action is None:
        raise AssertionError(f"{text!r} is not an action")
    return action


class Played:
    """A new episode of a case, synchronous or not, played from synchronous code."""

    def __init__(self, case: Case) -> None:
        self.environment = case.environment
        self.episode = call_blocking(self.environment, self.environment.start, case.task)

    def step(self, action: Action) -> StepResult:
        result: StepResult = call_blocking(self.environment, self.episode.step, action)
        return result

    def snapshot(self) -> dict[str, Any] | None:
        return call_blocking(self.environment, self.episode.snapshot)

    def close(self) -> None:
        call_blocking(self.environment, self.episode.close)


def first_snapshot(case: Case) -> dict[str, Any] | None:
    """Return the snapshot of a new episode, or None."""
    with closing(Played(case)) as episode:
        return episode.snapshot()


def played(case: Case) -> tuple[str, list[StepResult]]:
    """Return the first observation and the results of all actions in a new episode."""
    with closing(Played(case)) as played:
        return played.episode.observation, [played.step(action) for action in case.actions]


async def pooled(case: Case) -> tuple[list[StepResult], list[dict[str, Any] | None]]:
    """Return the results of all actions in a live episode, and the snapshot before each."""
    pool = EpisodePool(case.environment)
    _, snapshot = await pool.start(case.task)
    results, snapshots = [], []
    for index, action in enumerate(case.actions):
        snapshots.append(snapshot)
        stepped = await pool.step(case.task, case.actions[:index], action, snapshot)
        results.append(stepped.result)
        snapshot = stepped.snapshot
    await pool.aclose()
    return results, snapshots


async def largest_gap(case: Case) -> float:
    """Return the longest time in seconds for which the pool blocked the event loop."""
    gap = 0.0
    playing = asyncio.create_task(pooled(case))
    while not playing.done():
        before = time.perf_counter()
        await asyncio.sleep(0.005)
        gap = max(gap, time.perf_counter() - before)
    # An error of the episode is raised here.
    await playing
    return gap


def difference(when: str, expected: Sequence[StepResult], found: Sequence[StepResult]) -> str:
    """Describe the first action whose results differ."""
    for index, (one, other) in enumerate(zip(expected, found, strict=False)):
        if one != other:
            return f"{when}: at action {index + 1} there was {one}, then {other}"
    return when


def rendered(prompts: Prompts, name: str, values: dict[str, Any]) -> str:
    """Render a template; raise AssertionError with the place of an error."""
    try:
        return prompts.render(name, **values)
    except (TemplateError, ConfigurationError) as error:
        raise AssertionError(f"{name}.md fails: {error}") from error
