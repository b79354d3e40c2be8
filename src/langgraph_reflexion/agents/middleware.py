"""Reflexion as middleware of `create_agent`: after a failed evaluation the agent starts over with a reflection."""

import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Literal, cast

from langchain.agents.middleware.types import AgentMiddleware, ModelResponse, hook_config
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage, BaseMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config, merge_configs
from langgraph.constants import TAG_NOSTREAM
from langgraph.runtime import Runtime

from langgraph_reflexion.agents.continuing import said_since
from langgraph_reflexion.agents.found_model import FoundModelClient
from langgraph_reflexion.agents.middleware_calls import Request, Response, called, in_trial, own_of
from langgraph_reflexion.agents.middleware_messages import abandoned, after_task, conversation_update, finished
from langgraph_reflexion.agents.middleware_state import (
    MiddlewareState,
    PrivateState,
    ReflexionAgentState,
    after_node,
    after_trial,
    seconds_until,
)
from langgraph_reflexion.agents.nodes import EvaluateAgent, ResetAgent
from langgraph_reflexion.agents.state import WrappedAgentState
from langgraph_reflexion.agents.transcript import is_cut_off, messages_in, result_of, steps_of
from langgraph_reflexion.agents.world import AgentEnvironment, ResetFunction, World
from langgraph_reflexion.agents.wrapped import lessons_for
from langgraph_reflexion.envs.pool import EpisodePool
from langgraph_reflexion.errors import ConfigurationError, checked
from langgraph_reflexion.evaluators.all_of import AllOf
from langgraph_reflexion.evaluators.base import Evaluator
from langgraph_reflexion.evaluators.make import make_evaluator, make_truth
from langgraph_reflexion.loop.budgets import Budgets
from langgraph_reflexion.loop.events import emit
from langgraph_reflexion.loop.heuristic import Heuristic, HeuristicFunction
from langgraph_reflexion.loop.profiles import Profile, load_profile
from langgraph_reflexion.loop.tracing import ambient
from langgraph_reflexion.memory import Memory, make_memory
from langgraph_reflexion.memory.lessons import Lessons
from langgraph_reflexion.models.client import Client
from langgraph_reflexion.models.options import ModelOptions
from langgraph_reflexion.models.usage import UsageCallback
from langgraph_reflexion.nodes.approval import Approval
from langgraph_reflexion.nodes.heuristic_check import HeuristicCheck
from langgraph_reflexion.nodes.learning import learn_in_background
from langgraph_reflexion.nodes.reflect import Reflect
from langgraph_reflexion.prompts import Prompts, load_prompts
from langgraph_reflexion.state import Attempt, Strategy, Update
from langgraph_reflexion.support.choices import Feedback, StrategyName
from langgraph_reflexion.support.sync import run_blocking

NO_THREAD = (
    "approval pauses the run, which only a checkpointer and a thread can resume: pass them as "
    "create_agent(..., checkpointer=...) and config={'configurable': {'thread_id': ...}}"
)


def _blocking(hook: Callable[..., Coroutine[Any, Any, Update | None]]) -> Callable[..., Update | None]:
    """Return a hook for an agent that is called synchronously."""

    def call(self: Any, state: ReflexionAgentState, runtime: Runtime[Any]) -> Update | None:
        return run_blocking(hook(self, state, runtime))

    return call


