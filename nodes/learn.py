"""learn: a trial teaches a lesson after the fact, and the numbers of the lessons that it had are corrected."""

from dataclasses import dataclass, replace
from typing import Any

from langchain_core.runnables import RunnableConfig
from typing_extensions import TypedDict  # pydantic makes schemas of these alone before Python 3.12

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.memory.lessons import LessonMemory, Lessons
from langgraph_reflexion.memory.records import (
    LateVerdict,
    LessonSource,
    LessonUse,
    Record,
    lesson_id,
    now,
    plain,
    trial_key,
)
from langgraph_reflexion.memory.store import LessonStore
from langgraph_reflexion.models.calls import open_account
from langgraph_reflexion.models.recorded import NO_USAGE, Usage
from langgraph_reflexion.nodes.reflect import Reflect
from langgraph_reflexion.state import Evaluation, ReflexionState

KNOWN_SOURCES = 100
"""Lessons of one trial that are known to have been learned after the fact: the latest."""

LONGEST_SAID = 500
"""Characters of a person's words that are part of a lesson."""

NO_LESSONS = "learn_from needs a graph with lessons: create_reflexion(..., memory=Lessons())"
HELD_OUT = "learn_from: the task {!r} is held out, and records nothing: take it out of Lessons(held_out=...)"
APPROVES = (
    "learn_from asks nobody: with Approval(reflections=True), a graph learns only what a person approves in its runs"
)


class Learned(TypedDict):
    """What was learned of a trial after the fact."""

    lesson: str
    """The text of the lesson; empty if nothing was learned."""
    lesson_id: str
    """Its id, as `langgraph-reflexion lessons` has it; empty without a lesson."""
    success: bool
    """The verdict that it was learned from."""
    new: bool
    """Whether this was news: False if the same has been said of the trial before."""
    partial: bool
    """Whether the trajectory was gone, and only question and answer were known."""
    usage: Usage
    """The model calls that it took."""


@dataclass(frozen=True)
class LateNews:
    """What is known and said of a trial after the fact."""

    state: ReflexionState
    """The state at the end of the trial."""
    success: bool
    words: str = ""
    """What a person says of it, if anybody does."""
    partial: bool = False
    """Whether the trajectory is gone, and only question and answer are known."""
    queued: bool = False
    """Whether it comes from the queue of what is to be learned later, and not from a person."""
    review: bool = False
    """Whether the graph that has queued it lets a person approve its lessons."""
    has_lessons: bool = True
    """Whether it is known which lessons the trial was shown, so that their numbers can be corrected."""


