"""The Reflexion agent as an Inspect agent, and its progress in the conversation, for the viewer."""

import weakref
from collections.abc import Mapping
from contextlib import nullcontext
from functools import partial
from typing import Any, cast
from uuid import uuid4

from inspect_ai.agent import Agent, AgentState, agent
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageTool,
    ChatMessageUser,
    ModelOutput,
    get_model,
)
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import ToolCall
from inspect_ai.util import span, store_as
from langchain_core.language_models import BaseChatModel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Overwrite

from langgraph_reflexion.agents.world import task_name
from langgraph_reflexion.envs import load_environment
from langgraph_reflexion.envs.base import Environment, Task
from langgraph_reflexion.envs.protocols import review
from langgraph_reflexion.errors import ConfigurationError, Fault
from langgraph_reflexion.graph.reflexion import ReflexionGraph
from langgraph_reflexion.lab.experiments.rows import Finished, brief
from langgraph_reflexion.lab.experiments.task_run import Graph, TaskError, TaskRun
from langgraph_reflexion.lab.inspect.chat_model import InspectChatModel, LimitReached
from langgraph_reflexion.lab.inspect.scorer import AnsweredRow, SampleStore, answer_of
from langgraph_reflexion.lab.settings import ReflexionSettings
from langgraph_reflexion.loop.budgets import Budgets
from langgraph_reflexion.models.unasked import UnaskedChatModel
from langgraph_reflexion.state import Step, Strategy
from langgraph_reflexion.support.sync import finished
from langgraph_reflexion.support.text import as_text


class ConversationRun(TaskRun):
    """A task's run that writes to the conversation in `state`.

    Attributes:
        result: The best trial's result so far, if the actor is a wrapped agent.
    """

    def __init__(self, graph: Graph, *args: Any, state: AgentState, **options: Any) -> None:
        super().__init__(graph, *args, **options)
        self._state = state
        self._trial = 0
        self.result = ""

    def _watch(self, node: str, written: dict[str, Any]) -> None:
        said = self._state.messages
        match node, written:
            case "reset", {"episode": Mapping() as episode}:
                self._trial = written.get("trial", self._trial)
                said.append(ChatMessageUser(content=f"Trial {self._trial}\n\n{episode['observation']}"))
            case "observe", {"trajectory": Overwrite(value=steps) | list(steps)}:
                for step in steps:
                    said.extend(self._messages(step))
            case "evaluate", {"trials": [*_, record]}:
                self.result = as_text(written.get("result"))
                said.append(ChatMessageUser(content=_verdict(record, written.get("evaluation"))))
            # After useless ones, the newest reflection is that on an earlier trial.
            case "reflect", {"reflections": [*_, reflection]} if reflection["trial"] == self._trial:
                said.append(ChatMessageAssistant(content=f"Reflection: {reflection['text']}"))

    def _messages(self, step: Step) -> list[ChatMessage]:
        action = step["action"]
        seen = ChatMessageUser(content=step["observation"])
        if action is None:
            return [ChatMessageAssistant(content=step["thought"]), seen]
        if not action["name"]:
            # Text that is not an allowed action.
            parts = [part for part in (step["thought"], action["text"]) if part]
            return [ChatMessageAssistant(content="\n".join(parts)), seen]
        number = f"trial-{self._trial}-step-{step['number']}"
        call = ToolCall(id=number, function=action["name"], arguments=action["args"])
        result = ChatMessageTool(content=step["observation"], tool_call_id=number, function=call.function)
        return [ChatMessageAssistant(content=step["thought"], tool_calls=[call]), result]


_VERDICTS = {True: "solved", False: "failed", None: "no verdict"}


def _verdict(record: Mapping[str, Any], evaluation: Mapping[str, Any] | None) -> str:
    """Return how a trial has ended, with the feedback of the evaluator that judged it."""
    verdict = _VERDICTS[record["verdict"]]
    if record.get("unverified"):
        verdict += ", unverified"
    feedback = ""
    if evaluation and record["verdict"] is not None:
        feedback = evaluation["feedback"]
    return f"Trial {record['trial']}: {verdict} ({record['stop_reason']}).\n{feedback}".strip()


