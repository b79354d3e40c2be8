"""Forms: what Studio asks for before a run, and the task that is made of it.

A field lives for one step: it is there when `reset` begins the run, and gone from the state after it. So whatever is
there is new.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from langgraph.channels import EphemeralValue
from pydantic import BaseModel, ConfigDict, Field, create_model

from langgraph_reflexion.envs.base import Environment, Task
from langgraph_reflexion.envs.workspace.tasks import make_tasks
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.state import ReflexionState
from langgraph_reflexion.studio.settings import one_of, read


class TaskForm(BaseModel):
    """Which task to solve. Left empty, it is the first one of the environment's own."""

    model_config = ConfigDict(extra="ignore")

    split: str
    number: int = Field(default=1, title="Number", description="Which task of the split, counted from 1.", ge=1)
    task_id: str = Field(
        default="", title="Task id", description="Instead of a number, the task's id.", max_length=200
    )

    def find(self, environment: Environment, *, oracle: bool) -> Task:
        """The task that is meant. Reads or makes tasks, which may take its time.

        Args:
            environment: Where the tasks are.
            oracle: Whether the verdict is the environment's own.

        Raises:
            ConfigurationError: there is no such task.
            EnvironmentUnavailable: its data is missing.
        """
        if self.task_id:
            for task in environment.tasks(self.split):
                if task["id"] == self.task_id:
                    return task
            raise ConfigurationError(f"{environment.name}'s split {self.split} has no task {self.task_id!r}")
        tasks = environment.tasks(self.split, limit=self.number)
        if len(tasks) < self.number:
            raise ConfigurationError(
                f"{environment.name}'s split {self.split} has {len(tasks)} tasks, and no number {self.number}"
            )
        return tasks[-1]


class QuestionForm(TaskForm):
    """Which question to answer: one of the environment's own, or any other."""

    question: str = Field(
        default="", title="Question", description="Instead of a number, a question of your own.", max_length=2000
    )
    answer: str = Field(
        default="",
        title="Answer",
        description="The right answer to it, never shown to a model. Without one, choose the evaluator llm.",
        max_length=500,
    )

    def find(self, environment: Environment, *, oracle: bool) -> Task:
        """The question; see `TaskForm.find`."""
        asked = " ".join(self.question.split())
        if not asked:
            return super().find(environment, oracle=oracle)
        if oracle and not self.answer.strip():
            raise ConfigurationError(
                "a question without its answer cannot be graded: give it, or set evaluator to llm"
            )
        name = hashlib.blake2b(asked.encode("utf-8", "replace"), digest_size=6).hexdigest()
        told = {"question": asked, "answer": self.answer.strip(), "supporting": []}
        first = environment.tasks("own", limit=1)[0].get("data", {})
        return Task(id=f"asked-{name}", instruction=f"Question: {asked}", data={**first, **told})


class FolderForm(TaskForm):
    """Which folder to work in: one of the environment's own broken repositories, or any of yours."""

    path: str = Field(default="", title="Folder", description="A folder of yours on the server. It is only read.")
    instruction: str = Field(
        default="", title="Instruction", description="What is to be done there.", max_length=20_000
    )
    verify: list[str] = Field(
        default=[],
        title="Verify",
        description="The commands that decide whether it is done, run in the sandbox.",
    )

    def find(self, environment: Environment, *, oracle: bool) -> Task:
        """The task in the folder; see `TaskForm.find`."""
        given = {"path": self.path, "instruction": self.instruction, "verify": self.verify}
        if not any(given.values()):
            return super().find(environment, oracle=oracle)
        return make_tasks([given], Path.cwd(), "the form")[0]


class TaskState(ReflexionState, total=False):
    """The state, and the form's fields while the run begins."""

    split: Annotated[str, EphemeralValue]
    number: Annotated[int, EphemeralValue]
    task_id: Annotated[str, EphemeralValue]


class QuestionState(TaskState, total=False):
    """The same for questions."""

    question: Annotated[str, EphemeralValue]
    answer: Annotated[str, EphemeralValue]


class FolderState(TaskState, total=False):
    """The same for folders."""

    path: Annotated[str, EphemeralValue]
    instruction: Annotated[str, EphemeralValue]
    verify: Annotated[list[str], EphemeralValue]


STATES: dict[type[TaskForm], type[TaskState]] = {
    TaskForm: TaskState,
    QuestionForm: QuestionState,
    FolderForm: FolderState,
}
"""The state that goes with a form."""


def form_of(environment: type[Environment], form: type[TaskForm] = TaskForm) -> type[TaskForm]:
    """The form of an environment, with its splits.

    Args:
        environment: Its class.
        form: What it asks for.
    """
    splits = list(getattr(environment, "splits", ("own",)))

    def listed(schema: dict[str, Any]) -> None:
        # Of a single word pydantic makes a constant, which no form lets anybody choose.
        schema.pop("const", None)
        schema["enum"] = splits

    split = Field(splits[0], title="Split", description="The set of tasks.", json_schema_extra=listed)
    whole = Field(None, title="Task", description="Instead of all this, a whole task, as a thread's state has it.")
    fields: dict[str, Any] = {"split": (one_of(splits), split), "task": (dict[str, Any] | None, whole)}
    made: type[TaskForm] = create_model(f"{environment.__name__}Task", __base__=form, **fields)
    made.__doc__ = form.__doc__
    return made


def task_in(state: Mapping[str, Any], form: type[TaskForm], environment: Environment, *, oracle: bool) -> Task | None:
    """The task that a run begins with; None where it goes on with the one that it has.

    Args:
        state: What `reset` sees.
        form: What may have been filled in.
        environment: Where the tasks are.
        oracle: Whether the verdict is the environment's own.

    Raises:
        ConfigurationError: the form is filled in wrong, or there is no such task.
    """
    filled = {name: state[name] for name in form.model_fields if state.get(name) is not None}
    given = filled.pop("task", None)
    if not filled and under_way(state):
        return None
    # What is no task at all, `reset` refuses.
    return given if is_new(given, state) else read(form, filled, "field").find(environment, oracle=oracle)


def is_new(task: Any, state: Mapping[str, Any]) -> bool:
    """Whether a task was given, and is not the one that the thread has had.

    As that one stays in the state, the very same cannot be told from none, unless it comes unprepared.
    """
    if not isinstance(task, dict) or "prepared" not in task:
        return task is not None
    return "episode" not in state or state["episode"]["task"] != task.get("id")


def under_way(state: Mapping[str, Any]) -> bool:
    """Whether `reset` is to begin the next trial of a task, and not a run.

    A trial that is over has its record; a run that was left in the middle of one has none of it.
    """
    if state.get("status") != "running":
        return False
    trials = state.get("trials") or []
    return bool((trials[-1]["trial"] if trials else 0) == state["trial"])
