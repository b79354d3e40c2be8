"""Worlds with `reset` and `step` as environments: Gymnasium's, OpenEnv's, and others of this shape.

```python
from langgraph_reflexion.adapters.gym import GymEnvironment

lake = GymEnvironment("FrozenLake-v1", actions=["left", "down", "right", "up"])
```
"""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import Any

from langgraph_reflexion.adapters.gym_actions import Actions, actions_of, named_actions
from langgraph_reflexion.adapters.gym_results import Seen, after_reset, after_step, rendered
from langgraph_reflexion.adapters.tool_spec import ToolSpec
from langgraph_reflexion.adapters.tool_world import Opened
from langgraph_reflexion.adapters.tools import tasks_of
from langgraph_reflexion.envs.base import Action, ActionSpec, Environment, Episode, StepResult, Task
from langgraph_reflexion.errors import ConfigurationError, EnvironmentUnavailable, the_extra
from langgraph_reflexion.evaluators.base import Score
from langgraph_reflexion.evaluators.function import to_score
from langgraph_reflexion.support.calling import ByName
from langgraph_reflexion.support.sync import finished

KNOWN = ("observation", "info", "env", "task", "reward", "total", "terminated", "truncated")
"""The parameters that `render` and `success` may have."""


class GymEpisode(Episode):
    """A trial in a world."""

    def __init__(self, environment: "GymEnvironment", task: Task) -> None:
        self.environment = environment
        self.task = task
        self._total = 0.0
        self._scored = 0.0
        self._end: StepResult | None = None
        self._world = Opened(environment.open, task)
        try:
            self._actions = self._world.run(lambda: environment.actions_in(self._env))
            self.observation = self._world.run(self._reset)
        except BaseException:
            self.close()
            raise

    @property
    def specs(self) -> Mapping[str, ActionSpec]:
        return self._actions.specs

    def step(self, action: Action) -> StepResult:
        """Take a step in the world. An invalid action leaves the score as it was."""
        result: StepResult = super().step(action)
        if result.reward is None:
            return replace(result, reward=self._scored)
        return result

    def perform(self, spec: ActionSpec, args: dict[str, Any]) -> StepResult:
        """Take a step in the world. One that it does not have is an observation that says so."""
        # No world says what a step after its end does.
        if self._end:
            return self._end
        try:
            value = self._actions.value(spec.name, args)
        except ValueError as error:
            return StepResult(self.invalid(f"{spec.name}, {error}"))
        result = self._world.run(lambda: self._step(value))
        if result.terminated or result.truncated:
            self._end = result
        return result

    def close(self) -> None:
        self._world.close()

    @property
    def _env(self) -> Any:
        return self._world.given

    def _reset(self) -> str:
        arguments = self.task.get("data", {}).get("reset", {})
        result = finished(self._env.reset(**arguments))
        return self._words(after_reset(result))

    def _step(self, value: Any) -> StepResult:
        seen = after_step(finished(self._env.step(value)))
        self._total += seen.reward
        words = [self._words(seen)]
        score = self._score(seen)
        self._scored = score.score
        solved = score.score >= 1.0
        if seen.terminated or seen.truncated or solved:
            words += self._ending(seen, score)
        elif seen.reward:
            words.append(f"Reward: {seen.reward:g}")
        # A solved task ends, whether or not its world does.
        return StepResult("\n".join(words), score.score, seen.terminated or solved, seen.truncated)

    def _ending(self, seen: Seen, score: Score) -> list[str]:
        """Return the last lines of the last observation."""
        how = "is over"
        if seen.truncated:
            how = "was cut off by a limit"
        verdict = "not solved"
        if score.score >= 1.0:
            verdict = "solved"
        return [
            f"The episode {how}. Total reward: {self._total:g}.",
            f"The task is {verdict}. {score.feedback}".strip(),
        ]

    def _words(self, seen: Seen) -> str:
        return str(self._called(self.environment.render, seen))

    def _score(self, seen: Seen) -> Score:
        success = self.environment.success
        if isinstance(success, ByName):
            return to_score(self._called(success, seen))
        ended = seen.terminated or seen.truncated
        return Score(float(ended and self._total >= success))

    def _called(self, function: ByName, seen: Seen) -> Any:
        known = seen._asdict()
        known["env"] = self._env
        known["task"] = self.task
        known["total"] = self._total
        return finished(function(known))


