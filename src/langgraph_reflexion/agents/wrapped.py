"""Any agent, and how it is told the task and what was learned."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable
from langgraph.pregel import Pregel

from langgraph_reflexion.agents.state import AgentState
from langgraph_reflexion.envs.base import Environment, Task, read_task
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.state import ReflexionState


@dataclass(frozen=True)
class WrappedAgent:
    """An agent, and how it is told what it learned.

    Attributes:
        runnable: A compiled graph, or any runnable. A graph with `messages` in its state is given `{"messages":
            [...]}`, anything else the list of messages.
        reflections: How the lessons reach it: as a `message` before the task, or as `system` text.
        make_input: Makes the agent's input of the task's text and the lessons (empty in the first trial), for agents
            that take neither.
    """

    runnable: Runnable[Any, Any]
    reflections: Literal["message", "system"] = "message"
    make_input: Callable[[str, str], Any] | None = None

    def __post_init__(self) -> None:
        if self.reflections not in get_args(WrappedAgent.__annotations__["reflections"]):
            raise ConfigurationError(f"reflections={self.reflections!r}: choose one of message, system")
        if getattr(self.runnable, "checkpointer", None) is True:
            raise ConfigurationError(
                "an agent compiled with checkpointer=True remembers its earlier trials, and each is to begin anew: "
                "compile it without a checkpointer, and the one that this graph has is used for it, too"
            )

    @classmethod
    def of(cls, actor: object, environment: Environment | None, evaluator: object) -> "WrappedAgent | None":
        """Return the agent that was given as `actor`; None for the name of an environment's actor.

        Args:
            actor: What was given.
            environment: The environment, which an agent does without.
            evaluator: What scores its trials.

        Raises:
            ConfigurationError: it is neither an agent nor a name, or an agent beside an environment or without an
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
                "an agent needs a verifier: evaluator='llm', CommandEvaluator('...'), or a function of (task, result)"
            )
        return agent if isinstance(agent, cls) else None

    def messages(self, state: AgentState, lessons: str) -> list[AnyMessage]:
        """The conversation that the agent is given: what was said before, the lessons, the task."""
        said = state.get("messages", [])
        humans = [index for index, message in enumerate(said) if isinstance(message, HumanMessage)]
        mark = f"{state['task']['id']}:{state['trial']}"
        if "message" in state["task"].get("data", {}) and humans:
            before, task = said[: humans[-1]], said[humans[-1]]
        else:
            before, task = [], HumanMessage(state["task"]["instruction"], id=f"{mark}:task")
        kind = SystemMessage if self.reflections == "system" else HumanMessage
        notes: list[AnyMessage] = [kind(lessons, id=f"{mark}:lessons")] if lessons else []
        return [*notes, *before, task] if self.reflections == "system" else [*before, *notes, task]

    def input(self, messages: Sequence[BaseMessage], task: str, lessons: str) -> Any:
        """The agent's input."""
        if self.make_input is not None:
            return self.make_input(task, lessons)
        talks = isinstance(self.runnable, Pregel) and "messages" in self.runnable.channels
        return {"messages": list(messages)} if talks else list(messages)


def task_from(state: ReflexionState) -> Task:
    """The task of the input: text, a task, or the last human message of a conversation.

    A new message on a used thread is a new task. The same message is the task that is under way.

    Raises:
        ConfigurationError: there is none of them.
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
            'the graph\'s input is {"task": "what is to be done"} or {"messages": [...]} with a human message in it'
        )
    return cast(Task, task)


def _name(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=6).hexdigest()
