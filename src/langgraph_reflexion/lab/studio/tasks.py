"""The form that Studio draws of a run's task.

The fields of a task are in the state for one step: they are there when `reset` begins the run, and gone after it.
"""

from collections.abc import Mapping
from typing import Annotated, Any, cast, get_type_hints

from langgraph.channels import EphemeralValue
from pydantic import BaseModel, ConfigDict, Field, create_model
from typing_extensions import TypedDict

from langgraph_reflexion.envs.base import Environment, Task
from langgraph_reflexion.envs.hotpotqa.wiki import WikiEnvironment
from langgraph_reflexion.errors import ConfigurationError, validated
from langgraph_reflexion.loop.conversation import new_message
from langgraph_reflexion.models.messages import Conversation
from langgraph_reflexion.state import ReflexionState

FIRST = {"alfworld": 3, "hotpotqa": 5, "fever": 2, "workspace": 2}
"""The task of an empty form, if not the first: in the demo model's worlds one that it solves after a reflection. The
workspace's first task needs Rust, the second only Python."""


class TaskForm(BaseModel):
    """The task to solve. An empty form is one of the environment's own tasks."""

    model_config = ConfigDict(extra="forbid")

    split: str
    number: int
    task_id: str = Field(default="", description="The task's id or instruction, instead of a number.")

    def find(self, environment: Environment, *, oracle: bool) -> Task:
        """Return the task, which is read or generated; `oracle`: whether scoring the trials needs the right answer.

        Raises:
            ConfigurationError: there is no such task.
            EnvironmentUnavailable: the environment's data is missing.
        """
        if self.task_id:
            try:
                return environment.find_task(self.task_id, self.split)
            except ConfigurationError as error:
                if not isinstance(environment, WikiEnvironment):
                    raise
                label = environment.episode.label
                if oracle:
                    words = f"{error}; with the evaluator llm, any {label.lower()} is a task"
                    raise ConfigurationError(words) from None
            return self._own(environment, label)
        tasks = environment.tasks(self.split, limit=self.number)
        if len(tasks) < self.number:
            has = f"{environment.name}'s split {self.split} has {len(tasks)} tasks"
            raise ConfigurationError(f"{has}, but no number {self.number}")
        return tasks[self.number - 1]

    def _own(self, environment: Environment, label: str) -> Task:
        """Return a question or claim of the user's own, on the pages of the split; its answer is not known."""
        text = " ".join(self.task_id.split())
        first = environment.tasks(self.split, limit=1)[0]
        data = dict(first.get("data", {}))
        data.update(question=text, answer="", supporting=[])
        return Task(id=text, instruction=f"{label}: {text}", data=data)


def task_form(environment: type[Environment], options: Mapping[str, Any] = {}) -> type[TaskForm]:
    """Make the form of an environment's tasks, with its splits; `options` are those of `server_options`."""
    splits: list[Any] = list(getattr(environment, "splits", ("own",)))
    first = FIRST.get(environment.name, 1)
    if "task" in options:
        splits = ["tasks"]
        first = 1
    split = Field(splits[0], description="The set of tasks.", json_schema_extra={"enum": splits})
    number = Field(first, description="The task of the split, counted from 1.", ge=1)
    whole = Field(None, description="A whole task as JSON, as in a thread's state; overrides the other fields.")
    said: Any = Field([], description="A conversation. Its last message by a person is the task's id or instruction.")
    fields: dict[str, Any] = {
        "split": (str, split),
        "number": (int, number),
        "task": (dict[str, Any] | None, whole),
        "messages": (Conversation, said),
    }
    return create_model(f"{environment.__name__}Task", __base__=TaskForm, __doc__=TaskForm.__doc__, **fields)


def state_with(form: type[BaseModel]) -> type[ReflexionState]:
    """Make the state that also has the form's fields, each for one step."""
    fields: dict[str, Any] = get_type_hints(ReflexionState, include_extras=True)
    for name, field in form.model_fields.items():
        fields.setdefault(name, Annotated[cast(Any, field.annotation), EphemeralValue])
    made: Any = TypedDict(f"{form.__name__}State", fields, total=False)  # type: ignore[misc]
    return cast(type[ReflexionState], made)


def task_in(state: Mapping[str, Any], form: type[TaskForm], environment: Environment, *, oracle: bool) -> Task | None:
    """Return the task that a run begins with, or None if the run continues its task."""
    filled = {name: state[name] for name in form.model_fields if state.get(name) is not None}
    task = filled.pop("task", None)
    filled.pop("messages", None)
    message = new_message(state)
    if message:
        filled["task_id"] = message.text
    if task is not None and not _under_way(task, state):
        return _unmarked(task)
    if not filled and under_way(state):
        return None
    return validated(form, filled, "field").find(environment, oracle=oracle)


def _under_way(task: Any, state: Mapping[str, Any]) -> bool:
    """Return whether a task in a state is the thread's own, which `reset` has marked and begun."""
    if not isinstance(task, dict) or "after" not in task:
        return False
    begun = state.get("episode", {}).get("task")
    return bool(begun == task.get("id"))


def _unmarked(task: Any) -> Task:
    """Return a given task without the mark of a thread that it comes from; `reset` refuses what is not a task."""
    if isinstance(task, dict):
        task = {key: value for key, value in task.items() if key != "after"}
    return cast(Task, task)


def under_way(state: Mapping[str, Any]) -> bool:
    """Return whether `reset` begins a task's next trial rather than a run.

    A finished trial has its record; a run that was stopped in the middle of a trial has no record of it.
    """
    if state.get("status") != "running":
        return False
    trials = state.get("trials") or []
    last_recorded = 0
    if trials:
        last_recorded = trials[-1]["trial"]
    return bool(last_recorded == state["trial"])
