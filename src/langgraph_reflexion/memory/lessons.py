"""Lessons across tasks: recalled before a task's first trial, recorded after every trial."""

import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_store
from rapidfuzz import fuzz

from langgraph_reflexion.budgets import Budgets
from langgraph_reflexion.context import call_with_trajectory, opening_of, with_spent
from langgraph_reflexion.envs.base import Task
from langgraph_reflexion.errors import ConfigurationError, ModelFault
from langgraph_reflexion.memory.records import LessonSource, LessonUse, escape_for_prompt, plain
from langgraph_reflexion.memory.store import LessonStore
from langgraph_reflexion.models.calls import CallId, Spent
from langgraph_reflexion.models.client import Client
from langgraph_reflexion.models.options import ModelOptions
from langgraph_reflexion.prompts import Prompts
from langgraph_reflexion.state import RecalledLesson, Reflection, ReflexionState, Step, TrialRecord, Update

EVIDENCE_CHARACTERS = 300
"""Characters kept of the step that a lesson is about."""


@dataclass(frozen=True)
class Lessons:
    """Lessons across tasks, in the store that the graph is compiled with.

    Attributes:
        environment: The name under which they are kept; the environment's unless given.
        user: The user whose lessons they are; `config["configurable"]["user_id"]` unless given, and everyone's where
            neither names a user.
        count: The number of lessons recalled for a task, at most.
        recall: Whether lessons are recalled.
        learn: Whether lessons and the trials that had them are recorded.
        held_out: The ids of tasks that record nothing, and never get lessons that they taught themselves.
    """

    environment: str = ""
    user: str | None = None
    count: int = 3
    recall: bool = True
    learn: bool = True
    held_out: Collection[str] = ()

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ConfigurationError(f"Lessons(count={self.count}): at least 1 is needed, or recall=False")


class LessonMemory:
    """Lessons across tasks as the nodes use them. This one has none."""

    def begin(self, config: RunnableConfig) -> Update:
        """Return the state of a task that has no lessons yet."""
        return {}

    async def recall(self, task: Task, observation: str, config: RunnableConfig) -> Update:
        """Return the lessons for a task with this first observation."""
        return {}

    async def record_reflection(
        self, state: ReflexionState, reflections: list[Reflection], config: RunnableConfig, *, approved: bool
    ) -> None:
        """Record the newest reflection as a lesson; where a person approves reflections, only approved ones."""

    async def record_trial(
        self, state: ReflexionState, record: TrialRecord, config: RunnableConfig, *, affordable: bool
    ) -> Update:
        """Record a finished trial, and a lesson from success if a model call for it is affordable."""
        return {}


