"""Forms that Studio shows before a run, and the tasks that are made from them.

A form's fields are in the state for one step: they are there when `reset` begins the run, and gone after it.
"""

from collections.abc import Mapping
from typing import Annotated, Any, cast, get_type_hints

from langgraph.channels import EphemeralValue
from pydantic import BaseModel, ConfigDict, Field, create_model
from typing_extensions import TypedDict

from langgraph_reflexion.conversation import new_message
from langgraph_reflexion.envs.base import Environment, Task
from langgraph_reflexion.envs.hotpotqa.wiki import WikiEnvironment
from langgraph_reflexion.errors import ConfigurationError, validated
from langgraph_reflexion.models.messages import Conversation
from langgraph_reflexion.state import ReflexionState

FAILS_FIRST = {"alfworld": 3, "programming": 2, "hotpotqa": 5, "fever": 2, "workspace": 2}
"""The task of an empty form, if not the first: one that the demo model solves after a reflection."""


class TaskForm(BaseModel):
    """The task to solve. An empty form is one of the environment's own tasks."""

    model_config = ConfigDict(extra="forbid")

    split: str
    number: int
    task_id: str = Field(default="", description="The task's id or instruction, instead of a number.")

    def find(self, environment: Environment, *, oracle: bool) -> Task:
        """Return the task, which is read or generated; `oracle`: whether the environment scores the trials.

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
        text, first = " ".join(self.task_id.split()), environment.tasks(self.split, limit=1)[0]
        data = {**first.get("data", {}), "question": text, "answer": "", "supporting": []}
        return Task(id=text, instruction=f"{label}: {text}", data=data)


def task_form(environment: type[Environment]) -> type[TaskForm]:
    """Make the form of an environment's tasks, with its splits."""
    splits: list[Any] = list(getattr(environment, "splits", ("own",)))

    split = Field(splits[0], description="The set of tasks.", json_schema_extra={"enum": splits})
    first = FAILS_FIRST.get(environment.name, 1)
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
    if message := new_message(state):
        filled["task_id"] = message.text
    # The state keeps the thread's own task, which `reset` has marked.
    marked = isinstance(task, dict) and "after" in task
    if task is not None and not (marked and state.get("episode", {}).get("task") == task.get("id")):
        given = {key: task[key] for key in task if key != "after"} if marked else task
        return cast(Task, given)  # `reset` refuses what is not a task
    if not filled and under_way(state):
        return None
    return validated(form, filled, "field").find(environment, oracle=oracle)


def under_way(state: Mapping[str, Any]) -> bool:
    """Return whether `reset` begins a task's next trial rather than a run.

    A finished trial has its record; a run that was stopped in the middle of a trial has no record of it.
    """
    if state.get("status") != "running":
        return False
    trials = state.get("trials") or []
    return bool((trials[-1]["trial"] if trials else 0) == state["trial"])
