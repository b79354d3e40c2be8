"""Environments of LangChain tools.

```python
from langgraph_reflexion import ToolEnvironment

environment = ToolEnvironment([search, calculate], ["How old was Ada Lovelace?"], lambda task, answer: "36" in answer)
```
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Any

from langchain_core.tools import BaseTool

from langgraph_reflexion.adapters.tool_spec import ToolSpec
from langgraph_reflexion.adapters.tool_world import ToolWorld, schema_of
from langgraph_reflexion.envs.base import ActionSpec, Environment, Episode, StepResult, Task
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.evaluators.function import to_score
from langgraph_reflexion.support.calling import ByName
from langgraph_reflexion.support.sync import finished

Specs = Mapping[str, ActionSpec]


_KNOWN = ("task", "state", "tools")


class ToolEpisode(Episode):
    """A trial with tools. The observation is the task."""

    def __init__(self, environment: "ToolEnvironment", task: Task, world: ToolWorld) -> None:
        self.observation = task["instruction"]
        self.environment = environment
        self.task = task
        self.world = world
        self._specs = environment.specs_of(world.tools)
        self._end: StepResult | None = None

    @property
    def specs(self) -> Specs:
        return self._specs

    def perform(self, spec: ActionSpec, args: dict[str, Any]) -> StepResult:
        """Call a tool. `finish`, and tools that return directly, end the task."""
        if self._end:
            return self._end
        tool = self.world.tools.get(spec.name)
        if tool is None:
            # It is `finish`.
            return self._ended(args["answer"], shown="")
        said, failed = self.world.call(spec.name, args)
        # A tool that ends the task may be called again after an error.
        if failed or not tool.return_direct:
            return StepResult(said)
        return self._ended(said, shown=said)

    def _ended(self, answer: str, *, shown: str) -> StepResult:
        """End the trial with an answer; `shown` precedes the verdict in the observation."""
        reward, verdict = self._checked(answer)
        words = "\n".join(filter(None, [shown, verdict]))
        self._end = StepResult(words, reward, terminated=True)
        return self._end

    def finalize(self) -> StepResult:
        """Check a trial that was stopped before its end."""
        if self.environment.check.subjects <= {"task", "answer"}:
            return StepResult("No answer was given.", 0.0)
        reward, words = self._checked("")
        return StepResult(words, reward)

    def snapshot(self) -> dict[str, Any] | None:
        if self.environment.save is None:
            return None
        return {"saved": self._called(self.environment.save)}

    def restore(self, saved: Any) -> None:
        """Bring the world into a state that was saved."""
        if self.environment.bring_back is None:
            raise ConfigurationError("ToolEnvironment: a saved world needs restore=...")
        self._called(self.environment.bring_back, saved=saved)

    def close(self) -> None:
        self.world.close()

    def _checked(self, answer: str) -> tuple[float, str]:
        score = to_score(self._called(self.environment.check, answer=answer))
        verdict = "The task is not solved."
        if score.score >= 1.0:
            verdict = "The task is solved."
        return score.score, f"{verdict} {score.feedback}".strip()

    def _called(self, function: ByName, **more: Any) -> Any:
        known = {"task": self.task, "state": self.world.state, "tools": self.world.tools}
        known.update(more)
        return self.world.run(lambda: finished(function(known)))


class ToolEnvironment(Environment):
    """Tasks that are solved with LangChain tools.

    The text form of a tool is `name[arguments]`: the required arguments in order, of which the last may contain
    commas and several lines, or all arguments as one JSON object. An exception of a tool becomes an observation, in
    the words of LangGraph's ToolNode; a `Fault`, such as `EnvironmentFault`, remains one. Injected arguments do not
    reach the model: `InjectedState`, `InjectedStore` and `ToolRuntime` are filled in, and others called `task` and
    `state`. All that belongs to a trial runs in one thread of its own, coroutines on a background event loop.

    Args:
        tools: A list of tools or functions, or a toolkit; or a function of the task that makes them for each trial,
            and may return a context manager of them, which is left after the trial. A pair `(tools, state)` adds what
            `check`, `snapshot` and `restore` need to know of the world, such as a database. A function is called once
            more for each task, for the tools' schemas.
        tasks: Texts, or dicts with an `instruction` and optionally `id`, `kind` and `data`.
        check: Says whether the task is solved: a function of any of `task` (a dict), `answer` (a text), `state` and
            `tools` (by name), or of two others, the task and the answer. It returns a bool, a score, or `(score,
            words)`, as an evaluator does, and may be asynchronous. With `state` or `tools` among its parameters,
            it also checks trials that are stopped without an answer, which is then empty.
        finish: The name of the tool that ends the task with an answer. None if the task ends otherwise. Tools with
            `return_direct` end it as well, unless they fail; their result is the answer.
        replayable: Whether the same calls in a fresh world give the same results, so that a trial whose process ended
            can be continued by repeating its calls.
        snapshot: A function of any of `task`, `state` and `tools` that returns the world as plain JSON.
        restore: A function of `saved`, which `snapshot` returned, and any of the same, that brings a fresh world into
            this state. Without `replayable`, `snapshot` and `restore`, a trial whose process ended starts over, and
            its record has a note.
        name: The environment's name, in records.
        prompts: A folder of prompts; the general ones unless given.

    Raises:
        ConfigurationError: an argument is wrong.
    """

    splits = ("all",)
    episode = ToolEpisode

    def __init__(
        self,
        tools: Any,
        tasks: Sequence[str | Mapping[str, Any]],
        check: Callable[..., Any],
        *,
        finish: str | None = "finish",
        replayable: bool = False,
        snapshot: Callable[..., Any] | None = None,
        restore: Callable[..., Any] | None = None,
        name: str = "tools",
        prompts: Path | str | None = None,
    ) -> None:
        if (snapshot is None) != (restore is None):
            raise ConfigurationError("ToolEnvironment: snapshot and restore go together")
        self.name = name
        self.prompts = prompts
        self.made = tools
        self.finish = finish
        self.check = ByName(check, "ToolEnvironment.check", (*_KNOWN, "answer"), ("task", "answer"))
        self.save: ByName | None = None
        if snapshot is not None:
            self.save = ByName(snapshot, "ToolEnvironment.snapshot", _KNOWN)
        self.bring_back: ByName | None = None
        if restore is not None:
            self.bring_back = ByName(restore, "ToolEnvironment.restore", (*_KNOWN, "saved"))
        self.replayable = replayable or snapshot is not None
        self._tasks = tasks_of("ToolEnvironment", tasks)
        self._specs: Specs | None = None

    def tasks(self, split: str | None = None, limit: int | None = None) -> Sequence[Task]:
        self.choose_split(split)
        return self._tasks[:limit]

    def start(self, task: Task) -> ToolEpisode:
        world = ToolWorld(self.made, _shown(task))
        try:
            return ToolEpisode(self, _shown(task), world)
        except BaseException:
            world.close()
            raise

    def restore(self, task: Task, snapshot: dict[str, Any]) -> ToolEpisode:
        """Make the tools of a trial, and bring their world into the state of a snapshot."""
        episode = self.start(task)
        try:
            episode.restore(snapshot["saved"])
        except BaseException:
            episode.close()
            raise
        return episode

    def prepare(self, task: Task) -> dict[str, Any]:
        """Return the schemas of the task's tools, unless all tasks have the same ones."""
        # A function may make other tools for each task.
        if not callable(self.made):
            return {}
        episode = self.start(task)
        episode.close()
        return {"tools": [spec.function for spec in episode.specs.values()]}

    def actions(self) -> Specs:
        """Return the tools by name; those of the first task unless this is `for_task`."""
        if self._specs is None:
            episode = self.start(self._tasks[0])
            episode.close()
            self._specs = episode.specs
        return self._specs

    def for_task(self, task: Task) -> Environment:
        """Return the environment with the tools of this task."""
        functions = (task.get("prepared") or {}).get("tools")
        if functions is None:
            return self
        made = copy(self)
        made._specs = {each["name"]: ToolSpec.from_function(each) for each in functions}
        return made

    def specs_of(self, tools: Mapping[str, BaseTool]) -> Specs:
        """Return the specifications of tools, and of `finish`.

        Raises:
            ConfigurationError: a tool has the name of `finish`.
        """
        specs: dict[str, ActionSpec] = {}
        for name, tool in tools.items():
            specs[name] = ToolSpec.of(name, tool.description, schema_of(tool))
        if self.finish in specs:
            raise ConfigurationError(
                f"a tool is called {self.finish!r}, too: choose another name with finish=..., or finish=None if it "
                "ends the task (return_direct=True)"
            )
        if self.finish:
            described = {"type": "string", "description": "the answer"}
            schema = {"properties": {"answer": described}, "required": ["answer"]}
            specs[self.finish] = ToolSpec.of(self.finish, "End the task with your answer.", schema)
        return specs


