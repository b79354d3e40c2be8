"""Runs a wrapped agent: one call of it is one trial."""

import time
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import aclosing, closing
from dataclasses import dataclass, replace
from typing import Any, cast

from httpx import TransportError
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langchain_core.runnables.config import merge_configs
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.errors import GraphBubbleUp, GraphRecursionError, ParentCommand
from langgraph.pregel import Pregel
from langgraph.types import Command

from langgraph_reflexion.agents.state import AgentState, Attempt
from langgraph_reflexion.agents.transcript import messages_in, result_of, steps_of
from langgraph_reflexion.agents.wrapped import WrappedAgent
from langgraph_reflexion.budgets import Budgets
from langgraph_reflexion.choices import Feedback
from langgraph_reflexion.context import charged, with_lessons
from langgraph_reflexion.errors import ConfigurationError, Fault, ModelFault, ReflexionError
from langgraph_reflexion.heuristic import HeuristicFunction
from langgraph_reflexion.memory.episodic import status_line
from langgraph_reflexion.models.faults import as_fault, by_a_client, in_a_line
from langgraph_reflexion.models.usage import Meter, Price
from langgraph_reflexion.nodes.node import timed
from langgraph_reflexion.prompts import Prompts
from langgraph_reflexion.state import Update

LONGEST_RUN = 1000
"""How many supersteps a wrapped graph may take where it names no limit of its own."""


@dataclass
class RunAgent:
    """act, where the actor is a whole agent. h and the budgets are checked after each of the agent's own steps.

    Attributes:
        agent: The agent.
        prompts: The templates for lessons.
        feedback: How much of the last evaluation the agent sees.
        heuristic: When to stop the agent (h).
        budgets: The limits of the trial, the task and the run.
        prices: The prices of the agent's model calls.
    """

    agent: WrappedAgent
    prompts: Prompts
    feedback: Feedback
    heuristic: HeuristicFunction
    budgets: Budgets
    prices: Mapping[str, Price]

    async def __call__(self, state: AgentState, config: RunnableConfig) -> Update:
        """Call the agent, and write what came of it."""
        trial = _Trial(self, state, config)
        try:
            async with aclosing(trial.arun()) as outputs:
                async for output in outputs:
                    if trial.over(output):
                        break
        except Exception as error:
            return trial.update(error)
        return trial.update()

    def blocking(self, state: AgentState, config: RunnableConfig) -> Update:
        """The same from synchronous code, in the caller's thread: its checkpointer may have to be used there."""
        trial = _Trial(self, state, config)
        try:
            with closing(trial.run()) as outputs:
                for output in outputs:
                    if trial.over(output):
                        break
        except Exception as error:
            return trial.update(error)
        return trial.update()


