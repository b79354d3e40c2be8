"""A wrapped agent: how it is called, and what each trial begins with."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from inspect import getclosurevars, isfunction
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage
from langchain_core.runnables import Runnable
from langgraph.pregel import Pregel

from langgraph_reflexion.agents.forms import InputForm, as_runnable, check_call, input_form
from langgraph_reflexion.agents.state import WrappedAgentState
from langgraph_reflexion.agents.world import AgentEnvironment, MakeFunction, ResetFunction, World
from langgraph_reflexion.envs.base import Environment
from langgraph_reflexion.errors import ConfigurationError, checked
from langgraph_reflexion.loop.conversation import asked_in
from langgraph_reflexion.loop.profiles import Rules
from langgraph_reflexion.loop.prompting import with_facts, with_lessons
from langgraph_reflexion.memory.failure import check_for_next_trial, check_words
from langgraph_reflexion.nodes.approval import Approval
from langgraph_reflexion.prompts import Prompts
from langgraph_reflexion.support.text import sanitize

NO_MODEL = "the agent has no model of its own that can be found, as agents of create_agent and create_deep_agent have"

LONGEST_TASK = 2000
"""Characters of a task up to which it is repeated after the notes."""


@checked
@dataclass(frozen=True)
class WrappedAgent:
    """An agent, how it is called, and how its surroundings are reset before each trial.

    The agent's schema or annotations determine the form of its input: `{"messages": [...]}`, a list of messages, a
    string, or a dict with one field. A function's parameter without annotation is the text, and a list of messages if
    it is named `messages`. What earlier trials have taught is in the message of the task. Other keys of the agent's
    state, such as `files`, start each trial with the caller's values, unless the graph has keys of the same names,
    such as `status`.

    Attributes:
        agent: A compiled graph, a `RemoteGraph`, any runnable, or a function.
        make: Instead of `agent`, a function that is called with the task's text and returns a new agent for each
            trial; or the agent and its world, such as a database, which an evaluator with a parameter `world` gets.
        reset: Resets what the agent changes outside its state: a function that is called with the task's text
            before each trial, and may return a dict of the agent's state; or a `World`, such as a `WorkspaceFolder`.
            Without `make` and `reset`, an agent that has called tools is warned that earlier trials may have left
            traces.
        make_input: Builds the agent's input. It is called with the task's text and the lessons: a text with the
            reflections on earlier trials, and lessons from other tasks if any; usually empty in the first trial.

    Raises:
        ConfigurationError: neither or both of `agent` and `make` are given, the form of the agent's input is unclear,
            or a function does not take these arguments.
    """

    agent: Runnable[Any, Any] | Callable[..., Any] | None = None
    make: MakeFunction | None = None
    reset: ResetFunction | World | None = None
    make_input: Callable[[str, str], Any] | None = None

    def __post_init__(self) -> None:
        if (self.agent is None) == (self.make is None):
            raise ConfigurationError("WrappedAgent needs either an agent, or make= for a new agent in each trial")
        if self.make:
            check_call("WrappedAgent.make", self.make, "task")
        if self.make_input:
            check_call("WrappedAgent.make_input", self.make_input, "task", "lessons")
        if self.agent is not None:
            _ = self.form  # so that an unclear input is refused here

    @classmethod
    def of(
        cls, actor: object, environment: Environment | None, evaluator: object, approval: Approval
    ) -> "WrappedAgent | None":
        """Return `actor` as a wrapped agent; None if it is the name of an environment's actor.

        Raises:
            ConfigurationError: it is neither an agent nor a name, or an agent with an environment, without an
                evaluator, or with actions to approve.
        """
        agent = actor
        if not isinstance(actor, cls | str | None):
            agent = cls(as_runnable(actor))
        has_agent = isinstance(agent, cls)
        has_environment = environment is not None
        # Exactly one of the two has to be given.
        if has_agent == has_environment:
            raise ConfigurationError(
                "create_reflexion needs either an environment, whose actions are the steps of a trial, or an agent "
                "as actor=, each call of which is a trial"
            )
        if environment is None and evaluator in (None, "environment"):
            raise ConfigurationError(
                "an agent needs an evaluator: 'llm', CommandEvaluator('...'), or a function of (task, result)"
            )
        if environment is None and approval.actions:
            raise ConfigurationError(
                "approval.actions is for environments: to approve the tools of an agent, give the agent "
                "HumanInTheLoopMiddleware"
            )
        if isinstance(agent, cls):
            return agent
        return None

    @classmethod
    def each_of(
        cls, actors: Sequence[object], environment: Environment | None, evaluator: object, approval: Approval
    ) -> "list[WrappedAgent]":
        """Return the agents of a list, one for each trial, all of which play in the surroundings of the first.

        Raises:
            ConfigurationError: the list is empty, has something that is not an agent, or agents with surroundings of
                their own; or what `of` raises.
        """
        agents: list[WrappedAgent] = []
        for number, actor in enumerate(actors, 1):
            agent = None
            if not isinstance(actor, str | None):
                agent = cls.of(actor, environment, evaluator, approval)
            if agent is None:
                raise ConfigurationError(f"actor[{number - 1}]: in a list, each is an agent; got {actor!r:.100}")
            if agent.make:
                raise ConfigurationError(
                    f"actor[{number - 1}]: make= makes a new agent for each trial, and needs no list"
                )
            if agents and agent.reset not in (None, agents[0].reset):
                raise ConfigurationError(
                    f"actor[{number - 1}]: all trials have the surroundings of the first agent: give that one reset="
                )
            agents.append(agent)
        if not agents:
            raise ConfigurationError("actor is an empty list: give at least one agent")
        return agents

    @cached_property
    def runnable(self) -> Runnable[Any, Any]:
        """The agent of every trial; there is none with `make`."""
        return as_runnable(self.agent)

    @cached_property
    def form(self) -> InputForm:
        """How the agent of every trial takes its input."""
        return self.form_of(self.runnable)

    @property
    def keys(self) -> Sequence[str]:
        """The keys of the agent's state, besides its messages, that a caller may give."""
        # With `make`, no agent is there yet whose state could be read.
        if self.agent is None:
            return ()
        return self.form.keys

    @property
    def model(self) -> BaseChatModel | None:
        """The chat model that the functions of the graph's nodes refer to; None if there is not exactly one.

        `create_agent` and `create_deep_agent` keep it nowhere else.
        """
        if self.agent is None:
            return None
        # Several nodes may refer to the same model. It is told by its identity, as a chat model has no hash.
        models = {id(model): model for model in _models_of(self.runnable)}
        if len(models) != 1:
            return None
        return next(iter(models.values()))

    @property
    def environment(self) -> AgentEnvironment:
        """The environment that resets the agent's world."""
        return AgentEnvironment(self.reset, self.make)

    def form_of(self, agent: Runnable[Any, Any]) -> InputForm:
        """Return how an agent takes its input.

        Raises:
            ConfigurationError: that is unclear, or the agent remembers its earlier trials.
        """
        if getattr(agent, "checkpointer", None) is True:
            raise ConfigurationError(
                "an agent compiled with checkpointer=True remembers its earlier trials, but each must start afresh: "
                "compile it without a checkpointer, and it uses the one of this graph"
            )
        if self.make_input:
            return InputForm("state")
        return input_form(agent)

    def messages(self, state: WrappedAgentState, lessons: str) -> list[AnyMessage]:
        """Return the agent's conversation: earlier messages, and the task with the lessons after it."""
        before, task = self._conversation(state)
        if not lessons:
            return [*before, task]
        # Under an id of its own, it never replaces the caller's message.
        mark = f"{state['task']['id']}:{state['trial']}:lessons"
        told = followed_by(task, lessons, once=has_called_tools(state))
        return [*before, told.model_copy(update={"id": mark})]

    def task_text(self, state: WrappedAgentState) -> str:
        """Return the task alone, as text."""
        return self._conversation(state)[1].text

    def _conversation(self, state: WrappedAgentState) -> tuple[list[AnyMessage], HumanMessage]:
        """Return the messages before the task, and that of the task."""
        before, task = asked_in(state)
        if task is not None:
            return before, task
        # The task came as a text.
        mark = f"{state['task']['id']}:{state['trial']}:task"
        return [], HumanMessage(state["task"]["instruction"], id=mark)

    def input(
        self, agent: Runnable[Any, Any], given: Sequence[BaseMessage], task: str, lessons: str, state: dict[str, Any]
    ) -> Any:
        """Return the input of the agent for a trial.

        Args:
            agent: The trial's agent.
            given: The conversation of `messages`, which ends with the task and the lessons; under the strategy
                `continue`, with what the check said.
            task: The task alone.
            lessons: The lessons of earlier trials.
            state: The agent's own state at the beginning.
        """
        if self.make_input is not None:
            return self.make_input(task, lessons)
        if self.make:
            # Each trial has another agent, whose input may have another form.
            form = self.form_of(agent)
        else:
            form = self.form
        # The last message is that of the task, with the lessons after it, or what the check said.
        text = given[-1].text
        return form.build(given, text, state)


