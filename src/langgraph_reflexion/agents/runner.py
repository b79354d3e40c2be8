"""Runs a wrapped agent: one call of it is one trial."""

import time
from collections.abc import AsyncGenerator, Collection, Generator, Mapping, Sequence
from contextlib import aclosing, closing
from dataclasses import dataclass, replace
from typing import Any, cast
from uuid import uuid4

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langchain_core.runnables.config import merge_configs
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.constants import START
from langgraph.errors import GraphBubbleUp, GraphRecursionError, ParentCommand
from langgraph.pregel import Pregel
from langgraph.pregel.protocol import PregelProtocol
from langgraph.pregel.remote import RemoteGraph
from langgraph.types import Command, Overwrite, StateSnapshot

from langgraph_reflexion.agents.continuing import said_since
from langgraph_reflexion.agents.failures import failure_in_words, is_signal
from langgraph_reflexion.agents.state import WrappedAgentState, copied
from langgraph_reflexion.agents.transcript import (
    Transcript,
    input_messages,
    is_cut_off,
    kept_of,
    messages_in,
    result_of,
    state_of,
)
from langgraph_reflexion.agents.waiting import OutOfTime, Waiting, awaiting, blocked, in_time, within
from langgraph_reflexion.agents.world import AgentEpisode, borrowed
from langgraph_reflexion.agents.wrapped import WrappedAgent, lessons_for
from langgraph_reflexion.envs.pool import EpisodePool
from langgraph_reflexion.errors import ConfigurationError, EpisodeLost, Fault
from langgraph_reflexion.loop.budgets import Budgets
from langgraph_reflexion.loop.episodes import begin_anew, begin_episode, key_of
from langgraph_reflexion.loop.heuristic import HeuristicFunction
from langgraph_reflexion.loop.profiles import Rules
from langgraph_reflexion.loop.prompting import with_usage
from langgraph_reflexion.loop.tracing import ambient, with_trial
from langgraph_reflexion.loop.trials import of_trial
from langgraph_reflexion.models.calls import CallId, ModelCall
from langgraph_reflexion.models.replies import storable
from langgraph_reflexion.models.sent import with_calls
from langgraph_reflexion.models.usage import Price, UsageCallback
from langgraph_reflexion.nodes.node import timed
from langgraph_reflexion.prompts import Prompts
from langgraph_reflexion.state import Attempt, Update
from langgraph_reflexion.support.sync import drive

LONGEST_RUN = 1000
"""Maximum number of supersteps of a wrapped graph without a recursion limit of its own."""


@dataclass
class RunAgent:
    """act: one call of the agent. The heuristic and the budgets are checked after each of its steps."""

    agents: Sequence[WrappedAgent]
    """One for each trial; the last for all further ones."""
    pool: EpisodePool
    prompts: Prompts
    rules: Rules
    heuristic: HeuristicFunction
    budgets: Budgets
    prices: Mapping[str, Price]

    async def __call__(self, state: WrappedAgentState, config: RunnableConfig, wait: Waiting) -> Update:
        try:
            world = await wait(self._enter(state))
            trial = AgentTrial(self, state, config, world)
            # A broken attempt has left traces in its world.
            if world.used and not await trial.continues(wait):
                world = await wait(self._enter(state, fresh=True))
                trial = AgentTrial(self, state, config, world)
        except EpisodeLost as lost:
            # What the agent remembers of the trial is of no use in another world.
            anew: Update = await wait(begin_anew(self.pool, state, lost))
            anew["attempt"] = None
            return anew
        except Fault as fault:
            return _stopped_by(str(fault))
        error = await self._played(trial, wait)
        update: Update = await wait(self._leave(trial, world, error))
        return update

    async def _enter(self, state: WrappedAgentState, *, fresh: bool = False) -> AgentEpisode:
        """Return the trial's world, or a fresh one: that in which the trial has begun."""
        snapshot = state["episode"]["snapshot"]
        if fresh:
            snapshot = None
        continued = state.get("continued")
        key = key_of(state)
        if snapshot is None and continued:
            await begin_episode(self.pool, state["task"], continued, key)
        return await borrowed(self.pool, state["task"], snapshot, key)

    async def _played(self, trial: "AgentTrial", wait: Waiting) -> Exception | None:
        """Run the agent within the budgets of time, and return what it has raised."""
        left = self.budgets.seconds_left(trial.state)
        try:
            if left is None or wait is blocked:
                await trial.follow(wait, left)
            else:
                await within(left, trial.follow(wait))
        except OutOfTime:
            # `heuristic_check` says so, by the same budgets.
            trial.ended = ""
        except Exception as raised:
            return raised
        return None

    async def _leave(self, trial: "AgentTrial", world: AgentEpisode, error: Exception | None) -> Update:
        """Return the trial's update, or raise the error. The world stays for the evaluator.

        After an interrupt the agent continues in the same world. After a bug, or the end of the process, a graph
        with a checkpoint does so, too; anything else starts over in a fresh world.
        """
        try:
            update = trial.update(error)
        except ParentCommand:  # the task has been handed on, and nothing continues here
            raise
        except BaseException as raised:
            world.used = not isinstance(raised, GraphBubbleUp)
            await self.pool.give_back(trial.state["task"], [], world, key=key_of(trial.state))
            raise
        await self.pool.give_back(trial.state["task"], [], world, key=key_of(trial.state))
        return update