REFLECTOR = "reflector"
"""The model role that reflects and judges (`--model-role reflector=...`), by default the evaluation's model."""

TASK = "reflexion_task"
"""The key of the environment's task in a sample's metadata."""

OF_INSPECT = {"model", "reflection_model", "base_url", "temperature", "timeout", "cache"}
"""The settings that are options of Inspect (--model, --model-role, --temperature, ...) instead."""


@solver
def sample_context() -> Solver:
    """Return the `setup` of an Inspect task: it passes the sample's epoch and task to the agent."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        store = state.store_as(SampleStore)
        store.epoch = state.epoch
        store.task = state.metadata.get(TASK, {})
        return state

    return solve


def read_settings(given: dict[str, Any]) -> ReflexionSettings:
    """Return the settings of an agent.

    Raises:
        ConfigurationError: a name is unknown or an option of Inspect, or a value is invalid.
    """
    for name in given:
        if name in OF_INSPECT:
            raise ConfigurationError(
                f"{name} is an option of inspect eval, not a setting of the agent; the reflector is a model role: "
                f"--model-role {REFLECTOR}=..."
            )
    return ReflexionSettings.read(given)


@agent
def reflexion_agent(
    environment: Environment | str | None = None, *, options: dict[str, Any] | None = None, **settings: Any
) -> Agent:
    """Return the Reflexion agent, which plays all trials of a task within one sample.

    Your own Inspect task needs `setup=sample_context()`, and samples whose metadata contain the environment's task
    under `reflexion_task` (see `samples_of`). With a LangChain agent as `actor`, it needs neither: the task is the
    conversation's last user message.

    Args:
        environment: The environment, or its name.
        options: The options of an environment given by name.
        **settings: Fields of `ReflexionSettings` except those of models: `actor`, `strategy`, `evaluator`,
            `max_trials`, `max_actions`, `profile` and so on. `actor`, `evaluator` and `heuristic` may be objects, as
            in `create_reflexion`. `seed` is that of the first epoch, and rises by one with each epoch.

    Raises:
        ConfigurationError: a setting is invalid.
        EnvironmentUnavailable: the environment cannot be used here.
    """
    parts: dict[str, Any] = {}
    for name in ("actor", "evaluator", "heuristic"):
        # A name is a setting; anything else is a part of the graph.
        if not isinstance(settings.get(name), str | None):
            parts[name] = settings.pop(name)
    given = read_settings(settings)
    made = environment
    if isinstance(made, str):
        of_environment: dict[str, Any] = {"seed": given.seed}
        of_environment.update(options or {})
        made = load_environment(made, **of_environment)
    reflexion = _Reflexion(made, given, parts)

    async def execute(state: AgentState) -> AgentState:
        await reflexion.solve(state)
        return state

    if isinstance(environment, str) and made is not None:
        # The environment lasts as long as the agent that acts in it.
        weakref.finalize(execute, lambda: finished(made.close()))
    return execute


class _Reflexion:
    """The graphs of an agent, one for each epoch and its models, with their budgets in common."""

    def __init__(self, environment: Environment | None, settings: ReflexionSettings, parts: dict[str, Any]) -> None:
        self.environment = environment
        self.settings = settings
        self.parts = parts
        limits = {scope: limit.budget() for scope, limit in settings.budgets.items()}
        self.budgets = Budgets(**limits)
        self.graphs: dict[tuple[Any, ...], ReflexionGraph] = {}
        # An invalid setting fails here, before the first sample; the evaluation's model is not known yet.
        self._make(epoch=1, model=UnaskedChatModel(), reflection_model=UnaskedChatModel())
        # Without an environment, `create_reflexion` has taken the actor as an agent, whatever its form.
        self.wraps = environment is None

    def graph(self, epoch: int) -> ReflexionGraph:
        """Return the graph of an epoch, with the models of the evaluation that is running.

        Raises:
            ConfigurationError: a budget of money needs the price of a model.
        """
        # Prices go by their names.
        name = get_model().name
        reflector = get_model(role=REFLECTOR).name
        key = (epoch, name, reflector)
        if key not in self.graphs:
            self.graphs[key] = self._make(
                epoch,
                model=InspectChatModel(model_name=name),
                reflection_model=InspectChatModel(model_name=reflector, role=REFLECTOR),
            )
        return self.graphs[key]

    def _make(self, epoch: int, *, model: BaseChatModel, reflection_model: BaseChatModel) -> ReflexionGraph:
        seed = self.settings.seed + epoch - 1
        settings = self.settings.model_copy(update={"seed": seed})
        rules = settings.rules(self.environment)
        return settings.build(
            self.environment,
            rules,
            budgets=self.budgets,
            model=model,
            reflection_model=reflection_model,
            **self.parts,
        )

    async def solve(self, state: AgentState) -> None:
        """Advance the sample's task to its end.

        Raises:
            ConfigurationError: the sample has no task of the environment.
            Fault: something outside the agent failed.
            LimitExceededError: a limit of Inspect is reached.
            Exception: an evaluator, a tool, a heuristic or the environment has a bug.
        """
        store = store_as(SampleStore)
        task = self._task(store, state)
        graph = self.graph(store.epoch)
        run = self._run(graph, task, state)
        store.max_trials = graph.rules.max_trials
        store.has_truth = not self.wraps
        store.rows = []
        try:
            while run.status == "running":
                async with span(f"trial {run.completed + 1}", type="trial"):
                    finished_trial = await run.advance()
                store.rows = [*store.rows, _row(finished_trial, run)]
                store.status = run.status
        except TaskError as stopped:
            cause = cast(Exception, stopped.__cause__)
            if isinstance(cause, LimitReached):
                raise cause.limit from None
            raise cause from None
        if run.status == "fault":
            raise Fault(store.rows[-1]["fault"])
        said = ""
        answer = answer_of(store.rows)
        if answer:
            said = answer["answer"]
        state.output = ModelOutput.from_content("langgraph-reflexion", said)

    def _run(self, graph: ReflexionGraph, task: Task, state: AgentState) -> ConversationRun:
        """Return the run of a task, from its first trial."""
        return ConversationRun(
            graph.compile(checkpointer=InMemorySaver()),
            task,
            # Epochs play a task at once, and the budget of the run knows what is played by its thread.
            f"{task['id']} {uuid4().hex}",
            reflects=Strategy(graph.rules.strategy).reflects,
            max_trials=graph.rules.max_trials,
            budgets=self.budgets,
            review=partial(review, graph.pool.environment),
            lock=lambda thread: nullcontext(),  # its checkpoints are in memory
            state=state,
        )

    def _task(self, store: SampleStore, state: AgentState) -> Task:
        """Return the sample's task: the environment's, or for a wrapped agent what a user said last."""
        if store.task:
            return cast(Task, store.task)
        if not self.wraps:
            raise ConfigurationError(
                "the sample contains no environment's task: give its Inspect task setup=sample_context() and the "
                "samples of samples_of(tasks)"
            )
        asked = [message for message in state.messages if isinstance(message, ChatMessageUser)]
        if not asked:
            raise ConfigurationError("the conversation has no user message, which is the task")
        instruction = asked[-1].text
        return Task(id=task_name(instruction), instruction=instruction)


def _row(finished: Finished, run: ConversationRun) -> AnsweredRow:
    """Return a finished trial with its answer: the wrapped agent's result, or else the last action."""
    last_action = ""
    for step in finished.row["steps"]:
        if step["action"]:
            last_action = step["action"]["text"]
    row: AnsweredRow = dict(brief(finished.row))
    row["answer"] = run.result or last_action
    return row