def tasks_of(where: str, given: Iterable[str | Mapping[str, Any]]) -> list[Task]:
    """Return the tasks that were given as texts or dicts.

    Raises:
        ConfigurationError: there are none, one is malformed, or two have the same id.
    """
    if isinstance(given, str):
        raise ConfigurationError(f"{where}.tasks is a text: give a list of tasks")
    tasks = [_task(number, each) for number, each in enumerate(given, 1)]
    if not tasks:
        raise ConfigurationError(f"{where}.tasks is empty")
    if len({task["id"] for task in tasks}) < len(tasks):
        raise ConfigurationError(f"{where}.tasks: two tasks have the same id")
    return tasks


def _task(number: int, given: str | Mapping[str, Any]) -> Task:
    if isinstance(given, str):
        given = {"instruction": given}
    fields = dict(given)
    unknown = set(fields) - {"id", "instruction", "kind", "data"}
    if unknown:
        names = ", ".join(sorted(unknown))
        raise ConfigurationError(f"task {number} has {names}: put what else belongs to it into `data`")
    instruction = fields.get("instruction")
    if not isinstance(instruction, str) or not instruction.strip():
        raise ConfigurationError(f"task {number} has no instruction")
    try:
        # A copy, which later changes of the caller's do not reach.
        data = json.loads(json.dumps(fields.get("data", {})))
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"the data of task {number} is not plain JSON: {error}") from error
    if not isinstance(data, dict):
        raise ConfigurationError(f"the data of task {number} must be a dict, not {data!r:.100}")
    task = Task(id=str(fields.get("id", number)), instruction=instruction, data=data)
    if "kind" in fields:
        task["kind"] = fields["kind"]
    return task


def _shown(task: Task) -> Task:
    """Return the task as it was given."""
    shown = task.copy()
    shown.pop("prepared", None)
    return shown