@dataclass(frozen=True)
class StoredLessons(LessonMemory):
    """Lessons in the graph's store.

    Records have keys that follow from the state, so that a node that is run again after a crash writes the same ones.

    Attributes:
        lessons: The settings.
        environment: The environment's name.
        profile: The profile's name.
        client: The model that writes lessons from success.
        prompts: The templates for that.
        budgets: The account that pays for it.
        options: The run's seed, and the retries when the store fails.
        approves: Whether a person approves reflections.
    """

    lessons: Lessons
    environment: str
    profile: str
    client: Client
    prompts: Prompts
    budgets: Budgets
    options: ModelOptions
    approves: bool

    def begin(self, config: RunnableConfig) -> Update:
        self._store(config)  # a graph without a store is refused before anything is spent
        return {"lessons": [], "lesson_key": uuid.uuid4().hex}

    async def recall(self, task: Task, observation: str, config: RunnableConfig) -> Update:
        if not self.lessons.recall:
            return {"lessons": []}
        store, own = self._store(config), task["id"] if task["id"] in self.lessons.held_out else None
        search = partial(store.recall, task, observation, self.lessons.count, lambda lesson: own in lesson.tasks)
        found = await self.options.retries(search)
        return {"lessons": [RecalledLesson(id=each.id, text=escape_for_prompt(each.text)) for each in found]}

    async def record_reflection(
        self, state: ReflexionState, reflections: list[Reflection], config: RunnableConfig, *, approved: bool
    ) -> None:
        newest = reflections[-1] if reflections else None
        if approved == self.approves and newest and newest["trial"] == state["trial"] and self._learns(state):
            await self._learn(state, config, newest["text"], "failure")

    async def record_trial(
        self, state: ReflexionState, record: TrialRecord, config: RunnableConfig, *, affordable: bool
    ) -> Update:
        if record["verdict"] is None or not self._learns(state):
            return {}
        update: Update = {}
        if record["verdict"] and affordable:
            text, account = await self._from_success(state, config)
            self.budgets.record({**state, **account}, config)  # type: ignore[typeddict-item]
            update = {"trials": [{**record, **account}], **account}
            await self._learn(state, config, text, "success")
        use = LessonUse(
            lessons=[lesson["id"] for lesson in state.get("lessons", [])],
            success=record["verdict"],
            task=state["task"]["id"],
            kind=state["task"].get("kind") or "",
            trial=state["trial"],
            run=_thread(config),
            date=now(),
        )
        await self.options.retries(partial(self._store(config).add, [use], state.get("lesson_key", "")))
        return update

    def _store(self, config: RunnableConfig) -> LessonStore:
        store = get_store()
        if store is None:
            raise ConfigurationError("lessons need a store: create_reflexion(...).compile(store=...)")
        named = config.get("configurable", {}).get("user_id") if self.lessons.user is None else self.lessons.user
        user = None if named is None else str(named)
        return LessonStore(store, self.lessons.environment or self.environment, user)

    def _learns(self, state: ReflexionState) -> bool:
        return self.lessons.learn and state["task"]["id"] not in self.lessons.held_out

    async def _learn(self, state: ReflexionState, config: RunnableConfig, text: str, outcome: str) -> None:
        step, evidence = _evidence(text, state["trajectory"])
        source = LessonSource(
            text=text,
            outcome=outcome,
            task=state["task"]["id"],
            kind=state["task"].get("kind") or "",
            instruction=plain(state["task"]["instruction"]),
            observation=plain(state["episode"]["observation"]),
            trial=state["trial"],
            profile=self.profile,
            model=self.client.name,
            step=step,
            evidence=evidence,
            run=_thread(config),
            date=now(),
        )
        # A thread that began without lessons has no key; its own name is used.
        await self.options.retries(partial(self._store(config).learn, source, state.get("lesson_key", "")))

    async def _from_success(self, state: ReflexionState, config: RunnableConfig) -> tuple[str, Update]:
        """Ask the model for a lesson, and return it with the account; a failed call leaves a note."""

        def render(steps: list[Step]) -> list[BaseMessage]:
            opening = opening_of(state, self.prompts)
            trial = self.prompts.render(
                "succeeded_trial", steps=steps, observation=opening, reflections=state["reflections"]
            )
            return [SystemMessage(self.prompts.render("success")), HumanMessage(trial)]

        call = CallId(self.options.seed, state["task"]["id"], state["trial"], "lesson")
        steps, budget = state["trajectory"], state["observation_budget"]
        try:
            reply = await call_with_trajectory(self.client, render, steps, budget, config, call)
        except ModelFault as fault:
            return "", with_spent(state, "evaluate", Spent(notes=[f"lesson: none, {fault}"[:300]]))
        return reply.text, with_spent(state, "evaluate", reply.spent)


def now() -> str:
    """Return the time as records have it."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _thread(config: Mapping[str, Any]) -> str:
    return str(config.get("configurable", {}).get("thread_id") or "")


def _evidence(text: str, steps: list[Step]) -> tuple[int, str]:
    """Return the number and text of the step that shares most words with a lesson, the latest among equals."""

    def shown(step: Step) -> str:
        action = step["action"]["text"] if step["action"] else step["thought"]
        return plain(f"{action} -> {step['observation']}", EVIDENCE_CHARACTERS)

    known = [(step["number"], shown(step)) for step in steps]
    return max(known, key=lambda each: (fuzz.token_set_ratio(text[:2000], each[1]), each[0]), default=(0, ""))
