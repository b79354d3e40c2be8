"""Reflexion as middleware of `create_agent`: after a failed evaluation the agent starts over with a reflection."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, Literal, NotRequired, TypedDict, cast

from langchain.agents.middleware.types import (
    AgentMiddleware,
    AgentState,
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
    PrivateStateAttr,
    hook_config,
)
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, RemoveMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config, merge_configs
from langgraph.constants import TAG_NOSTREAM
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.runtime import Runtime
from langgraph.types import Command, Overwrite

from langgraph_reflexion.agents.no_environment import NoEnvironment
from langgraph_reflexion.agents.nodes import NO_ANSWER, outcome_of
from langgraph_reflexion.agents.runner import lessons_for
from langgraph_reflexion.agents.state import AgentState as TaskState
from langgraph_reflexion.agents.state import Attempt
from langgraph_reflexion.agents.transcript import messages_in, result_of, steps_of
from langgraph_reflexion.agents.wrapped import task_from
from langgraph_reflexion.budgets import Budgets
from langgraph_reflexion.choices import Feedback
from langgraph_reflexion.envs.pool import EpisodePool
from langgraph_reflexion.errors import checked
from langgraph_reflexion.evaluators import make_evaluator
from langgraph_reflexion.evaluators.base import Evaluator
from langgraph_reflexion.memory import Memory, make_memory
from langgraph_reflexion.models.client import Client
from langgraph_reflexion.models.load import load_model
from langgraph_reflexion.models.options import ModelOptions
from langgraph_reflexion.models.usage import add_usage, usage_of
from langgraph_reflexion.nodes.approval import Approval
from langgraph_reflexion.nodes.evaluate import Evaluate
from langgraph_reflexion.nodes.reflect import Reflect
from langgraph_reflexion.nodes.reset import Reset
from langgraph_reflexion.profiles import PROFILES
from langgraph_reflexion.prompts import Prompts, load_prompts
from langgraph_reflexion.retries import Retries
from langgraph_reflexion.state import Strategy, Update, with_trials
from langgraph_reflexion.sync import run_blocking

Request = ModelRequest[Any]
Response = ModelResponse[Any] | ExtendedModelResponse[Any]


class MiddlewareState(TypedDict):
    """The task of the last human message. Kept in the agent's state, but not in its input and output."""

    given: list[AnyMessage]
    """The conversation up to the task, with which every trial begins."""
    trials: TaskState
    """The state of the graph's nodes: trial, memory, evaluation."""
    best: list[AnyMessage]
    """The messages of the best trial so far."""
    best_response: Any
    """The structured response of the best trial, if the agent has one."""
    called: bool
    """Whether the model was called in the current trial."""


class ReflexionAgentState(AgentState[Any]):
    """The state of an agent with this middleware."""

    reflexion: NotRequired[Annotated[MiddlewareState, PrivateStateAttr]]