@checked
class ReflexionMiddleware(AgentMiddleware[ReflexionAgentState, Any, Any]):
    """Lets an agent of `create_agent` retry a failed task, with its reflections in the message of the task.

    The last human message is the task. When the evaluation of the answer fails, the middleware writes a reflection,
    removes the trial's messages from the conversation, and the agent starts over. Each further human message on a
    thread is a new task. If no trial succeeds, the best one is the answer. The outcome is in the last AI message's
    `response_metadata["reflexion"]`, as with `create_reflexion`, whose arguments these are.

    A to-do list and a deep agent's files start each trial with the caller's values; the final state has those of the
    best trial. Put this middleware last in the list: the others then see only the final answer, not that of every
    trial.

    Args:
        model: Writes the reflections and judges; a chat model, or its name. Unless given, the one that the agent has
            called in the same run. Needed where other middleware gives each run a model of its own, and a run may
            go on in another process, or is learned from later.
        evaluator: Scores an answer: a function of `(task, result)`, or of any of `task`, `result`, `messages`,
            `state` and `trajectory`, that returns a bool, a score, `(score, feedback)` or an `Evaluation`; `llm` (the
            model reads the trajectory), or another name of `create_reflexion`'s for agents; an `Evaluator` such as
            `CommandEvaluator("pytest -q")`; or a list of these, all of which have to accept the answer. The result is
            the text of the last AI message, or the structured response as plain data.
        truth: As for `create_reflexion`.
        reset: Resets what the agent changes outside its state: a function that is called with the task's text before
            each trial, and may return an update of the agent's state; or a `World`, such as a `WorkspaceFolder`.
        heuristic: As for `create_reflexion`.
        memory: As for `create_reflexion`. Lessons are kept in the agent's store.
        strategy: As for `create_reflexion`.
        feedback: As for `create_reflexion`.
        max_trials: As for `create_reflexion`.
        profile: As for `create_reflexion`.
        prompts: As for `create_reflexion`.
        options: How the reflecting model is called, and prices. A fault that retries do not cure
            ends the task with the best answer and status `fault`.
        budgets: What a trial, a task and the run may spend. A pause within the agent counts as seconds, and one for
            the approval of a reflection or a verdict does not.
        approval: Whether a person approves reflections and verdicts. For tool calls, use
            `HumanInTheLoopMiddleware`. With verdicts, give `model`, too: the process in which a run goes on may not
            have called the agent's own model yet, and then knows none that could reflect.
        state_schema: The agent's own state, if it has one: its keys also start each trial with the caller's values.

    Raises:
        ConfigurationError: an argument is wrong.
    """

    state_schema = ReflexionAgentState

    def __init__(
        self,
        model: BaseChatModel | str | list[Any] | None = None,
        *,
        evaluator: Evaluator | AllOf | list[Any] | Callable[..., Any] | str,
        truth: Evaluator | Callable[..., Any] | Literal["exact"] | None = None,
        reset: ResetFunction | World | None = None,
        heuristic: HeuristicFunction | None = None,
        memory: Memory | Lessons | int | None = None,
        strategy: Strategy | StrategyName | None = None,
        feedback: Feedback | None = None,
        max_trials: int | None = None,
        profile: Profile | str = "paper",
        prompts: Prompts | None = None,
        options: ModelOptions | None = None,
        budgets: Budgets | None = None,
        approval: Approval | None = None,
        state_schema: type | None = None,
    ) -> None:
        if isinstance(model, list):
            raise ConfigurationError(
                "ReflexionMiddleware.model is one model, which reflects and judges: the agent acts with its own in "
                "all trials; for another one in each, use create_reflexion(actor=[small_agent, large_agent])"
            )
        environment = AgentEnvironment(reset)
        memory = Memory.of(memory)
        options = options or ModelOptions()
        budgets = budgets or Budgets()
        approval = approval or Approval()
        if approval.actions:
            raise ConfigurationError(
                "approval.actions is for environments: to approve tools, put HumanInTheLoopMiddleware before "
                "ReflexionMiddleware"
            )
        rules = load_profile(profile).resolve(
            environment,
            actor="agent",
            strategy=strategy,
            feedback=feedback,
            heuristic=heuristic if isinstance(heuristic, Heuristic) else None,
            max_trials=max_trials,
            memory_size=memory.most,
        )
        self.rules = rules
        self.prompts = load_prompts("agent").under(prompts)
        self._fresh = environment.fresh
        self._prices = options.prices
        self._own = PrivateState(state_schema)
        self._strategy = Strategy(rules.strategy)
        self._budgets = budgets
        self._pauses = approval.pauses

        # Taken as answered, so that a server that is down does not discard the agent's answer.
        client: Client = FoundModelClient(options, priced=budgets.limits_cost)
        if model is not None:
            client = Client(model, options, priced=budgets.limits_cost, answered=True)
        kept = make_memory(memory, environment, client, self.prompts, rules, budgets, options, approval.reflections)
        judge = make_evaluator(evaluator, client, None, environment, self.prompts, rules, options.seed)
        known = make_truth(truth, client, None, environment, self.prompts, rules, options.seed)
        if not judge.teaches:
            kept = kept.without_learning()
        pool = EpisodePool(environment, options.retries)
        keys = self._own.reduced
        self._client = client
        self._reset = ResetAgent(pool, judge, self._strategy, budgets, approval, kept, known, own_keys=keys)
        self._check = HeuristicCheck(heuristic or rules.heuristic, budgets)
        self._evaluate = EvaluateAgent(judge, pool, budgets, rules, kept, approval, known, own_keys=keys)
        self.reflect = Reflect(client, environment, self.prompts, kept, rules, options.seed)
        learn_in_background(self.reflect)

    async def abefore_agent(self, state: ReflexionAgentState, runtime: Runtime[Any]) -> Update:
        """Begin the task of the last human message."""
        config = _config()
        if self._pauses and "thread_id" not in config.get("configurable", {}):
            raise ConfigurationError(NO_THREAD)
        given = cast(WrappedAgentState, {**self._own.of(state), "messages": state["messages"]})
        own = MiddlewareState(
            given=state["messages"],
            trials=given,
            best=[],
            best_response=None,
            unjudged_response=None,
            called=False,
            over=False,
            clock=time.time(),
        )
        return await self._begun(state, own, config)

    # `create_agent` draws an edge only to the places that are named here.
    @hook_config(can_jump_to=["end"])
    async def abefore_model(self, state: ReflexionAgentState, runtime: Runtime[Any]) -> Update | None:
        """Begin the next trial after a failed one, or stop one that loops, or has spent its budget."""
        own = state.get("reflexion")
        config = _config()
        if not own or own["trials"]["status"] != "running":
            return None
        # `aafter_agent` has jumped here to start over.
        if own["over"]:
            return await self._begun(state, own, config)
        said = messages_in(state, self._begins_with(own))
        trials = self._seen(own, list(said.values()))
        if trials["stop_reason"] is None:
            trials = await after_node("heuristic_check", self._check, trials, config)
        if not trials["stop_reason"]:
            # What was seen is not written at every step, as the messages are in the state already.
            return None
        return {"reflexion": {**own, "trials": trials, "clock": time.time()}, "jump_to": "end"}

    def wrap_model_call(self, request: Request, handler: Callable[[Request], ModelResponse[Any]]) -> Response:
        found = self._found_in(request)
        with ambient(in_trial(request)):
            response = handler(self._with_lessons(request))
        return called(request, response, found)

    async def awrap_model_call(
        self, request: Request, handler: Callable[[Request], Awaitable[ModelResponse[Any]]]
    ) -> Response:
        """Call the model with the lessons after the task, in a message that the conversation does not keep."""
        found = self._found_in(request)
        with ambient(in_trial(request)):
            response = await handler(self._with_lessons(request))
        return called(request, response, found)

    @hook_config(can_jump_to=["model", "end"])
    async def aafter_agent(self, state: ReflexionAgentState, runtime: Runtime[Any]) -> Update | None:
        """Evaluate the answer; on failure, reflect and start over. A verdict may wait for a person in between."""
        own = state.get("reflexion")
        config = _config()
        if not own or own["trials"]["status"] != "running":
            # Other middleware answered before the task began.
            return None
        if not own["called"] and not own["trials"]["stop_reason"]:
            return abandoned(own, self._own, state)

        said = list(messages_in(state, self._begins_with(own)).values())
        # A trial whose evaluation a fault has prevented, or whose verdict waits for a person. Then the agent has not
        # run again.
        kept = own["trials"].get("attempt")
        if kept is None:
            done = said
            response = state.get("structured_response")
            trials = self._ended(own, state, done)
        else:
            # Only its evaluation is resumed. The conversation may be that of a better trial by now.
            done = kept["messages"]
            response = own["unjudged_response"]
            trials = self._seen(own, done)
        # What follows is counted from here on; while a person is asked, nothing is.
        own = {**own, "clock": time.time()}
        if own["trials"].get("proposed_evaluation"):
            # It is as the evaluator has left it.
            trials = own["trials"].copy()
        else:
            emit("observe", trials, {"trajectory": trials["trajectory"]})
        trials = await self._judged(own, trials, config)
        if trials.get("proposed_evaluation"):
            # Once this is in a checkpoint, the hook runs again, and asks a person.
            trials = trials | WrappedAgentState(seconds=seconds_until(own, trials))
            asking = {**own, "trials": trials, "unjudged_response": response}
            return {"reflexion": asking, "jump_to": "end"}
        # As long as no trial has a verdict, the last one counts as the best.
        is_best = trials["best"] in (None, trials["trial"])
        if is_best:
            own = {**own, "best": list(done), "best_response": response}
        trials = await self._reflected(own, trials, config)

        own = after_trial(own, trials, response)
        if trials["status"] == "running":
            return self._starting_over(own, state)
        # The conversation ends with this trial, unless only its evaluation was resumed.
        is_last = is_best and said == list(done)
        if own["trials"].get("continued"):
            # The trials before it are in the conversation, too.
            is_last = False
        update = finished(own, self._own, state, is_last=is_last)
        update["reflexion"] = own
        return update

    before_agent = _blocking(abefore_agent)
    before_model = _blocking(abefore_model)
    after_agent = _blocking(aafter_agent)

    def _ended(self, own: MiddlewareState, state: ReflexionAgentState, done: list[AnyMessage]) -> WrappedAgentState:
        """Return the state of the graph's nodes at the end of a trial, with the trial."""
        trials = self._seen(own, done)
        ended = "terminated"
        if trials["stop_reason"]:
            ended = ""
        attempt = Attempt(
            messages=done,
            ended=ended,
            result=result_of(state, done, stopped=not ended),
            state=self._own.of(state),
        )
        if is_cut_off(done):
            attempt["cut_off"] = True
        trials["attempt"] = attempt
        return trials

    async def _judged(
        self, own: MiddlewareState, trials: WrappedAgentState, config: RunnableConfig
    ) -> WrappedAgentState:
        self._choose_model(own)
        # The evaluator sees the conversation.
        trials["messages"] = own["given"]
        return await after_node("evaluate", self._evaluate, trials, config)

    async def _reflected(
        self, own: MiddlewareState, trials: WrappedAgentState, config: RunnableConfig
    ) -> WrappedAgentState:
        """Reflect on a trial that has failed, if the strategy does so, and return the state after it."""
        if not self._strategy.reflects:
            return trials
        # The last trial of a task is reflected on only for a reason.
        is_due = trials["status"] == "failed" and self.reflect.is_due(trials)
        if trials["status"] != "running" and not is_due:
            return trials
        self._choose_model(own)
        trials["messages"] = own["given"]
        return await after_node("reflect", self.reflect, trials, config)

    def _starting_over(self, own: MiddlewareState, state: ReflexionAgentState) -> Update:
        """Return the update with which the next trial begins."""
        update = conversation_update(self._begins_with(own))
        if not self._strategy.continues:
            update |= self._own.update(own["trials"]["start"], state)
        update["jump_to"] = "model"
        update["reflexion"] = own
        if state.get("structured_response") is not None:
            update["structured_response"] = None
        return update

    def _begins_with(self, own: MiddlewareState) -> list[AnyMessage]:
        """Return the conversation with which the trial begins: up to the task, and the trials that it continues."""
        return [*own["given"], *said_since(own["trials"], self.prompts, self.rules)]

    async def _begun(self, state: ReflexionAgentState, own: MiddlewareState, config: RunnableConfig) -> Update:
        """Reset, and give the agent the state that `reset` returned."""
        # Not the time in which a person was asked about the reflection, after which the hook runs again.
        own = {**own, "clock": time.time()}
        self._choose_model(own)
        trials = await after_node("reset", self._reset, own["trials"], config)
        snapshot = trials["episode"]["snapshot"] or {}
        made = snapshot.get("state") or {}
        update = self._own.update(self._own.of(state) | made, state)
        for key, value in made.items():
            # The others are the agent's as well, and nobody has said that they begin afresh.
            if key not in self._own.reduced:
                update[key] = value
        if trials["stop_reason"]:
            update["jump_to"] = "end"
        trials = trials | WrappedAgentState(seconds=seconds_until(own, trials))
        update["reflexion"] = {**own, "trials": trials, "over": False, "clock": time.time()}
        return update

    def _seen(self, own: MiddlewareState, done: Sequence[BaseMessage]) -> WrappedAgentState:
        """Return the state of the graph's nodes in the middle of a trial, with its messages so far."""
        trials = own["trials"]
        # It has seen no call: what the messages show is all that is known.
        counter = UsageCallback(self._prices)
        usage = {}
        if done:
            usage["act"] = counter.account(done)
        self._budgets.expect_counts(counter)
        return trials | WrappedAgentState(
            trajectory=steps_of(done),
            usage=usage,
            seconds=seconds_until(own, trials),
        )

    def _found_in(self, request: Request) -> str | None:
        """Return the name under which the agent's model is known from now on; None if it is recorded already."""
        if not isinstance(self._client, FoundModelClient):
            return None
        own = own_of(request)
        # It is remembered with the first call of a trial, or of a trial that another process has begun.
        if own["called"] and self._client.knows(own.get("model")):
            return None
        return self._client.found(request.model)

    def _choose_model(self, own: MiddlewareState) -> None:
        """Judge and reflect with the model that the agent has called in this run."""
        if isinstance(self._client, FoundModelClient):
            self._client.choose(own.get("model"))

    def _with_lessons(self, request: Request) -> Request:
        own = own_of(request)
        lessons = lessons_for(own["trials"], self.prompts, self.rules, fresh=self._fresh)
        if not lessons:
            return request
        return request.override(messages=after_task(own, request.messages, lessons))


def _config() -> RunnableConfig:
    """Return the node's config, with a tag that keeps reflections out of the agent's stream."""
    return merge_configs(ensure_config(), {"tags": [TAG_NOSTREAM]})