class _Trial:
    """One call of the agent, on its way."""

    def __init__(self, act: RunAgent, state: AgentState, config: RunnableConfig) -> None:
        self.act, self.state = act, state
        lessons = lessons_for(state, act.prompts, act.feedback)
        self.given = act.agent.messages(state, lessons)
        self.input = act.agent.input(self.given, state["task"]["instruction"], lessons)
        self.meter = Meter(act.prices)
        runnable = act.agent.runnable
        limit = (getattr(runnable, "config", None) or {}).get("recursion_limit", LONGEST_RUN)
        self.config = merge_configs(config, {"callbacks": [self.meter]}) | {"recursion_limit": limit}
        if isinstance(getattr(runnable, "checkpointer", None), BaseCheckpointSaver):
            # A parent's checkpointer is used for the agent, too. Without one, the agent's own needs a thread, a fresh
            # one for each trial, and nothing of this graph's inner settings.
            given = self.config.get("configurable", {})
            if "thread_id" not in given:
                given = {name: value for name, value in given.items() if not name.startswith("__")}
                self.config["configurable"] = given | {"thread_id": f"{state['task']['id']}:{state['trial']}"}
        self.began = time.perf_counter()
        self.messages: dict[str, BaseMessage] = {}
        self.last = False
        self.output: Any = None
        self.ended = "terminated"

    def run(self) -> Generator[Any, None, None]:
        """What the agent has so far, after each of its steps; from an agent that is no graph, the end alone."""
        runnable = self.act.agent.runnable
        if isinstance(runnable, Pregel):
            yield from runnable.stream(self.input, self.config, stream_mode="values")
        else:
            yield runnable.invoke(self.input, self.config)

    async def arun(self) -> AsyncGenerator[Any, None]:
        """The same, asynchronously."""
        runnable = self.act.agent.runnable
        if isinstance(runnable, Pregel):
            outputs: Any = runnable.astream(self.input, self.config, stream_mode="values")
            async with aclosing(outputs):
                async for output in outputs:
                    yield output
        else:
            yield await runnable.ainvoke(self.input, self.config)

    def over(self, output: Any) -> bool:
        """Whether the agent is to be stopped here."""
        self.output = output
        # Agents may shorten their history: what was there once is part of the trial.
        for message in messages_in(output, self.given):
            self.messages[message.id or f"{len(self.messages)}"] = message
        messages = list(self.messages.values())
        if self.last or not isinstance(self.act.agent.runnable, Pregel):
            self.ended = "" if self.last else self.ended
            return self.last
        steps = steps_of(messages)
        seen = {
            **self.state,
            "trajectory": steps,
            "usage": charged(self.state, "act", self.meter.account(messages)),
            "seconds": self.state["seconds"] + time.perf_counter() - self.began,
        }
        used_up = self.act.budgets.used_up(cast(AgentState, seen), self.config)
        if not (used_up or (steps and self.act.heuristic(steps))):
            return False
        # An agent that has just answered is most often at its end; if it is not, it is stopped at its next step.
        self.last = bool(messages) and isinstance(messages[-1], AIMessage) and not messages[-1].tool_calls
        self.ended = self.ended if self.last else ""
        return not self.last

    def update(self, error: Exception | None = None) -> Update:
        """What the state is told."""
        if isinstance(error, ParentCommand) and error.args[0].graph is not None:
            raise ParentCommand(self._handed_on(error.args[0])) from None
        if isinstance(error, GraphRecursionError):
            self.ended = "truncated"
        elif isinstance(error, GraphBubbleUp) or (isinstance(error, ReflexionError) and not isinstance(error, Fault)):
            raise error
        messages = list(self.messages.values())
        update: Update = {"usage": charged(self.state, "act", self.meter.account(messages))}
        if self.act.budgets.limits_cost and self.meter.unpriced:
            missing = ", ".join(sorted(self.meter.unpriced))
            raise ConfigurationError(f"a budget of money needs prices={{NAME: Price(input, output)}} of {missing}")
        if error is not None and self.ended != "truncated":
            by_client = by_a_client(error)
            if not (by_client or isinstance(error, Fault | OSError | TransportError)):
                raise error  # a bug in the agent or in one of its tools
            said = f"the agent failed: {in_a_line(error)}"
            # The agent's tools meet errors of the same kinds, which say nothing of its model.
            if getattr(error, "permanent", False) or (by_client and as_fault(error, []).permanent):
                raise ModelFault(said, permanent=True) from error
            return update | {"stop_reason": "fault", "fault": said, "attempt": None}
        return update | {
            "attempt": Attempt(
                messages=cast(list[AnyMessage], messages),
                ended=self.ended,
                result=result_of(self.output, messages),
            )
        }

    def _handed_on(self, command: Command[Any]) -> Command[Any]:
        """A hand-off, for whoever is around this graph. They hear what was said, and not what was only noted."""
        update = command.update
        if isinstance(update, dict) and "messages" in update:
            said = {message.id for message in self.state.get("messages", [])}
            noted = {message.id for message in self.given} - said
            update = {**update, "messages": [each for each in update["messages"] if each.id not in noted]}
        return replace(command, graph=Command.PARENT, update=update)


def lessons_for(state: AgentState, prompts: Prompts, feedback: Feedback) -> str:
    """What an agent is told of its earlier trials, and of other tasks; mostly nothing before the second trial.

    Args:
        state: How the task stands.
        prompts: Put the lessons into words.
        feedback: How much of the last verdict is told.
    """
    told = ""
    if state["reflections"] or state.get("last_attempt"):
        told = prompts.render(
            "lessons",
            reflections=state["reflections"],
            last_attempt=state.get("last_attempt", []),
            status=status_line(state["evaluation"], feedback),
        )
    return with_lessons(told, state, prompts).strip()


class AgentNode(RunnableLambda[Any, Any]):
    """The node `act` around an agent. LangGraph looks into it to draw the agent's own graph."""

    def __init__(self, act: RunAgent) -> None:
        def blocking(state: AgentState, config: RunnableConfig) -> Update:
            began = time.perf_counter()
            return timed(act.blocking(state, config), state, began)

        async def awaited(state: AgentState, config: RunnableConfig) -> Update:
            began = time.perf_counter()
            return timed(await act(state, config), state, began)

        super().__init__(blocking, afunc=awaited, name="act")
        self._agent = act.agent.runnable

    @property
    def deps(self) -> list[Runnable[Any, Any]]:
        """The agent."""
        return [self._agent]
