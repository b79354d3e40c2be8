"""Lessons across tasks: recalled before a task's first trial, recorded after every trial."""

import uuid
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, get_args

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_store

from langgraph_reflexion.envs.base import Task
from langgraph_reflexion.errors import ConfigurationError, ModelFault, one_of
from langgraph_reflexion.loop.budgets import Budgets
from langgraph_reflexion.loop.context import authenticated_user, in_context
from langgraph_reflexion.loop.prompting import Prompt, bounded_trial, charging, for_record, opening_of
from langgraph_reflexion.memory.queue import Facts, LearningQueue, to_json
from langgraph_reflexion.memory.records import LessonSource, LessonUse, QueuedTrial, Record, escape_for_prompt, now
from langgraph_reflexion.memory.store import LIMIT, LessonStore
from langgraph_reflexion.models.calls import CallId, note
from langgraph_reflexion.models.client import Client
from langgraph_reflexion.models.options import ModelOptions
from langgraph_reflexion.prompts import Prompts
from langgraph_reflexion.state import RecalledLesson, Reflection, ReflexionState, Step, TrialRecord, Update
from langgraph_reflexion.support.text import sanitize

LearnWhen = Literal["now", "later", "never"]

REVIEWED = (
    "Lessons(review=True) and Approval(reflections=True) ask twice about the same lessons: choose whether a person "
    "approves reflections during the run, or lessons afterwards"
)


UNASKED = (
    "Lessons(learn='later') asks nobody, and Approval(reflections=True) wants a person to be asked: choose "
    "learn='now', or Lessons(review=True) in place of the approval"
)


