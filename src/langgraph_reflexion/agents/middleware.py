"""Reflexion as middleware of an agent: when its answer fails a verifier, it reflects, and begins anew."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Annotated, Any, NotRequired, cast

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
from langchain_core.messages import AIMessage, AnyMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config, merge_configs
from langgraph.constants import TAG_NOSTREAM
from langgraph.runtime import Runtime
from langgraph.types import Command

from langgraph_reflexion.agents.course import Course, after, conversation, cut_short, ended
from langgraph_reflexion.agents.no_environment import NoEnvironment
from langgraph_reflexion.agents.runner import lessons_for
from langgraph_reflexion.agents.state import AgentState as Trials
from langgraph_reflexion.agents.state import Attempt
from langgraph_reflexion.agents.transcript import messages_in, result_of, steps_of
from langgraph_reflexion.agents.wrapped import task_from
from langgraph_reflexion.budgets import Budgets
from langgraph_reflexion.choices import Feedback
from langgraph_reflexion.envs.pool import EpisodePool
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.evaluators.base import Evaluator
from langgraph_reflexion.evaluators.function import FunctionEvaluator
from langgraph_reflexion.evaluators.llm_judge import LLMEvaluator
from langgraph_reflexion.memory.episodic import EpisodicMemory
from langgraph_reflexion.models.client import Client
from langgraph_reflexion.models.load import load_model
from langgraph_reflexion.models.usage import add_usage, usage_of
from langgraph_reflexion.nodes.approval import Approval
from langgraph_reflexion.nodes.evaluate import Evaluate
from langgraph_reflexion.nodes.reflect import Reflect
from langgraph_reflexion.nodes.reset import Reset
from langgraph_reflexion.profiles import load_profile
from langgraph_reflexion.prompts import Prompts, load_prompts
from langgraph_reflexion.retries import Retries
from langgraph_reflexion.state import Strategy, Update
from langgraph_reflexion.sync import run_blocking

Handed = ModelRequest[Any]
Answered = ModelResponse[Any] | ExtendedModelResponse[Any]


class ReflexionAgentState(AgentState[Any]):
    """The state of an agent with this middleware."""

    reflexion: NotRequired[Annotated[Course, PrivateStateAttr]]


class ReflexionMiddleware(AgentMiddleware[ReflexionAgentState, Any, Any]):
    """Lets an agent of `langchain.agents.create_agent` try again, with what it learned in its system prompt.

    The last human message is the task. When the agent's answer fails the verifier, a reflection is written, what the
    trial added to the conversation is removed, and the agent begins anew. Each further human message on a thread is a
    new task. When no trial succeeds, the best one is the answer. How it ended is in the last AI message's
    `response_metadata["reflexion"]`, as with `create_reflexion`.

    Put it last in the list: then other middleware ends its work on the final answer, and not on every trial's.

    Args:
        evaluator: What passes the verdict: a function of `(task, result)` that returns a bool, a score,
            `(score, feedback)` or an `Evaluation`, `llm` (the model reads the trajectory), or an `Evaluator` such as
            `CommandEvaluator("pytest -q")`. The result is the text of the last AI message, or the structured
            response as plain data.
        model: Writes the reflections and judges; the agent's own unless given.
        max_trials: After how many trials the task has failed; the paper's unless given.
        memory_size: How many reflections are kept (Ω); the paper's unless given.
        feedback: How much of a failed verdict is told: `binary`, `scalar` or `words`.
        threshold: From which score on a trial is a success.
        prompts: The prompts; those for agents unless given.
        retries: How often a call of the reflecting model is tried again when it fails for a passing reason. One that
            stays ends the task with the best answer and status `fault`.
        seed: Every call of the reflecting model gets a seed derived from this one, the task, and the trial.

    Raises:
        ConfigurationError: a setting is wrong.
    """

    state_schema = ReflexionAgentState

    def __init__(
        self,
        *,
        evaluator: Evaluator | str | Callable[..., Any],
        model: BaseChatModel | str | None = None,
        max_trials: int | None = None,
        memory_size: int | None = None,
        feedback: Feedback = "words",
        threshold: float = 1.0,
        prompts: Prompts | None = None,
        retries: Retries | None = None,
        seed: int = 0,
    ) -> None:
        rules = load_profile("paper").resolve(
            "agent", feedback=feedback, max_trials=max_trials, memory_size=memory_size
        )
        rules = replace(rules, threshold=threshold)
        self.feedback = rules.feedback
        self.prompts = prompts or load_prompts("agent")
        self._retries = retries or Retries()
        self._model: BaseChatModel | None = None
        self._lent = model is None
        # Their client is set as soon as the model is known.
        unknown = cast(Client, None)
        self._reflect = Reflect(unknown, self.prompts, EpisodicMemory(rules.memory_size), rules, seed)
        self._asking: list[Reflect | LLMEvaluator] = [self._reflect]
        judge = _evaluator(evaluator)
        if judge is None:
            judge = LLMEvaluator(unknown, self.prompts, seed)
            self._asking.append(judge)
        pool, budgets = EpisodePool(NoEnvironment(), self._retries), Budgets()
        self._reset = Reset(pool, judge, Strategy.REFLEXION, budgets, Approval(), read_task=task_from)
        self._evaluate = Evaluate(judge, pool, budgets, rules)
        if model is not None:
            self._meet(load_model(model) if isinstance(model, str) else model)

    def before_agent(self, state: ReflexionAgentState, runtime: Runtime[Any]) -> Update:
        """Begin the task of the last human message."""
        return run_blocking(self.abefore_agent(state, runtime))

    async def abefore_agent(self, state: ReflexionAgentState, runtime: Runtime[Any]) -> Update:
        """Begin the task of the last human message."""
        trials = await after(self._reset, Trials(messages=state["messages"]), _config())
        course = Course(
            given=state["messages"], trials=trials, best=[], best_response=None, called=False, introduce=False
        )
        return {"reflexion": course}

    def wrap_model_call(self, request: Handed, handler: Callable[[Handed], ModelResponse[Any]]) -> Answered:
        """Put the lessons into the system prompt."""
        return self._introduced(request) or _noted(request, handler(self._taught(request)))

    async def awrap_model_call(
        self, request: Handed, handler: Callable[[Handed], Awaitable[ModelResponse[Any]]]
    ) -> Answered:
        """Put the lessons into the system prompt."""
        return self._introduced(request) or _noted(request, await handler(self._taught(request)))

    @hook_config(can_jump_to=["model"])
    def after_agent(self, state: ReflexionAgentState, runtime: Runtime[Any]) -> Update | None:
        """Judge the answer; when it fails, reflect and begin anew."""
        return run_blocking(self._judged(state, _config()))

    @hook_config(can_jump_to=["model"])
    async def aafter_agent(self, state: ReflexionAgentState, runtime: Runtime[Any]) -> Update | None:
        """Judge the answer; when it fails, reflect and begin anew."""
        return await self._judged(state, _config())

    async def _judged(self, state: ReflexionAgentState, config: RunnableConfig) -> Update | None:
        course = state.get("reflexion")
        if not course or course["trials"]["status"] != "running":
            # Something else answered before the task could begin.
            return None
        if not course["called"]:
            return cut_short(course)
        if self._model is None:
            # Resumed in another process, just here. A model node is the only place that tells the agent's model.
            return {"jump_to": "model", "reflexion": {**course, "introduce": True}}
        done = messages_in(state, course["given"])
        usage = add_usage(*(usage_of(message, None) for message in done if isinstance(message, AIMessage)))
        trials = course["trials"] | Trials(usage={"act": usage}, trajectory=steps_of(done))
        trials["attempt"] = Attempt(messages=[], ended="terminated", result=result_of(state, done))
        trials = await after(self._evaluate, trials, config)
        last = trials["best"] in (None, trials["trial"])
        if last:
            course = {
                **course,
                "best": cast(list[AnyMessage], done),
                "best_response": state.get("structured_response"),
            }
        if trials["status"] == "running":
            trials = await after(self._reflect, trials, config)
        if trials["status"] == "running":
            trials = await after(self._reset, trials, config)
            update = conversation(course["given"]) | {"jump_to": "model"}
            if state.get("structured_response") is not None:
                update["structured_response"] = None
        else:
            update = ended(course, trials, last=last)
        kept = {key: value for key, value in trials.items() if key not in ("trajectory", "attempt")}
        return update | {"reflexion": {**course, "trials": kept, "called": False, "introduce": False}}

    def _meet(self, model: BaseChatModel) -> None:
        """Reflect, and judge, with this model."""
        if model is self._model:
            return
        self._model = model
        client = Client(model, retries=self._retries)
        # A server that is not there yet is no reason to throw the agent's answer away.
        client.answered = True
        for asking in self._asking:
            asking.client = client

    def _introduced(self, request: Handed) -> ModelResponse[Any] | None:
        """The answer without words to a call that was only to introduce the model."""
        known = self._model is not None
        if self._lent:
            self._meet(request.model)
        if known or not _course(request)["introduce"]:
            return None
        return ModelResponse(result=[], structured_response=request.state.get("structured_response"))

    def _taught(self, request: Handed) -> Handed:
        lessons = lessons_for(_course(request)["trials"], self.prompts, self.feedback)
        if not lessons:
            return request
        said = request.system_message.content if request.system_message else ""
        told: Any = (
            f"{said}\n\n{lessons}".strip() if isinstance(said, str) else [*said, {"type": "text", "text": lessons}]
        )
        return request.override(system_message=SystemMessage(told))


def _evaluator(evaluator: Evaluator | str | Callable[..., Any]) -> Evaluator | None:
    """The evaluator that was meant; None for the model itself."""
    if isinstance(evaluator, Evaluator):
        return evaluator
    if callable(evaluator):
        return FunctionEvaluator(evaluator, "result")
    if evaluator != "llm":
        raise ConfigurationError(
            f"evaluator={evaluator!r}: choose llm, an Evaluator, or a function of (task, result)"
        )
    return None


def _config() -> RunnableConfig:
    """The node's config. What is said about the agent is not streamed as if the agent had said it."""
    return merge_configs(ensure_config(), {"tags": [TAG_NOSTREAM]})


def _course(request: Handed) -> Course:
    return cast(ReflexionAgentState, request.state)["reflexion"]


def _noted(request: Handed, response: ModelResponse[Any]) -> Answered:
    """The response, with a note in the state that there was one in this trial."""
    course = _course(request)
    if course["called"]:
        return response
    return ExtendedModelResponse(response, Command(update={"reflexion": {**course, "called": True}}))