@dataclass
class Learn:
    """Learn from a trial after the fact, as `reflect` and `evaluate` would have done at its end."""

    reflect: Reflect

    @property
    def _memory(self) -> LessonMemory:
        return self.reflect.memory.lessons

    async def __call__(self, news: LateNews, config: RunnableConfig) -> Learned:
        """Write the lesson and correct the numbers. The same news again changes nothing, and asks no model.

        Raises:
            ConfigurationError: the graph has no lessons, no store, or a person who approves them, or the task is
                held out.
            ModelFault: the model gave no reply; nothing has been recorded.
            Fault: the store failed.
        """
        # As the store keeps them: otherwise the same words would be news when they come again.
        news = replace(news, words=plain(news.words))
        lessons = self.expect_lessons()
        task = news.state["task"]["id"]
        # What is queued was not held out by the graph that has queued it.
        if task in lessons.held_out and not news.queued:
            raise ConfigurationError(HELD_OUT.format(task))
        store = self._memory.store_of(lessons, config)
        key = self._key(news, config)
        before = await store.late_verdict(key)
        if before and _is_said(before, news):
            return await self._known(store, before, NO_USAGE, partial=news.partial)

        with open_account() as account:
            source = await self._source(store, news, config)
        # A person may have spoken while the model wrote. What was queued does not count any more then.
        # Of two people's words the later ones count, unless they are the same.
        before = await store.late_verdict(key)
        if before and (news.queued or _is_said(before, news)):
            await self._pay(store, before, account.usage)
            return await self._known(store, before, account.usage, partial=news.partial)
        if news.queued and await store.still_queued(key) is None:
            # A run has turned the verdict on its trial, and withdrawn it from the queue.
            nothing = source.model_copy(update={"text": ""})
            return self._learned(nothing, news, account.usage, new=False)
        await self._record(store, news, source, before, account.usage["cost"], config)
        return self._learned(source, news, account.usage, new=True)

    async def _record(
        self,
        store: LessonStore,
        news: LateNews,
        source: LessonSource,
        before: LateVerdict | None,
        cost: float,
        config: RunnableConfig,
    ) -> None:
        """Write down what was learned: the lesson, the numbers of the lessons shown, and what was said."""
        records: list[Record] = []
        if source.text:
            records.append(source)
        turns = 0
        if before:
            turns = before.turns
        if news.has_lessons:
            use = await self._use(store, news, before, config)
            if use:
                records.append(use)
                turns += int(use.before is not None)
        await store.add(records)
        await self._withdraw(store, news, before, config)
        # If the verdict was turned before, and is turned back now, the lesson was withdrawn meanwhile.
        if source.text:
            await store.reinstate(source.key)
        # Last: after a crash before this, the same is done again, under the same keys.
        await store.add([self._verdict(news, source, before, turns, cost)])
        await store.tidy()

    async def _pay(self, store: LessonStore, before: LateVerdict, usage: Usage) -> None:
        """Add the cost of a reply that is not used to what learning from the trial has cost."""
        if usage["cost"]:
            spent = before.cost + usage["cost"]
            await store.add([before.model_copy(update={"cost": spent})])

    def expect_lessons(self) -> Lessons:
        """Return the settings of the lessons.

        Raises:
            ConfigurationError: the graph has none, or a person approves its reflections.
        """
        memory = self._memory
        if memory.lessons is None:
            raise ConfigurationError(NO_LESSONS)
        if memory.approves:
            raise ConfigurationError(APPROVES)
        return memory.lessons

    def _key(self, news: LateNews, config: RunnableConfig) -> str:
        use = self._memory.use(news.state, config, success=news.success)
        return trial_key(use.run, use.task, use.trial)

    async def _source(self, store: LessonStore, news: LateNews, config: RunnableConfig) -> LessonSource:
        """Return the lesson of a trial: the one that it has taught already, or a new one, whose text may be empty."""
        outcome = "failure"
        if news.success:
            outcome = "success"
        empty = self._memory.source(news.state, config, "", outcome)
        about: dict[str, Any] = {}
        if news.words:
            about["words"] = news.words
        if news.partial:
            about["partial"] = True
        if news.review:
            about["pending"] = True
        empty = empty.model_copy(update=about)
        # A run, or a call that crashed, may have recorded it: the model need not be asked again.
        known = await store.source(empty.key)
        if known:
            return known
        # Who works off the queue has looked at the budget, and an empty lesson would lose what is queued.
        budget = None
        if not news.queued:
            budget = self._memory.budget
        if budget is not None and await store.spent() >= budget:
            return empty.model_copy(update={"text": _without_model(news)})
        if news.success:
            text = await self._memory.from_success(news.state, config, news.words)
        else:
            text = await self._from_failure(news, config)
        return empty.model_copy(update={"text": plain(text)})

    async def _from_failure(self, news: LateNews, config: RunnableConfig) -> str:
        """Return the reflection on a trial; where the model writes a useless one, what was said of the trial."""
        rules = self.reflect.rules
        if news.words:
            # Whatever the profile shows of an evaluation: what a person says is there to be read.
            rules = replace(rules, feedback="words")
        written = await replace(self.reflect, rules=rules).reflection_on(_as_failed(news), config)
        return _with_words(written, news.words)

    async def _use(
        self, store: LessonStore, news: LateNews, before: LateVerdict | None, config: RunnableConfig
    ) -> LessonUse | None:
        """Return the record that corrects the numbers; None if they are right."""
        use = self._memory.use(news.state, config, success=news.success)
        if before:
            counted: bool | None = before.success
        else:
            counted = await self._counted(store, news, use.key)
        if counted is None:
            return use
        if counted == news.success:
            return None
        turn: int | None = None
        if before and before.turns:
            turn = before.turns
        return use.model_copy(update={"before": counted, "turn": turn})

    async def _counted(self, store: LessonStore, news: LateNews, key: str) -> bool | None:
        """Return the verdict with which a trial is counted; None if it is not."""
        verdict = verdict_of(news.state)
        if verdict is None:
            # Neither judged nor recorded.
            return None
        # A trial from before there were lessons has no key.
        records = self._memory.learns(news.state) and bool(news.state.get("lesson_key"))
        if await store.counts(key, recorded=records):
            return verdict
        return None

    async def _withdraw(
        self, store: LessonStore, news: LateNews, before: LateVerdict | None, config: RunnableConfig
    ) -> None:
        """Retire the lessons of the opposite verdict, unless other trials have taught them as well."""
        opposite = "success"
        if news.success:
            opposite = "failure"
        # That of the trial itself, and those that were learned after the fact.
        keys = [self._memory.source(news.state, config, "", opposite).key]
        if before:
            keys += before.sources
        for key in dict.fromkeys(keys):
            found = await store.source(key)
            if found and found.outcome == opposite:
                await store.withdraw(key)

    def _verdict(
        self, news: LateNews, source: LessonSource, before: LateVerdict | None, turns: int, cost: float
    ) -> LateVerdict:
        taught = ""
        sources: list[str] = []
        if before:
            sources = before.sources
            cost += before.cost
        if source.text:
            taught = source.key
            # Each once, the latest last.
            sources = [key for key in sources if key != taught]
            sources.append(taught)
        return LateVerdict(
            run=source.run,
            task=source.task,
            trial=source.trial,
            success=news.success,
            words=news.words,
            turns=turns,
            source=taught,
            sources=sources[-KNOWN_SOURCES:],
            cost=cost,
            date=now(),
        )

    async def _known(self, store: LessonStore, before: LateVerdict, usage: Usage, *, partial: bool) -> Learned:
        """Return what the same news has taught before."""
        source = None
        if before.source:
            source = await store.source(before.source)
        text = ""
        if source:
            text = source.text
            partial = bool(source.partial)
        return Learned(
            lesson=text,
            lesson_id=_id_of(text),
            success=before.success,
            new=False,
            partial=partial,
            usage=usage,
        )

    def _learned(self, source: LessonSource, news: LateNews, usage: Usage, *, new: bool) -> Learned:
        return Learned(
            lesson=source.text,
            lesson_id=_id_of(source.text),
            success=news.success,
            new=new,
            partial=bool(source.partial),
            usage=usage,
        )


