"""An agent, how it receives the task and the lessons, and what each trial begins with."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage
from langchain_core.runnables import Runnable

from langgraph_reflexion.agents.forms import InputForm, as_runnable, input_form
from langgraph_reflexion.agents.models import model_of
from langgraph_reflexion.agents.state import AgentState
from langgraph_reflexion.agents.world import AgentEnvironment, MakeFunction, ResetFunction, World
from langgraph_reflexion.envs.base import Environment, Task, read_task
from langgraph_reflexion.errors import ConfigurationError, checked
from langgraph_reflexion.state import ReflexionState

NO_MODEL = "the agent's own model was not found, so give one to reflect"


@checked
@dataclass(frozen=True)
class WrappedAgent:
    """An agent, and the world that each of its trials begins in.

    The agent takes its input by its signature: a graph with `messages` in its state, `{"messages": [...]}`; a list of
    messages; a text; or a dict with one field. The lessons of earlier trials precede the task. Further keys of the
    agent's state, such as `files`, begin every trial as the caller gave them, unless the graph has keys of the same
    names, such as `status`.

    Attributes:
        agent: A compiled graph, a `RemoteGraph`, any runnable, or a function.
        make: Makes a fresh agent for each trial: a function of the task's text, instead of `agent`.
        reset: Resets what the agent changes outside of its state: a function that is called with the task's text
            before each trial, and may return state for the agent as a dict; or a `World`, such as a
            `WorkspaceFolder`. Without `make` and `reset`, agents are warned that earlier trials may have left traces.
        make_input: Builds the agent's input from the task's text and the lessons (empty in the first trial).

    Raises:
        ConfigurationError: neither or both of `agent` and `make` are given, or the agent's input is unclear.
    """

    agent: Runnable[Any, Any] | Callable[..., Any] | None = None
    make: MakeFunction | None = None
    reset: ResetFunction | World | None = None
    make_input: Callable[[str, str], Any] | None = None

    def __post_init__(self) -> None:
        if (self.agent is None) == (self.make is None):
            raise ConfigurationError("WrappedAgent needs agent=, or make= for a fresh agent in each trial")
        if self.agent is not None:
            self.form_of(self.runnable)

    @classmethod
    def of(cls, actor: object, environment: Environment | None, evaluator: object) -> "WrappedAgent | None":
        """Return the agent that `actor` is; None for the name of an environment's actor.

        Raises:
            ConfigurationError: it is neither an agent nor a name, or an agent with an environment or without an
                evaluator.
        """
        agent = actor if isinstance(actor, cls | str | None) else cls(as_runnable(actor))
        if isinstance(agent, cls) == (environment is not None):
            raise ConfigurationError(
                "give an environment, whose actions are the steps, or an agent as actor, whose calls are the trials"
            )
        if environment is None and evaluator in (None, "environment"):
            raise ConfigurationError(
                "an agent needs an evaluator: 'llm', CommandEvaluator('...'), or a function of (task, result)"
            )
        return agent if isinstance(agent, cls) else None

    @cached_property
    def runnable(self) -> Runnable[Any, Any]:
        """The agent that plays every trial; there is none with `make`."""
        return as_runnable(self.agent)

    @property
    def keys(self) -> Sequence[str]:
        """The keys of the agent's state, besides its messages, that a caller may give."""
        return () if self.agent is None else self.form_of(self.runnable).keys

    @property
    def model(self) -> BaseChatModel | None:
        """The agent's own chat model, or None if it cannot be found."""
        return None if self.agent is None else model_of(self.runnable)

    @property
    def environment(self) -> AgentEnvironment:
        """The agent's environment, which resets its world."""
        make = self.make
        return AgentEnvironment(self.reset, (lambda task: as_runnable(make(task))) if make else None)

    def form_of(self, agent: Runnable[Any, Any]) -> InputForm:
        """Return how an agent takes its input.

        Raises:
            ConfigurationError: that is unclear, or the agent remembers its earlier trials.
        """
        if getattr(agent, "checkpointer", None) is True:
            raise ConfigurationError(
                "an agent compiled with checkpointer=True remembers its earlier trials, but each must start afresh: "
                "compile it without a checkpointer, and this graph's is used for it, too"
            )
        return InputForm("state") if self.make_input else input_form(agent)

    def messages(self, state: AgentState, lessons: str) -> list[AnyMessage]:
        """Return the agent's conversation: earlier messages, the lessons, the task."""
        said = state.get("messages", [])
        humans = [index for index, message in enumerate(said) if isinstance(message, HumanMessage)]
        mark = f"{state['task']['id']}:{state['trial']}"
        if "message" in state["task"].get("data", {}) and humans:
            before, task = said[: humans[-1]], said[humans[-1]]
        else:
            before, task = [], HumanMessage(state["task"]["instruction"], id=f"{mark}:task")
        notes = [HumanMessage(lessons, id=f"{mark}:lessons")] if lessons else []
        return [*before, *notes, task]

    def input(
        self, agent: Runnable[Any, Any], given: Sequence[BaseMessage], lessons: str, state: dict[str, Any]
    ) -> Any:
        """Return the input of the agent for a trial.

        Args:
            agent: The trial's agent.
            given: The conversation of `messages`, which ends with the task.
            lessons: The lessons of earlier trials.
            state: The agent's own state at the beginning.
        """
        task = given[-1].text
        if self.make_input is not None:
            return self.make_input(task, lessons)
        return self.form_of(agent).build(given, f"{lessons}\n\n{task}" if lessons else task, state)


def task_from(state: ReflexionState) -> Task:
    """Return the task of the input: text, a task, or the last human message of a conversation.

    A new message on a used thread is a new task.

    Raises:
        ConfigurationError: the input holds none of these.
    """
    known = cast(AgentState, state)
    humans = [message for message in known.get("messages", []) if isinstance(message, HumanMessage)]
    last = humans[-1].id if humans else None
    task: Any = known.get("task")
    if isinstance(task, str):
        return Task(id=_name(task), instruction=task, data={"after": last})
    if task and (not isinstance(task, dict) or "prepared" not in task):
        given = read_task(state)
        return Task(**{**given, "data": {"after": last, **given.get("data", {})}})
    if humans and (not task or task["data"]["after"] != last):
        text = humans[-1].text
        return Task(id=_name(text), instruction=text, data={"after": last, "message": last})
    if not task:
        raise ConfigurationError(
            'the graph\'s input is {"task": "Write a haiku."} or {"messages": [...]} with a human message in it'
        )
    return cast(Task, task)


def _name(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=6).hexdigest()