@dataclass(frozen=True)
class Lessons:
    """Lessons across tasks, in the store that the graph is compiled with.

    Attributes:
        environment: The name under which they are kept; the environment's unless given.
        user: The user whose lessons they are. Unless given, the one who is logged in to the LangGraph server; without
            a login, `user_id` of the run's `context` or `config["configurable"]`, or else everyone.
        count: The number of lessons recalled for a task, at most.
        recall: Whether lessons are recalled.
        learn: When lessons are written for which a model has to be asked: `now`, before the answer is returned;
            `later`, by a background task, or by another process (`learn_queued`); or `never`, unless `learn_from` is
            called. Trials and the lessons that they had are recorded unless it is `never`. True and False stand for
            `now` and `never`.
        review: Whether a person has to approve new lessons before they are recalled (`langgraph-reflexion lessons
            pending`).
        limit: The number of lessons of an environment and user, at most. Beyond it, the least useful are archived:
            they are not recalled until `langgraph-reflexion lessons restore`.
        budget: The money that lessons may cost for each user altogether, if they are learned later or from what
            `learn_from` is told, at the prices of `ModelOptions`. A user who has spent it learns without a model:
            what is queued stays there, and a late failure teaches a person's words alone. No limit unless given.
        held_out: The ids of tasks that record nothing, and never get lessons that they taught themselves.
    """

    environment: str = ""
    user: str | None = None
    count: int = 3
    recall: bool = True
    learn: LearnWhen | bool = "now"
    review: bool = False
    limit: int = LIMIT
    budget: float | None = None
    held_out: Collection[str] = ()

    def __post_init__(self) -> None:
        if isinstance(self.learn, bool):
            # As it was before there was a choice of when.
            learn: LearnWhen = "never"
            if self.learn:
                learn = "now"
            # A frozen dataclass can set its own fields in no other way.
            object.__setattr__(self, "learn", learn)
        one_of("Lessons(learn=...)", self.learn, get_args(LearnWhen))
        if self.count < 1:
            raise ConfigurationError(f"Lessons(count={self.count}): at least 1 is needed, or recall=False")
        if self.limit < 1:
            raise ConfigurationError(f"Lessons(limit={self.limit}): at least 1 is needed, or learn=False")
        if self.budget is not None and self.budget < 0:
            raise ConfigurationError(f"Lessons(budget={self.budget}): an amount of money is needed, or None")


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
    facts: Facts
    """Finds the facts that a reflection gets about a failed trial."""
    trusts_verdicts: bool = True
    """Whether what the evaluator says teaches anything: not where the task's author brings its criteria."""
    queue: LearningQueue = field(default_factory=LearningQueue)
    """Starts to work off what is to be learned later."""

    def __post_init__(self) -> None:
        if self.lessons and self.lessons.review and self.approves:
            raise ConfigurationError(REVIEWED)
        if self._defers and self.approves:
            raise ConfigurationError(UNASKED)

    def begin(self, config: RunnableConfig) -> Update:
        """Return the state of a task that has no lessons yet."""
        if self.lessons is None:
            return {}
        # A graph without a store is refused before anything is spent.
        self.store_of(self.lessons, config)
        # Not the thread's id: the same task may be played on a thread again, and counts again.
        return {"lessons": [], "lesson_key": uuid.uuid4().hex}

    async def recall(self, task: Task, observation: str, config: RunnableConfig) -> Update:
        """Return the lessons for a task with this first observation."""
        if self.lessons is None:
            return {}
        if not self.lessons.recall:
            return {"lessons": []}
        store = self.store_of(self.lessons, config)
        # A held-out task measures what others have taught: a lesson of its own would tell the answer.
        held_out = task["id"] in self.lessons.held_out
        search = partial(store.recall, task, observation, self.lessons.count, of_others=held_out)
        found = await self.options.retries(search)
        recalled = [RecalledLesson(id=each.id, text=escape_for_prompt(each.text)) for each in found]
        return {"lessons": recalled}

    def learns_from_last(self, state: ReflexionState) -> bool:
        """Return whether the reflection on the last trial of a failed task becomes a lesson at once.

        Where a person approves reflections, it does not: nobody is asked about a task that has ended.
        """
        return self.learns(state) and not self.approves and not self._defers

    async def record_reflection(
        self, state: ReflexionState, reflections: list[Reflection], config: RunnableConfig, *, approved: bool
    ) -> None:
        """Record the newest reflection as a lesson; where a person approves reflections, only approved ones.

        If feedback has turned the verdict on the trial since it was recorded, that is recorded as well.
        """
        lessons = self.lessons
        if lessons is None or not self.learns(state):
            return
        store = self.store_of(lessons, config)
        # A reflection that was not written or not approved leaves an earlier trial's as the newest.
        written = bool(reflections) and reflections[-1]["trial"] == state["trial"]
        if approved == self.approves and written:
            source = self.source(state, config, reflections[-1]["text"], "failure")
            await self._add(store, source)
        if _is_turned(state):
            await self._record_turned(store, state, config)

    async def record_trial(
        self, state: ReflexionState, record: TrialRecord, config: RunnableConfig, *, affordable: bool, last: bool
    ) -> Update:
        """Record a finished trial, and a lesson from success if a model call for it is affordable.

        Args:
            state: The state at the end of the trial.
            record: The trial's record.
            config: The node's config.
            affordable: Whether a budget allows a further call.
            last: Whether the task has failed with this trial, and no reflection on it follows.
        """
        lessons = self.lessons
        # Without a verdict, a fault or a budget has ended the trial: that says nothing about the lessons it had.
        if lessons is None or record["verdict"] is None or not self.learns(state):
            return {}
        store = self.store_of(lessons, config)
        update: Update = {}
        records: list[Record] = []
        # After any other trial, the reflection that the next one needs is the lesson.
        no_reflection_follows = last or record["verdict"]
        queues = self._defers and affordable and no_reflection_follows
        if queues:
            records.append(self._queued(state, record, config))
        elif record["verdict"] and affordable:
            with charging(state, "evaluate") as paid:
                text = await self._from_success(state, config)
            update = self._charged(state, record, paid, config)
            records.append(self.source(state, config, text, "success"))
        records.append(self.use(state, config, success=record["verdict"]))
        await self._add(store, *records)
        await self.options.retries(store.tidy)
        # Only now is the trial in the store, where the worker looks for it.
        if queues:
            self.queue.start(store)
        return update

    def _charged(self, state: ReflexionState, record: TrialRecord, paid: Update, config: RunnableConfig) -> Update:
        """Return the update that charges a trial for a call after its end, which its record does not count yet."""
        # The budgets have counted the trial before, without this call.
        after = state.copy()
        after["usage"] = paid["usage"]
        self.budgets.record(after, config)
        accounted = dict(record)
        accounted.update(for_record(paid))
        update: Update = {"trials": [accounted]}
        update.update(paid)
        return update

    @property
    def namespace(self) -> str:
        """The name under which the lessons are kept."""
        if self.lessons and self.lessons.environment:
            return self.lessons.environment
        return self.environment

    @property
    def fixed_user(self) -> str | None:
        """The user whose lessons they are, whatever a run says; None if the run says it."""
        if self.lessons:
            return self.lessons.user
        return None

    @property
    def limit(self) -> int:
        """The number of lessons of a user, at most."""
        if self.lessons:
            return self.lessons.limit
        return LIMIT

    @property
    def budget(self) -> float | None:
        """The money that learning may cost for each user altogether."""
        if self.lessons:
            return self.lessons.budget
        return None

    @property
    def _defers(self) -> bool:
        return self.lessons is not None and self.lessons.learn == "later"

    def _queued(self, state: ReflexionState, record: TrialRecord, config: RunnableConfig) -> QueuedTrial:
        """Return the record of a trial that is to be learned from later."""
        trial = _trial(state, config)
        return QueuedTrial(
            run=trial["run"],
            task=trial["task"],
            trial=trial["trial"],
            success=bool(record["verdict"]),
            thread=trial["thread"],
            state=to_json(state, record, self.facts),
            review=self.lessons is not None and self.lessons.review,
            date=trial["date"],
        )

    def store_of(self, lessons: Lessons, config: RunnableConfig) -> LessonStore:
        """Return the lessons of the environment and of the run's user.

        Raises:
            ConfigurationError: the graph has no store.
        """
        store = get_store()
        if store is None:
            raise ConfigurationError("lessons need a store: create_reflexion(...).compile(store=...)")
        user = lessons.user
        if user is None:
            user = _user_of(config)
        return LessonStore(store, self.namespace, user, limit=lessons.limit)

    def learns(self, state: ReflexionState) -> bool:
        """Return whether the trials of a task, and what its evaluator says of them, are recorded."""
        lessons = self.lessons
        if lessons is None or lessons.learn == "never" or not self.trusts_verdicts:
            return False
        return state["task"]["id"] not in lessons.held_out

    async def _add(self, store: LessonStore, *records: Record) -> None:
        await self.options.retries(partial(store.add, records))

    async def _record_turned(self, store: LessonStore, state: ReflexionState, config: RunnableConfig) -> None:
        """Correct the statistics of a trial that was a success when it was recorded, and is none any more."""
        use = self.use(state, config, success=False)
        await self._add(store, use.model_copy(update={"before": True}))
        queued = await self.options.retries(partial(store.still_queued, use.key))
        if queued and queued.success:
            # Its lesson would praise what has failed.
            await self.options.retries(partial(store.dequeue, queued))
        # The key of a trial's source does not depend on the text.
        praised = self.source(state, config, "", "success").key
        await self.options.retries(partial(store.withdraw, praised))

    def use(self, state: ReflexionState, config: RunnableConfig, *, success: bool) -> LessonUse:
        """Return the record of a trial and of the lessons in its prompt."""
        shown = [lesson["id"] for lesson in state.get("lessons", [])]
        return LessonUse(lessons=shown, success=success, **_trial(state, config))

    def source(self, state: ReflexionState, config: RunnableConfig, text: str, outcome: str) -> LessonSource:
        """Return the record of a trial that has taught a lesson, by its `outcome`: `failure` or `success`."""
        pending: bool | None = None
        if self.lessons and self.lessons.review:
            pending = True
        return LessonSource(
            pending=pending,
            text=text,
            outcome=outcome,
            # A conversation may come from a file, with half of a character that JSON has escaped.
            instruction=sanitize(state["task"]["instruction"]),
            observation=sanitize(state["episode"]["observation"]),
            profile=self.profile,
            model=self.client.name,
            **_trial(state, config),
        )

    async def _from_success(self, state: ReflexionState, config: RunnableConfig) -> str:
        """Ask the model for a lesson; a failed call leaves a note."""
        try:
            return await self.from_success(state, config)
        except ModelFault as fault:
            # The task is solved all the same. The fault may quote a whole page of a server's.
            note(f"lesson: none, {fault}"[:300])
            return ""

    async def from_success(self, state: ReflexionState, config: RunnableConfig, words: str = "") -> str:
        """Ask the model for a lesson of a trial that has solved its task.

        Args:
            state: The state after the trial.
            config: The run's config.
            words: What a person has said of it afterwards.

        Raises:
            ModelFault: the model gave no reply.
        """
        # Not that on the trial itself, which was taken for a failure then.
        earlier = [each for each in state["reflections"] if each["trial"] < state["trial"]]

        def render(steps: list[Step], _: int) -> list[BaseMessage]:
            trial = self.prompts.render(
                "succeeded_trial",
                steps=bounded_trial(steps),
                observation=opening_of(state, self.prompts),
                reflections=earlier,
                words=words,
            )
            instruction = self.prompts.render("success")
            return [SystemMessage(instruction), HumanMessage(trial)]

        call = CallId(self.options.seed, state["task"]["id"], state["trial"], "lesson")
        prompt = Prompt(render, state["trajectory"])
        reply = await prompt.ask(self.client, state["prompt_budget"], config, call)
        return reply.text


def _is_turned(state: ReflexionState) -> bool:
    """Return whether a trial that was recorded as a success has an evaluation that says otherwise."""
    evaluation = state["evaluation"]
    if evaluation is None or not state["trials"]:
        return False
    last = state["trials"][-1]
    is_recorded = last["trial"] == state["trial"]
    return is_recorded and last["verdict"] is True and not evaluation["success"]


def _user_of(config: RunnableConfig) -> str | None:
    """Return the user of a run: who is logged in to the server, or else whom its context or config names."""
    named = authenticated_user()
    if named is None:
        # Where there is a login, these are a client's, who would name another user.
        named = in_context("user_id") or config.get("configurable", {}).get("user_id")
    # A LangGraph server without authentication names its users "".
    if named is None or named == "":
        return None
    return str(named)


def _trial(state: ReflexionState, config: RunnableConfig) -> dict[str, Any]:
    thread = str(config.get("configurable", {}).get("thread_id") or "")
    # A thread that began without lessons has no key.
    run = state.get("lesson_key") or thread
    return {
        "task": state["task"]["id"],
        "kind": state["task"].get("kind") or "",
        "trial": state["trial"],
        "run": run,
        "thread": thread,
        "date": now(),
    }