def has_called_tools(state: WrappedAgentState) -> bool:
    """Return whether an earlier trial of the task called tools: its prompt was sent again with every call."""
    return any(record["actions"] for record in state["trials"])


def lessons_for(state: WrappedAgentState, prompts: Prompts, rules: Rules, *, fresh: bool) -> str:
    """Return the text on earlier trials and other tasks for an agent; usually empty in the first trial.

    Args:
        state: The state, with the reflections.
        prompts: The templates.
        rules: How much of a failed evaluation is shown.
        fresh: Whether the trial finds nothing of the trials before.
    """
    text = ""
    reflections = []
    if rules.shows_reflections:
        reflections = state["reflections"]
    last_attempt = state.get("last_attempt", [])
    check = check_for_next_trial(state, rules)
    if last_attempt and not check:
        check = check_words(state["evaluation"], rules.feedback)
    if reflections or last_attempt or check:
        task = sanitize(state["task"]["instruction"])
        if len(task) > LONGEST_TASK:
            task = ""
        # A tool may have written something that only a reset takes away.
        text = prompts.render(
            "lessons",
            attempts=state["trial"] - 1,
            reflections=reflections,
            last_attempt=last_attempt,
            check=check,
            traces=has_called_tools(state) and not fresh,
            task=task,
        )
    # A conversation that goes on has been told of each trial at its end.
    if not state.get("continued"):
        text = with_facts(text, state.get("trial_facts", []), prompts)
    return with_lessons(text, state, prompts).strip()