def _with_words(written: str | None, words: str) -> str:
    """Return a reflection with what a person said, word for word: a small model may turn a correction around."""
    if not written:
        return words
    if not words:
        return written
    said = " ".join(words.split())
    if said.rstrip(".!").casefold() in " ".join(written.split()).casefold():
        return written
    return f'A person said: "{plain(said, LONGEST_SAID)}" {written}'


def _without_model(news: LateNews) -> str:
    """Return what a trial teaches where no model may be asked: after a failure, a person's words."""
    if news.success:
        return ""
    return news.words


def _is_said(before: LateVerdict, news: LateNews) -> bool:
    """Return whether the same was said of the trial before."""
    return before.success == news.success and before.words == news.words


def _id_of(text: str) -> str:
    if not text:
        return ""
    return lesson_id(text)


def _as_failed(news: LateNews) -> ReflexionState:
    """Return the state as if the evaluator had said what is said now."""
    state = news.state.copy()
    judged = state["evaluation"]
    # What the evaluator has said of this failure stands where nothing else is said.
    stands = judged is not None and verdict_of(state) is False and not news.words
    if not stands:
        state["evaluation"] = Evaluation(success=False, score=0.0, feedback=news.words)
    # As before a reflection on this trial, if there has been one.
    trial = state["trial"]
    state["reflections"] = [each for each in state["reflections"] if each["trial"] < trial]
    answers = state.get("answers", [])
    state["answers"] = answers[: trial - 1]
    return state


def verdict_of(state: ReflexionState) -> bool | None:
    """Return the evaluator's verdict on the current trial; None if there is none."""
    for record in state["trials"]:
        if record["trial"] == state["trial"]:
            return record["verdict"]
    return None
