"""Lessons across tasks: recalled before a task's first trial, recorded after every trial."""

import uuid
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_store

from langgraph_reflexion.envs.base import Task
from langgraph_reflexion.errors import ConfigurationError, ModelFault
from langgraph_reflexion.loop.budgets import Budgets
from langgraph_reflexion.loop.context import in_context
from langgraph_reflexion.loop.prompting import Prompt, bounded_trial, charging, for_record, opening_of
from langgraph_reflexion.memory.records import LessonSource, LessonUse, Record, escape_for_prompt, now
from langgraph_reflexion.memory.store import LIMIT, LessonStore
from langgraph_reflexion.models.calls import CallId, note
from langgraph_reflexion.models.client import Client
from langgraph_reflexion.models.options import ModelOptions
from langgraph_reflexion.prompts import Prompts
from langgraph_reflexion.state import RecalledLesson, Reflection, ReflexionState, Step, TrialRecord, Update


@dataclass(frozen=True)
class Lessons:
    """Lessons across tasks, in the store that the graph is compiled with.

    Attributes:
        environment: The name under which they are kept; the environment's unless given.
        user: The user whose lessons they are; `user_id` of the run's `context` or `config["configurable"]` unless
            given, and everyone's where neither names a user.
        count: The number of lessons recalled for a task, at most.
        recall: Whether lessons are recalled.
        learn: Whether lessons and the trials that had them are recorded.
        limit: The number of lessons of an environment and user, at most. Beyond it, the least useful are archived:
            they are not recalled until `langgraph-reflexion lessons restore`.
        held_out: The ids of tasks that record nothing, and never get lessons that they taught themselves.
    """

    environment: str = ""
    user: str | None = None
    count: int = 3
    recall: bool = True
    learn: bool = True
    limit: int = LIMIT
    held_out: Collection[str] = ()

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ConfigurationError(f"Lessons(count={self.count}): at least 1 is needed, or recall=False")
        if self.limit < 1:
            raise ConfigurationError(f"Lessons(limit={self.limit}): at least 1 is needed, or learn=False")