class GymEnvironment(Environment):
    """Worlds with `reset` and `step`: Gymnasium's, OpenEnv's clients, TextWorld's, and others of this shape.

    `step` returns `(observation, reward, terminated, truncated, info)`, `(observation, reward, done, info)`, or an
    object with `observation`, `reward` and `done`. These and `close` may be coroutine functions. Each trial has its
    own world, in its own thread, which is closed after the trial. An action that the world does not have becomes an
    observation; an exception of the world is raised.

    Args:
        env: A Gymnasium id, or a function of the task that makes a world or a context manager of one. An id is made
            with `render_mode="ansi"` where there is one.
        tasks: Seeds, texts, or dicts with an `instruction` and optionally `id`, `kind` and `data`, whose `reset` are
            the arguments of `reset()`. A seed is `{"reset": {"seed": seed}}`.
        actions: The names of a `Discrete` space's actions, in order; a dict of names and actions; a Pydantic model of
            an action; or a function that makes an action of a text, and raises `ValueError` for a wrong one. By
            default, members of a `Discrete` or `Text` space: `act[2]`, `act[go north]`.
        render: A function that puts what was observed into words, of any of `observation`, `info`, `env`, `task`,
            `reward`, `total` (all rewards so far), `terminated` and `truncated`. By default, `env.render()` if
            `env.render_mode` is `ansi`, else the observation.
        success: The total reward from which an episode that has ended is solved. Or a function of any of the same,
            called after each action, that returns a bool, a score, or `(score, words)`; a solved task ends.
        instruction: The instruction of tasks without one; by default, the first paragraph of the documentation of a
            Gymnasium environment.
        replayable: Whether the same actions after the same `reset` have the same results, so that a trial whose
            process ended can be continued by repeating its actions. Otherwise it starts over, and its record has a
            note.
        name: The environment's name, in records; by default, the id.
        prompts: A folder of prompts; the general ones unless given.

    Raises:
        ConfigurationError: an argument is wrong.
    """

    splits = ("all",)
    episode = GymEpisode

    def __init__(
        self,
        env: str | Callable[[Task], Any],
        tasks: Iterable[int | str | Mapping[str, Any]] = range(10),
        *,
        actions: Sequence[str] | Mapping[str, Any] | Callable[..., Any] | None = None,
        render: Callable[..., Any] | None = None,
        success: float | Callable[..., Any] = 1.0,
        instruction: str = "",
        replayable: bool = True,
        name: str = "",
        prompts: Path | str | None = None,
    ) -> None:
        if not callable(env) and not isinstance(env, str):
            raise ConfigurationError(
                f"GymEnvironment.env is {env!r:.100}: give an id, or a function of the task that makes a world: each "
                "trial has its own"
            )
        self.made = env
        self.given_actions = actions
        # The values of names alone, and everything if nothing is given, depend on the action space.
        self._own: Actions | None = None
        self._specs: Mapping[str, ActionSpec] | None = None
        if isinstance(actions, Mapping) or callable(actions):
            self._own = actions_of(actions, None)
            self._specs = self._own.specs
        elif isinstance(actions, list | tuple):
            self._specs = named_actions(dict.fromkeys(actions)).specs
        self.render = ByName(render or rendered, "GymEnvironment.render", KNOWN)
        self.success: float | ByName
        if callable(success):
            self.success = ByName(success, "GymEnvironment.success", KNOWN)
        else:
            self.success = success
        self.replayable = replayable
        self.prompts = prompts
        self.name = name or _name_of(env)
        given = [_as_dict(each, instruction) for each in tasks]
        self._tasks = tasks_of("GymEnvironment", [{"instruction": self.name, **each} for each in given])
        # Their instruction is in the world's documentation, which is looked up when the tasks are.
        self._without: set[str] = set()
        for task, fields in zip(self._tasks, given, strict=True):
            if "instruction" not in fields:
                self._without.add(task["id"])

    def tasks(self, split: str | None = None, limit: int | None = None) -> Sequence[Task]:
        self.choose_split(split)
        # Only here is a world opened for the instruction, if at all.
        for task in self._tasks[:limit]:
            if task["id"] in self._without:
                task["instruction"] = _described(self._first[1])
        return self._tasks[:limit]

    def start(self, task: Task) -> GymEpisode:
        return GymEpisode(self, task)

    def actions(self) -> Mapping[str, ActionSpec]:
        """Return the actions by name: those that were given, of the task of `for_task`, or of the first task."""
        return self._specs or self._first[0].specs

    def prepare(self, task: Task) -> dict[str, Any]:
        """Return the schemas of the task's actions unless they were given: a prompt cannot open a world for them."""
        if self._specs:
            return {}
        if isinstance(self.made, str):
            # All worlds of an id have the same actions.
            actions, _ = self._first
        else:
            actions, _ = self._look_at(task)
        return {"actions": [spec.function for spec in actions.specs.values()]}

    def for_task(self, task: Task) -> Environment:
        """Return the environment with the actions of this task's world."""
        functions = (task.get("prepared") or {}).get("actions")
        if not functions or self._specs:
            return self
        made = copy(self)
        made._specs = {each["name"]: ToolSpec.from_function(each) for each in functions}
        return made

    def open(self, task: Task) -> Any:
        """Return the world of a trial, as a context manager if there is anything to close."""
        env = self._make(task)
        is_manager = hasattr(env, "__exit__") or hasattr(env, "__aexit__")
        if hasattr(env, "close") and not is_manager:
            return _closing(env)
        return env

    def _make(self, task: Task) -> Any:
        if isinstance(self.made, str):
            return _made(self.made)
        return finished(self.made(task))

    def actions_in(self, env: Any) -> Actions:
        return self._own or actions_of(self.given_actions, getattr(env, "action_space", None))

    @cached_property
    def _first(self) -> tuple[Actions, str]:
        """The actions of the first task's world, and its documentation."""
        return self._look_at(self._tasks[0])

    def _look_at(self, task: Task) -> tuple[Actions, str]:
        """Open a task's world, and return its actions and its documentation."""
        world = Opened(self.open, task)
        try:
            actions = world.run(lambda: self.actions_in(world.given))
            unwrapped = getattr(world.given, "unwrapped", None)
            # None has a documentation, too.
            if unwrapped is None:
                return actions, ""
            return actions, type(unwrapped).__doc__ or ""
        finally:
            world.close()


