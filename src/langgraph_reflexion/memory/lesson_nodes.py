"""Lessons across tasks around the nodes of the loop: recalled before the first trial, written after every trial.

The nodes inside know nothing of it. What is written has keys that come from the state, so that a node which is run
again after a crash writes the same once more.
"""

import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import cast

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.budgets import Budgets
from langgraph_reflexion.context import ask_about, opening_of, spent
from langgraph_reflexion.errors import ModelFault
from langgraph_reflexion.memory.bank import Bank
from langgraph_reflexion.memory.lessons import Lessons, source_of, use_of
from langgraph_reflexion.models.calls import Call
from langgraph_reflexion.models.client import Client
from langgraph_reflexion.models.options import ModelOptions
from langgraph_reflexion.models.usage import NO_USAGE
from langgraph_reflexion.prompts import Prompts
from langgraph_reflexion.state import ReflexionState, Step, TrialRecord, Update

Inner = Callable[[ReflexionState, RunnableConfig], Awaitable[Update]]
"""A node of the loop."""


@dataclass(frozen=True)
class Lessoned:
    """The nodes of a graph with lessons.

    Attributes:
        lessons: The settings.
        environment: The environment's name.
        profile: The profile's name.
        client: The model that writes lessons from success.
        prompts: The domain's templates.
        budgets: What may be spent.
        options: The run's seed, and how often the store is asked again when it fails.
    """

    lessons: Lessons
    environment: str
    profile: str
    client: Client
    prompts: Prompts
    budgets: Budgets
    options: ModelOptions

    def __call__(self, loop: Mapping[str, Inner], *, approves: bool) -> dict[str, Inner]:
        """The nodes that read or write lessons, around those of the loop.

        Args:
            loop: Its `reset`, `evaluate` and `reflect`.
            approves: Whether a person sees each reflection before it counts.
        """
        return {
            "reset": self.reset(loop["reset"], approves),
            "evaluate": self.evaluate(loop["evaluate"]),
            "reflect": loop["reflect"] if approves else self.reflect(loop["reflect"]),
        }

    def reset(self, inner: Inner, approves: bool) -> Inner:
        """reset, which recalls lessons where a task begins, and writes a reflection that a person has seen."""

        async def reset(state: ReflexionState, config: RunnableConfig) -> Update:
            bank = self._bank(config)
            update = await inner(state, config)
            if update["trial"] == 1:
                update |= {"lessons": [], "learning": uuid.uuid4().hex}
                if not update["fault"]:
                    opened = update["episode"]["observation"]
                    recall = partial(self.lessons.recalled, bank, update["task"], opened)
                    update["lessons"] = await self.options.retries(recall)
            elif approves:
                seen = update.get("reflections", state["reflections"])
                await self._write(bank, cast(ReflexionState, {**state, "reflections": seen}), config)
            return update

        return reset

    def reflect(self, inner: Inner) -> Inner:
        """reflect, whose reflection is a lesson as well."""

        async def reflect(state: ReflexionState, config: RunnableConfig) -> Update:
            update = await inner(state, config)
            if "reflections" in update:
                await self._write(self._bank(config), cast(ReflexionState, {**state, **update}), config)
            return update

        return reflect

    def evaluate(self, inner: Inner) -> Inner:
        """evaluate, which records what came of the lessons, and asks for one from success."""

        async def evaluate(state: ReflexionState, config: RunnableConfig) -> Update:
            update = await inner(state, config)
            record = update["trials"][0]
            if record["verdict"] is None or not self.lessons.learns(state["task"]):
                return update
            # The lists that grow are written by what comes on top.
            steps = [*state["trajectory"], *update.get("trajectory", [])]
            after = cast(ReflexionState, {**state, **update, "trials": state["trials"], "trajectory": steps})
            bank, name = self._bank(config), _name(state)
            if record["verdict"] and not self.budgets.used_up(after, config, trial=False):
                text, asked = await self._from_success(after, config)
                self.budgets.note(cast(ReflexionState, {**after, **asked}), config)
                record |= cast(TrialRecord, asked)
                update |= asked
                await self._learn(bank, after, config, text, "success")
            await self.options.retries(partial(bank.use, use_of(state, record, config), name))
            return update

        return evaluate

    def _bank(self, config: RunnableConfig) -> Bank:
        return self.lessons.bank(config, self.environment)

    async def _write(self, bank: Bank, state: ReflexionState, config: RunnableConfig) -> None:
        """Write the reflection on the state's trial as a lesson, if there is one."""
        newest = state["reflections"][-1] if state["reflections"] else None
        if newest and newest["trial"] == state["trial"] and self.lessons.learns(state["task"]):
            await self._learn(bank, state, config, newest["text"], "failure")

    async def _learn(
        self, bank: Bank, state: ReflexionState, config: RunnableConfig, text: str, outcome: str
    ) -> None:
        said = {"text": text, "outcome": outcome, "profile": self.profile, "model": self.client.name}
        await self.options.retries(partial(bank.learn, text, source_of(state, config, **said), _name(state)))

    async def _from_success(self, state: ReflexionState, config: RunnableConfig) -> tuple[str, Update]:
        """What the model says has worked, and the trial's account; the task is solved whether it says anything."""

        def render(steps: list[Step]) -> list[BaseMessage]:
            told = {"observation": opening_of(state, self.prompts), "reflections": state["reflections"]}
            trial = self.prompts.render("succeeded_trial", steps=steps, **told)
            return [SystemMessage(self.prompts.render("success")), HumanMessage(trial)]

        call = Call(self.options.seed, state["task"]["id"], state["trial"], "lesson")
        try:
            asked = await ask_about(self.client, render, state["trajectory"], state["room"], config, call)
        except ModelFault as fault:
            return "", spent(state, "evaluate", NO_USAGE, [f"lesson: none, {fault}"[:300]])
        return asked.reply.text, spent(state, "evaluate", asked.usage, asked.notes)


def _name(state: ReflexionState) -> str:
    # A thread that began without lessons has none, and is told by its own name.
    return state.get("learning", "")