class AgentTrial:
    """A running call of the agent, in the world of its trial."""

    def __init__(self, act: RunAgent, state: WrappedAgentState, config: RunnableConfig, world: AgentEpisode) -> None:
        self.act = act
        self.state = state
        self.agent = of_trial(act.agents, state["trial"])
        self.runnable = world.agent or self.agent.runnable
        # All agents play in the surroundings of the first.
        surroundings = act.agents[0].environment
        lessons = lessons_for(state, act.prompts, act.rules, fresh=surroundings.fresh)
        self.asked = self.agent.messages(state, lessons)
        self.given = [*self.asked, *said_since(state, act.prompts, act.rules)]
        task = self.agent.task_text(state)
        begins_with = copied(self._own_part_of(act.agents, state["start"] | world.state))
        self.input = self.agent.input(self.runnable, self.given, task, lessons, begins_with)
        # Taken now, as an agent may change its input in place.
        self.sent = input_messages(self.input)
        self.counter = UsageCallback(act.prices)
        self.config = self._config_of(config)
        self.began = time.perf_counter()
        self.messages: dict[str, AnyMessage] = {}
        self.transcript = Transcript()
        # Whether the agent is stopped after its next output.
        self.last = False
        self.output: Any = None
        self.ended = "terminated"

    def _own_part_of(self, agents: Sequence[WrappedAgent], state: dict[str, Any]) -> dict[str, Any]:
        """Return a state without the keys of agents of other trials, if this one takes a single field."""
        foreign: set[str] = set()
        for agent in agents:
            foreign.update(agent.keys)
        # A graph ignores keys that it does not have, and a function of a state may read any.
        if not foreign or self.agent.form.kind != "field":
            return state
        return {key: value for key, value in state.items() if key not in foreign}

    def _config_of(self, config: RunnableConfig) -> RunnableConfig:
        """Return the config of the agent's call, in which its model calls are counted."""
        merged = merge_configs(config, {"callbacks": [self.counter]})
        # A limit that the agent was given by `with_config` counts, and not that of this graph.
        own_config = getattr(self.runnable, "config", None) or {}
        merged["recursion_limit"] = own_config.get("recursion_limit", LONGEST_RUN)
        configurable = merged.get("configurable", {})
        # A parent's checkpointer is used for the agent, too. Without one, the agent's own needs a fresh thread
        # for each trial, and none of this graph's internal settings.
        keeps_own = isinstance(getattr(self.runnable, "checkpointer", None), BaseCheckpointSaver)
        if keeps_own and "thread_id" not in configurable:
            given = {name: value for name, value in configurable.items() if not name.startswith("__")}
            merged["configurable"] = given | {"thread_id": uuid4().hex}
        if isinstance(self.runnable, RemoteGraph):
            # The server would keep one conversation for all trials, and for a trial that starts over after a fault.
            merged["configurable"] = merged["configurable"] | {"thread_id": str(uuid4())}
        return merged

    async def continues(self, wait: Waiting) -> bool:
        """Return whether a broken attempt continues from a checkpoint of the agent, and does not start over."""
        if not isinstance(self.runnable, Pregel) or self.runnable.checkpointer is False:
            return False
        try:
            if wait is blocked:
                saved = self.runnable.get_state(self.config)
            else:
                saved = await self.runnable.aget_state(self.config)
        except ValueError:  # neither the agent nor a graph around it has a checkpointer
            return False
        return _has_begun(saved)

    async def follow(self, wait: Waiting, seconds: float | None = None) -> None:
        """Run the agent until its end, or until it is to stop.

        Args:
            wait: How the call waits.
            seconds: The time that is left for it in synchronous code, where nobody else can end it.

        Raises:
            OutOfTime: they are over. What the agent was doing goes on in its thread, and nothing comes after it.
        """
        async with aclosing(self.run(wait, seconds)) as outputs:
            async for output in outputs:
                if self.over(output):
                    break

    async def run(self, wait: Waiting, seconds: float | None) -> AsyncGenerator[Any, None]:
        """Yield the agent's state after each of its steps; if it is not a graph, only its output."""
        if wait is blocked:
            for output in in_time(self._outputs(), seconds):
                yield output
        elif not isinstance(self.runnable, PregelProtocol):
            yield await self.runnable.ainvoke(self.input, self.config)
        else:
            stream = self.runnable.astream(self.input, self.config, stream_mode="values")
            # Its type promises an iterator, and LangGraph's is a generator.
            async with aclosing(cast(AsyncGenerator[Any, None], stream)) as outputs:
                async for output in outputs:
                    yield output

    def _outputs(self) -> Generator[Any, None, None]:
        """Yield what `run` yields, in synchronous code."""
        if not isinstance(self.runnable, PregelProtocol):
            yield self.runnable.invoke(self.input, self.config)
            return
        stream = self.runnable.stream(self.input, self.config, stream_mode="values")
        with closing(cast(Generator[Any, None, None], stream)) as outputs:
            yield from outputs

    def over(self, output: Any) -> bool:
        """Return whether to stop the agent here."""
        self.output = output
        # Agents may shorten their history, so collect the messages of all outputs.
        self.messages |= messages_in(output, self.given, self.sent)
        if not isinstance(self.runnable, PregelProtocol):
            return False
        messages = list(self.messages.values())
        if not self._is_to_stop(messages):
            # The heuristic may see no loop any more: then the agent goes on, as `heuristic_check` would have it.
            self.last = False
            return False
        # An agent that has just answered is usually done; otherwise it is stopped after its next step.
        has_answered = bool(messages) and isinstance(messages[-1], AIMessage) and not messages[-1].tool_calls
        if has_answered and not self.last:
            self.last = True
            return False
        self.ended = ""
        return True

    def _is_to_stop(self, messages: Sequence[BaseMessage]) -> bool:
        """Return whether a budget is used up, or the heuristic says so."""
        steps = self.transcript.steps_of(messages)
        now = self.state | WrappedAgentState(
            trajectory=steps,
            usage=with_usage(self.state, "act", self.counter.account(messages)),
            seconds=self.state["seconds"] + time.perf_counter() - self.began,
        )
        if self.act.budgets.used_up(now, self.config):
            return True
        return bool(steps and self.act.heuristic(steps))

    def update(self, error: Exception | None = None) -> Update:
        """Return the trial's update.

        Args:
            error: What the agent has raised.

        Raises:
            ConfigurationError: the agent needs something that this graph cannot give.
            ModelFault: no other trial would go better.
            Exception: the error, if it is a bug or somebody else's signal.
        """
        if isinstance(error, ParentCommand) and error.args[0].graph is not None:
            raise ParentCommand(self._handed_on(error.args[0])) from None
        self._expect_no_interrupt(error)
        if isinstance(error, GraphRecursionError):
            # The agent was stopped by its own limit, so its trial is evaluated like any other.
            self.ended = "truncated"
            error = None
        if error is not None and is_signal(error):
            raise error
        messages = [storable(each) for each in self.messages.values()]
        update: Update = {"usage": with_usage(self.state, "act", self.counter.account(messages))}
        if "sent_prompts" in self.state:
            # The agent's model gets no seed from here.
            place = CallId(0, self.state["task"]["id"], self.state["trial"], "act")
            call = ModelCall(place, self.sent)
            update["sent_prompts"] = with_calls(self.state["sent_prompts"], [call], step=1)
        self.act.budgets.expect_counts(self.counter)
        if error is not None:
            return update | _stopped_by(failure_in_words(error))
        self._expect_output()
        update["attempt"] = self._attempt(messages)
        return update

    def _expect_no_interrupt(self, error: Exception | None) -> None:
        """Raise ConfigurationError if the agent waits for a person, and nobody could resume it."""
        if isinstance(self.runnable, RemoteGraph) and isinstance(error, GraphBubbleUp):
            raise ConfigurationError(
                "the remote agent interrupted its run, and a remote run cannot be resumed from here: "
                "build the agent in this process, or without interrupts"
            ) from error
        if isinstance(self.output, dict) and "__interrupt__" in self.output and error is None:
            # A graph with a checkpointer of its own returns so, and would never be resumed.
            raise ConfigurationError(
                "the agent interrupted its run, which only a checkpointer of this graph can resume: "
                "create_reflexion(...).compile(checkpointer=...)"
            )

    def _expect_output(self) -> None:
        """Raise TypeError if an agent that came to its own end has returned nothing."""
        if self.output is not None or self.ended != "terminated":
            return
        # The parser at the end of a chain may find no answer, but a function has forgotten its `return`.
        if isinstance(self.runnable, RunnableLambda | Pregel):
            raise TypeError("the agent returned None: it must return its answer, such as a text, messages or a dict")

    def _attempt(self, messages: list[AnyMessage]) -> Attempt:
        """Return the trial as the state keeps it."""
        attempt = Attempt(
            messages=messages,
            ended=self.ended,
            result=result_of(self.output, messages, stopped=self.ended != "terminated"),
            state=state_of(self.output, self.agent.keys),
        )
        if is_cut_off(messages):
            attempt["cut_off"] = True
        kept = kept_of(self.output, self.asked)
        if kept is not None:
            attempt["kept"] = [storable(each) for each in kept]
        return attempt

    def _handed_on(self, command: Command[Any]) -> Command[Any]:
        """Return a hand-off to the graph around this one, without the messages that only the agent was given."""
        known = {message.id for message in self.state.get("messages", [])}
        given = {message.id for message in self.given if message.id}
        # The task with its lessons, which only the agent was given.
        update = _without_messages(command.update, given - known)
        # LangGraph has put the name of this graph in place of `PARENT` when the command left the agent's.
        return replace(command, graph=Command.PARENT, update=update)