@contextmanager
def _closing(env: Any) -> Iterator[Any]:
    try:
        yield env
    finally:
        finished(env.close())


def _name_of(env: str | Callable[[Task], Any]) -> str:
    """Return the name of worlds without one: of an id, what follows its namespace."""
    if isinstance(env, str):
        return env.rpartition("/")[2]
    return "gym"


def _as_dict(given: int | str | Mapping[str, Any], instruction: str) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if instruction:
        fields["instruction"] = instruction
    match given:
        case str():
            return {"instruction": given}
        case Integral():
            fields["id"] = f"seed-{given}"
            fields["data"] = {"reset": {"seed": int(given)}}
            return fields
        case Mapping():
            fields.update(given)
            return fields
    raise ConfigurationError(f"GymEnvironment.tasks: give seeds, texts or dicts, not {given!r:.100}")


def _made(name: str) -> Any:
    try:
        import gymnasium
    except ImportError as error:
        raise EnvironmentUnavailable(f"Gymnasium is missing; it comes with {the_extra('gym')}") from error
    try:
        env = gymnasium.make(name)
        if "ansi" in (env.metadata.get("render_modes") or ()):
            env.close()
            env = gymnasium.make(name, render_mode="ansi")
    except (gymnasium.error.Error, ImportError) as error:
        raise ConfigurationError(f"Gymnasium cannot make {name!r}: {error}") from error
    return env


def _described(documentation: str) -> str:
    """Return the first paragraph of a documentation.

    Raises:
        ConfigurationError: it has none.
    """
    paragraphs = re.split(r"\n\s*\n", inspect.cleandoc(documentation))
    for paragraph in paragraphs:
        words = " ".join(paragraph.split())
        # Gymnasium's documentation has headings in Markdown.
        if words and not words.startswith("#"):
            return words
    raise ConfigurationError("GymEnvironment: the tasks have no instruction: give instruction=...")