@checked
class ReflexionMiddleware(AgentMiddleware[ReflexionAgentState, Any, Any]):
    """Lets an agent of `langchain.agents.create_agent` retry, with its reflections in the system prompt.

    The last human message is the task. When the evaluation of the answer fails, the middleware writes a reflection,
    removes the trial's messages from the conversation, and the agent starts over. Each further human message on a
    thread is a new task. If no trial succeeds, the best one is the answer. The outcome is in the last AI message's
    `response_metadata["reflexion"]`, as with `create_reflexion`.

    Put it last in the list, so that other middleware finishes after the final answer and not after every trial.

    Args:
        model: Writes the reflections and judges; a chat model, or its name.
        evaluator: Scores an answer: a function of `(task, result)` that returns a bool, a score, `(score, feedback)`
            or an `Evaluation`; `llm` (the model reads the trajectory); or an `Evaluator` such as
            `CommandEvaluator("pytest -q")`. The result is the text of the last AI message, or the structured
            response as plain data.
        max_trials: Number of trials per task; the paper's unless given.
        memory_size: Number of reflections kept (Ω); the paper's unless given.
        feedback: How much of a failed evaluation is shown: `binary`, `scalar` or `words`.
        threshold: The score from which on a trial is a success.
        prompts: The prompts; those for agents unless given.
        retries: Retries of the reflecting model. A lasting fault ends the task with the best answer and status
            `fault`.
        seed: Every call of the reflecting model gets a seed derived from this one, the task and the trial.

    Raises:
        ConfigurationError: an argument is wrong.
    """

    state_schema = ReflexionAgentState

    def __init__(
        self,
        model: BaseChatModel | str,
        *,
        evaluator: Evaluator | Callable[..., Any] | Literal["llm"],
        max_trials: int | None = None,
        memory_size: int | None = None,
        feedback: Feedback = "words",
        threshold: float = 1.0,
        prompts: Prompts | None = None,
        retries: Retries | None = None,
        seed: int = 0,
    ) -> None:
        environment, budgets = NoEnvironment(), Budgets()
        options = ModelOptions(seed=seed, retries=retries or Retries())
        rules = PROFILES["paper"].resolve(
            environment, feedback=feedback, max_trials=max_trials, memory_size=memory_size, threshold=threshold
        )
        self.feedback = rules.feedback
        self.prompts = prompts or load_prompts("agent")
        client = Client(load_model(model) if isinstance(model, str) else model, retries=options.retries)
        client.answered = True  # so that a server that is down does not discard the agent's answer
        memory = make_memory(Memory(), environment, client, self.prompts, rules, budgets, options, approves=False)
        pool = EpisodePool(environment, options.retries)
        judge = make_evaluator(evaluator, client, None, environment, self.prompts, rules, seed)
        self._reflect = Reflect(client, self.prompts, memory, rules, seed)
        self._reset = Reset(pool, judge, Strategy.REFLEXION, budgets, Approval(), memory, task_from)
        self._evaluate = Evaluate(judge, pool, budgets, rules, memory)

    def before_agent(self, state: ReflexionAgentState, runtime: Runtime[Any]) -> Update:
        return run_blocking(self.abefore_agent(state, runtime))

    async def abefore_agent(self, state: ReflexionAgentState, runtime: Runtime[Any]) -> Update:
        """Begin the task of the last human message."""
        trials = await _apply_node(self._reset, TaskState(messages=state["messages"]), _config())
        own = MiddlewareState(given=state["messages"], trials=trials, best=[], best_response=None, called=False)
        return {"reflexion": own}

    def wrap_model_call(self, request: Request, handler: Callable[[Request], ModelResponse[Any]]) -> Response:
        return _called(request, handler(self._with_lessons(request)))

    async def awrap_model_call(
        self, request: Request, handler: Callable[[Request], Awaitable[ModelResponse[Any]]]
    ) -> Response:
        """Add the lessons to the system prompt."""
        return _called(request, await handler(self._with_lessons(request)))

    @hook_config(can_jump_to=["model"])
    def after_agent(self, state: ReflexionAgentState, runtime: Runtime[Any]) -> Update | None:
        return run_blocking(self._evaluated(state, _config()))

    @hook_config(can_jump_to=["model"])
    async def aafter_agent(self, state: ReflexionAgentState, runtime: Runtime[Any]) -> Update | None:
        """Evaluate the answer; on failure, reflect and start over."""
        return await self._evaluated(state, _config())

    async def _evaluated(self, state: ReflexionAgentState, config: RunnableConfig) -> Update | None:
        own = state.get("reflexion")
        if not own or own["trials"]["status"] != "running":
            # Other middleware answered before the task began.
            return None
        if not own["called"]:
            return _abandon(own)
        done = messages_in(state, own["given"])
        usage = add_usage(*(usage_of(message, None) for message in done if isinstance(message, AIMessage)))
        trials = own["trials"] | TaskState(usage={"act": usage}, trajectory=steps_of(done))
        trials["attempt"] = Attempt(messages=[], ended="terminated", result=result_of(state, done))
        trials = await _apply_node(self._evaluate, trials, config)
        is_best = trials["best"] in (None, trials["trial"])
        if is_best:
            best, response = cast(list[AnyMessage], done), state.get("structured_response")
            own = {**own, "best": best, "best_response": response}
        for node in (self._reflect, self._reset):
            if trials["status"] == "running":
                trials = await _apply_node(node, trials, config)
        if trials["status"] == "running":
            update = _conversation(own["given"]) | {"jump_to": "model"}
            if state.get("structured_response") is not None:
                update["structured_response"] = None
        else:
            update = _finish(own, trials, is_last=is_best)
        kept = {key: value for key, value in trials.items() if key not in ("trajectory", "attempt")}
        return update | {"reflexion": {**own, "trials": kept, "called": False}}

    def _with_lessons(self, request: Request) -> Request:
        lessons = lessons_for(_own(request)["trials"], self.prompts, self.feedback)
        if not lessons:
            return request
        prompt: Any = request.system_message.content if request.system_message else ""
        blocks = [*prompt, {"type": "text", "text": lessons}] if isinstance(prompt, list) else None
        return request.override(system_message=SystemMessage(blocks or f"{prompt}\n\n{lessons}".strip()))