def _without_messages(update: Any, ids: Collection[str]) -> Any:
    """Return a command's update, in any form that LangGraph takes, without the messages with these ids."""
    if isinstance(update, dict):
        update = update.copy()
        if "messages" in update:
            update["messages"] = _without(update["messages"], ids)
        return update
    if isinstance(update, list | tuple) and all(_is_pair(each) for each in update):
        pairs = []
        for key, value in update:
            if key == "messages":
                value = _without(value, ids)
            pairs.append((key, value))
        return pairs
    # A state of another form holds none of our messages.
    return update


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str)


def _without(messages: Any, ids: Collection[str]) -> Any:
    """Return messages, as an update has them, without those with these ids."""
    if isinstance(messages, Overwrite):
        return Overwrite(_without(messages.value, ids))
    if isinstance(messages, list):
        return [each for each in messages if _id_of(each) not in ids]
    if _id_of(messages) in ids:
        return []
    return messages


def _id_of(message: Any) -> str | None:
    """Return the id of a message; None if it has none."""
    if isinstance(message, BaseMessage):
        return message.id
    if isinstance(message, dict):
        return message.get("id")
    return None


def _stopped_by(fault: str) -> Update:
    return {"stop_reason": "fault", "fault": fault, "attempt": None}


def _has_begun(saved: StateSnapshot) -> bool:
    for task in saved.tasks:
        if task.name != START and (task.interrupts or task.result):
            return True
    # The input is in the steps -1 and 0.
    step: int = (saved.metadata or {}).get("step", 0)
    return step > 0


class AgentNode(RunnableLambda[Any, Any]):
    """Call the agent; one call is one trial.

    LangGraph finds the agent's graph in `deps` and draws it.
    """

    # In place of LangChain's property, which would look for the agent among the variables of the functions.
    deps: list[Runnable[Any, Any]] = []

    def __init__(self, act: RunAgent) -> None:
        async def called(state: WrappedAgentState, config: RunnableConfig, wait: Waiting) -> Update:
            began = time.perf_counter()
            config = await wait(with_trial("act", state, config))
            with ambient(config):
                return timed(await act(state, config, wait), state, began)

        def blocking(state: WrappedAgentState, config: RunnableConfig) -> Update:
            return drive(called(state, config, blocked))

        async def awaited(state: WrappedAgentState, config: RunnableConfig) -> Update:
            return await called(state, config, awaiting)

        super().__init__(blocking, afunc=awaited, name="act")
        # With `make`, each trial has another agent.
        self.deps = [agent.runnable for agent in act.agents if agent.agent is not None]