def followed_by(message: HumanMessage, lessons: str, *, once: bool) -> HumanMessage:
    """Return the message of a task with the lessons after what it says.

    Args:
        message: The task.
        lessons: What earlier trials have taught. It mostly ends with the task once more.
        once: Whether a task that they end with is left out before them, as in an environment. Blocks of content are
            left as they are, since they may say what a provider caches.
    """
    if not isinstance(message.content, str):
        block = {"type": "text", "text": f"\n\n{lessons}"}
        blocks = [*message.content, block]
        return message.model_copy(update={"content": blocks})
    text = f"{message.content}\n\n{lessons}"
    task = message.content.strip()
    if once and task and lessons.endswith(task):
        text = lessons
    return message.model_copy(update={"content": text})


def _models_of(agent: Runnable[Any, Any]) -> Iterator[BaseChatModel]:
    """Yield the chat models that an agent shows.

    An agent of `create_agent` keeps its model in a variable around the function of a node, and offers no other way
    to it. `RunnableLambda.deps` finds such variables, too, but takes those of the module as well, and needs the
    source. Where nothing is found, an agent needs `create_reflexion(model=...)`, which says so, and nothing else
    changes.
    """
    if isinstance(agent, BaseChatModel):
        yield agent
    if not isinstance(agent, Pregel):
        return
    for node in agent.nodes.values():
        function = getattr(node.bound, "func", None)
        if not isfunction(function):
            continue
        for value in getclosurevars(function).nonlocals.values():
            if isinstance(value, BaseChatModel):
                yield value
