"""Forms that Studio shows before a run, and the tasks that are made from them.

A form's fields are in the state for one step: they are there when `reset` begins the run, and gone after it.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, cast, get_type_hints

from langgraph.channels import EphemeralValue
from pydantic import BaseModel, ConfigDict, Field, create_model
from typing_extensions import TypedDict

from langgraph_reflexion.envs.base import Environment, Task
from langgraph_reflexion.envs.workspace.tasks import make_tasks
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.state import ReflexionState
from langgraph_reflexion.studio.settings import validate, words


class TaskForm(BaseModel):
    """The task to solve. An empty form is the first task of the environment's own."""

    model_config = ConfigDict(extra="ignore")

    split: str
    number: int = Field(default=1, description="The task of the split, counted from 1.", ge=1)
    task_id: str = Field(default="", description="The task's id, instead of a number.", max_length=200)

    def find(self, environment: Environment, *, oracle: bool) -> Task:
        """Return the task, which is read or generated; `oracle`: whether the environment scores the trials.

        Raises:
            ConfigurationError: there is no such task.
            EnvironmentUnavailable: the environment's data is missing.
        """
        if self.task_id:
            for task in environment.tasks(self.split):
                if task["id"] == self.task_id:
                    return task
            raise ConfigurationError(f"{environment.name}'s split {self.split} has no task {self.task_id!r}")
        tasks = environment.tasks(self.split, limit=self.number)
        if len(tasks) < self.number:
            raise ConfigurationError(
                f"{environment.name}'s split {self.split} has {len(tasks)} tasks, no number {self.number}"
            )
        return tasks[-1]


class QuestionForm(TaskForm):
    """The question to answer: one of the environment's own, or any other."""

    question: str = Field(default="", description="A question of your own, instead of a number.", max_length=2000)
    answer: str = Field(
        default="",
        description="The right answer to it, never shown to a model. Without one, choose the evaluator llm.",
        max_length=500,
    )

    def find(self, environment: Environment, *, oracle: bool) -> Task:
        question = " ".join(self.question.split())
        if not question:
            return super().find(environment, oracle=oracle)
        if oracle and not self.answer.strip():
            raise ConfigurationError(
                "a question without its answer cannot be graded: give it, or set evaluator to llm"
            )
        name = hashlib.blake2b(question.encode("utf-8", "replace"), digest_size=6).hexdigest()
        first = environment.tasks("own", limit=1)[0].get("data", {})
        data = {**first, "question": question, "answer": self.answer.strip(), "supporting": []}
        return Task(id=f"asked-{name}", instruction=f"Question: {question}", data=data)


class FolderForm(TaskForm):
    """The folder to work in: one of the environment's own broken repositories, or your own."""

    path: str = Field(default="", description="Your own folder on the server. It is only read.")
    instruction: str = Field(default="", description="The work to do there.", max_length=20_000)
    verify: list[str] = Field(default=[], description="The commands that verify the work, run in the sandbox.")

    def find(self, environment: Environment, *, oracle: bool) -> Task:
        given = {"path": self.path, "instruction": self.instruction, "verify": self.verify}
        if not any(given.values()):
            return super().find(environment, oracle=oracle)
        return make_tasks([given], Path.cwd(), "the form")[0]


FORMS: Mapping[str, type[TaskForm]] = {"hotpotqa": QuestionForm, "workspace": FolderForm}
"""The forms with more than a task of the environment's own, by the environment's name."""


def task_form(environment: type[Environment]) -> type[TaskForm]:
    """Make the form of an environment's tasks, with its splits."""
    form = FORMS.get(environment.name, TaskForm)
    splits = list(getattr(environment, "splits", ("own",)))

    def as_list(schema: dict[str, Any]) -> None:
        # Pydantic makes a constant of a single word, which Studio does not draw as a choice.
        schema.pop("const", None)
        schema["enum"] = splits

    split = Field(splits[0], description="The set of tasks.", json_schema_extra=as_list)
    whole = Field(None, description="A whole task as JSON, as in a thread's state; overrides the other fields.")
    fields: dict[str, Any] = {"split": (words(splits), split), "task": (dict[str, Any] | None, whole)}
    made: type[TaskForm] = create_model(f"{environment.__name__}Task", __base__=form, **fields)
    made.__doc__ = form.__doc__
    return made


def state_with(form: type[BaseModel]) -> type[ReflexionState]:
    """Make the state that also has the form's fields, each for one step."""
    fields: dict[str, Any] = get_type_hints(ReflexionState, include_extras=True)
    for name, field in form.model_fields.items():
        fields.setdefault(name, Annotated[cast(Any, field.annotation), EphemeralValue])
    made: Any = TypedDict(f"{form.__name__}State", fields, total=False)  # type: ignore[misc]
    return cast(type[ReflexionState], made)


def task_in(state: Mapping[str, Any], form: type[TaskForm], environment: Environment, *, oracle: bool) -> Task | None:
    """Return the task that a run begins with, or None if the run continues its task.

    Raises:
        ConfigurationError: a field is wrong, or there is no such task.
    """
    filled = {name: state[name] for name in form.model_fields if state.get(name) is not None}
    given = filled.pop("task", None)
    if not filled and under_way(state):
        return None
    # `reset` refuses a value that is no task at all.
    return given if is_new(given, state) else validate(form, filled, "field").find(environment, oracle=oracle)


def is_new(task: Any, state: Mapping[str, Any]) -> bool:
    """Return whether a task was given that is not the thread's own.

    The state keeps the thread's own task, so that one counts as given only in its unprepared form.
    """
    if not isinstance(task, dict) or "prepared" not in task:
        return task is not None
    return "episode" not in state or state["episode"]["task"] != task.get("id")


def under_way(state: Mapping[str, Any]) -> bool:
    """Return whether `reset` begins a task's next trial rather than a run.

    A finished trial has its record; a run that was stopped in the middle of a trial has no record of it.
    """
    if state.get("status") != "running":
        return False
    trials = state.get("trials") or []
    return bool((trials[-1]["trial"] if trials else 0) == state["trial"])