@dataclass(frozen=True)
class LessonMemory:
    """Lessons across tasks as the nodes use them.

    Records have keys that follow from the state, so that a node that is run again after a crash writes the same ones.
    """

    lessons: Lessons | None
    environment: str
    profile: str
    client: Client
    """The model that writes lessons from success, on the account of `budgets`."""
    prompts: Prompts
    budgets: Budgets
    options: ModelOptions
    approves: bool
    """Whether a person approves reflections."""

    def begin(self, config: RunnableConfig) -> Update:
        """Return the state of a task that has no lessons yet."""
        if self.lessons is None:
            return {}
        self._store(self.lessons, config)  # a graph without a store is refused before anything is spent
        return {"lessons": [], "lesson_key": uuid.uuid4().hex}

    async def recall(self, task: Task, observation: str, config: RunnableConfig) -> Update:
        """Return the lessons for a task with this first observation."""
        if self.lessons is None:
            return {}
        if not self.lessons.recall:
            return {"lessons": []}
        store, held_out = self._store(self.lessons, config), task["id"] in self.lessons.held_out
        search = partial(store.recall, task, observation, self.lessons.count, of_others=held_out)
        found = await self.options.retries(search)
        return {"lessons": [RecalledLesson(id=each.id, text=escape_for_prompt(each.text)) for each in found]}

    def learns_from_last(self, state: ReflexionState) -> bool:
        """Return whether the reflection on the last trial of a failed task becomes a lesson.

        Where a person approves reflections, it does not: nobody is asked about a task that has ended.
        """
        return self._learns(state) and not self.approves

    async def record_reflection(
        self, state: ReflexionState, reflections: list[Reflection], config: RunnableConfig, *, approved: bool
    ) -> None:
        """Record the newest reflection as a lesson; where a person approves reflections, only approved ones.

        If feedback has turned the verdict on the trial since it was recorded, that is recorded as well.
        """
        newest = reflections[-1] if reflections else None
        if approved == self.approves and newest and newest["trial"] == state["trial"]:
            await self._add(state, config, self._source(state, config, newest["text"], "failure"))
        if _is_turned(state) and self._learns(state):
            await self._record_turned(state, config)

    async def record_trial(
        self, state: ReflexionState, record: TrialRecord, config: RunnableConfig, *, affordable: bool
    ) -> Update:
        """Record a finished trial, and a lesson from success if a model call for it is affordable."""
        if record["verdict"] is None or not self._learns(state):
            return {}
        update: Update = {}
        records: list[Record] = []
        if record["verdict"] and affordable:
            with charging(state, "evaluate") as paid:
                text = await self._from_success(state, config)
            self.budgets.record({**state, **paid}, config)  # type: ignore[typeddict-item]
            update = {"trials": [{**record, **for_record(paid)}], **paid}
            records = [self._source(state, config, text, "success")]
        use = self._use(state, config, success=record["verdict"])
        await self._add(state, config, *records, use)
        if self.lessons is not None:
            await self.options.retries(self._store(self.lessons, config).tidy)
        return update

    def _store(self, lessons: Lessons, config: RunnableConfig) -> LessonStore:
        store = get_store()
        if store is None:
            raise ConfigurationError("lessons need a store: create_reflexion(...).compile(store=...)")
        user = lessons.user
        if user is None:
            named = in_context("user_id") or config.get("configurable", {}).get("user_id")
            # A LangGraph server without authentication names its users "".
            user = None if named in (None, "") else str(named)
        return LessonStore(store, lessons.environment or self.environment, user, limit=lessons.limit)

    def _learns(self, state: ReflexionState) -> bool:
        lessons = self.lessons
        return lessons is not None and lessons.learn and state["task"]["id"] not in lessons.held_out

    async def _add(self, state: ReflexionState, config: RunnableConfig, *records: Record) -> None:
        if self.lessons is not None and self._learns(state):
            await self.options.retries(partial(self._store(self.lessons, config).add, records))

    async def _record_turned(self, state: ReflexionState, config: RunnableConfig) -> None:
        """Correct the statistics of a trial that was a success when it was recorded, and is none any more."""
        use = self._use(state, config, success=False).model_copy(update={"before": True})
        await self._add(state, config, use)
        store = self._store(cast(Lessons, self.lessons), config)
        praised = self._source(state, config, "", "success").key
        await self.options.retries(partial(store.withdraw, praised))

    def _use(self, state: ReflexionState, config: RunnableConfig, *, success: bool) -> LessonUse:
        shown = [lesson["id"] for lesson in state.get("lessons", [])]
        return LessonUse(lessons=shown, success=success, **_trial(state, config))

    def _source(self, state: ReflexionState, config: RunnableConfig, text: str, outcome: str) -> LessonSource:
        return LessonSource(
            text=text,
            outcome=outcome,
            instruction=state["task"]["instruction"],
            observation=state["episode"]["observation"],
            profile=self.profile,
            model=self.client.name,
            **_trial(state, config),
        )

    async def _from_success(self, state: ReflexionState, config: RunnableConfig) -> str:
        """Ask the model for a lesson; a failed call leaves a note."""

        def render(steps: list[Step], _: int) -> list[BaseMessage]:
            opening = opening_of(state, self.prompts)
            trial = self.prompts.render(
                "succeeded_trial", steps=bounded_trial(steps), observation=opening, reflections=state["reflections"]
            )
            return [SystemMessage(self.prompts.render("success")), HumanMessage(trial)]

        call = CallId(self.options.seed, state["task"]["id"], state["trial"], "lesson")
        prompt, budget = Prompt(render, state["trajectory"]), state["prompt_budget"]
        try:
            reply = await prompt.ask(self.client, budget, config, call)
        except ModelFault as fault:
            note(f"lesson: none, {fault}"[:300])
            return ""
        return reply.text


def _is_turned(state: ReflexionState) -> bool:
    """Return whether a trial that was recorded as a success has an evaluation that says otherwise."""
    evaluation, records = state["evaluation"], state["trials"]
    if evaluation is None or not records or records[-1]["trial"] != state["trial"]:
        return False
    return records[-1]["verdict"] is True and not evaluation["success"]


def _trial(state: ReflexionState, config: RunnableConfig) -> dict[str, Any]:
    thread = str(config.get("configurable", {}).get("thread_id") or "")
    return {
        "task": state["task"]["id"],
        "kind": state["task"].get("kind") or "",
        "trial": state["trial"],
        "run": state.get("lesson_key") or thread,  # a thread that began without lessons has no key
        "thread": thread,
        "date": now(),
    }