async def _apply_node(
    node: Callable[[Any, RunnableConfig], Awaitable[Update]], state: TaskState, config: RunnableConfig
) -> TaskState:
    """Return the state after a node of the graph, which runs outside the graph."""
    after: dict[str, Any] = {**state}
    for key, value in (await node(state, config)).items():
        if isinstance(value, Overwrite):
            after[key] = value.value
        else:
            after[key] = with_trials(state["trials"], value) if key == "trials" else value
    after.pop("messages", None)
    return cast(TaskState, after)


def _conversation(messages: Sequence[BaseMessage]) -> Update:
    return {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), *messages]}


def _abandon(own: MiddlewareState) -> Update | None:
    """End the task at a trial that other middleware ended before its first model call, such as a limit of calls."""
    trials = own["trials"]
    if trials["trial"] == 1:
        return None
    trials = trials | TaskState(trial=trials["trial"] - 1, status="failed")
    return _finish(own, trials, is_last=False) | {"reflexion": {**own, "trials": trials}}


def _finish(own: MiddlewareState, trials: TaskState, *, is_last: bool) -> Update:
    """Make the best trial the answer. The messages of the last one are in the conversation already."""
    messages, answer = _with_outcome(own["best"], outcome_of(trials, trials))
    if is_last:
        return {"messages": [answer]}
    response = own["best_response"]
    return _conversation([*own["given"], *messages]) | ({} if response is None else {"structured_response": response})


def _with_outcome(messages: Sequence[AnyMessage], outcome: dict[str, Any]) -> tuple[list[AnyMessage], AIMessage]:
    """Return the messages with the outcome in the last AI message's metadata, and that message."""
    messages = list(messages)
    for index in reversed(range(len(messages))):
        if isinstance(message := messages[index], AIMessage):
            metadata = {**message.response_metadata, "reflexion": outcome}
            messages[index] = answer = message.model_copy(update={"response_metadata": metadata})
            return messages, answer
    answer = AIMessage(outcome["fault"] or NO_ANSWER, response_metadata={"reflexion": outcome})
    return [*messages, answer], answer


def _config() -> RunnableConfig:
    """Return the node's config, with a tag that keeps reflections out of the agent's stream."""
    return merge_configs(ensure_config(), {"tags": [TAG_NOSTREAM]})


def _own(request: Request) -> MiddlewareState:
    return cast(ReflexionAgentState, request.state)["reflexion"]


def _called(request: Request, response: ModelResponse[Any]) -> Response:
    """Return the response, and record in the state that the model was called in this trial."""
    own = _own(request)
    if own["called"]:
        return response
    return ExtendedModelResponse(response, Command(update={"reflexion": {**own, "called": True}}))
