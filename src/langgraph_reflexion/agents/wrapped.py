"""An agent, and how it receives the task and the lessons."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage
from langchain_core.runnables import Runnable
from langgraph.pregel import Pregel

from langgraph_reflexion.agents.state import AgentState
from langgraph_reflexion.envs.base import Environment, Task, read_task
from langgraph_reflexion.errors import ConfigurationError, checked
from langgraph_reflexion.state import ReflexionState


@checked
@dataclass(frozen=True)
class WrappedAgent:
    """An agent, and how it receives the lessons of earlier trials.

    Attributes:
        runnable: A compiled graph, or any runnable. The input of a graph with `messages` in its state is
            `{"messages": [...]}`, that of any other runnable the list of messages. The lessons are a message before
            the task.
        make_input: Builds the agent's input from the task's text and the lessons (empty in the first trial), for
            agents that do not take messages.
    """

    runnable: Runnable[Any, Any]
    make_input: Callable[[str, str], Any] | None = None

    def __post_init__(self) -> None:
        if getattr(self.runnable, "checkpointer", None) is True:
            raise ConfigurationError(
                "an agent compiled with checkpointer=True remembers its earlier trials, but each must start afresh: "
                "compile it without a checkpointer, and this graph's is used for it, too"
            )

    @classmethod
    def of(cls, actor: object, environment: Environment | None, evaluator: object) -> "WrappedAgent | None":
        """Return the agent that `actor` is; None for the name of an environment's actor.

        Raises:
            ConfigurationError: it is neither an agent nor a name, or an agent with an environment or without an
                evaluator.
        """
        agent = cls(actor) if isinstance(actor, Runnable) else actor
        if not isinstance(agent, cls | str | None):
            raise ConfigurationError(
                f"actor must be a name, a compiled graph or another Runnable; got {type(actor).__name__}"
            )
        if isinstance(agent, cls) == (environment is not None):
            raise ConfigurationError(
                "give an environment, whose actions are the steps, or an agent as actor, whose calls are the trials"
            )
        if environment is None and evaluator in (None, "environment"):
            raise ConfigurationError(
                "an agent needs an evaluator: 'llm', CommandEvaluator('...'), or a function of (task, result)"
            )
        return agent if isinstance(agent, cls) else None

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

    def input(self, messages: Sequence[BaseMessage], task: str, lessons: str) -> Any:
        """Return the agent's input."""
        if self.make_input is not None:
            return self.make_input(task, lessons)
        talks = isinstance(self.runnable, Pregel) and "messages" in self.runnable.channels
        return {"messages": list(messages)} if talks else list(messages)


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
