"""Lessons of one environment and user in a LangGraph store."""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from langgraph.store.base import BaseStore, GetOp, ListNamespacesOp, MatchCondition, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore
from pydantic import ValidationError

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.memory.databases import is_postgres, open_postgres, open_sqlite
from langgraph_reflexion.memory.duplicates import is_same, repeated
from langgraph_reflexion.memory.namespaces import EVERYONE, NO_LIMIT, ROOT, USER, escape_name, in_store, unescape_name
from langgraph_reflexion.memory.records import (
    CHANGED_VERDICT,
    PERSON,
    LateVerdict,
    LessonEdit,
    LessonSource,
    LessonUse,
    QueuedTrial,
    Record,
    now,
    plain,
    trial_key,
)
from langgraph_reflexion.memory.snapshot import RECORDS, Lesson, LessonSnapshot, age, task_text
from langgraph_reflexion.memory.summaries import ArchivedLesson
from langgraph_reflexion.memory.tidying import merges, tidied
from langgraph_reflexion.support.text import one_line

Kind = TypeVar("Kind", bound=Record)

LIMIT = 500
"""Lessons of a namespace, at most, unless `Lessons` says otherwise."""

LATEST_USES = 200
"""Records of trials in a namespace from which on they are added up."""

SIMILAR = 0.95
"""The similarity in a store's index from which on lessons are near-duplicates, if their numbers and names agree."""


class LessonStore:
    """Reads and writes the lessons of a namespace; nothing is cached, as other processes may write to it.

    Args:
        store: Any LangGraph store.
        environment: The name under which lessons are kept.
        user: The user whose lessons they are; everyone's unless given.
        limit: The number of lessons that `tidy` leaves, at most; the least useful are archived.

    Raises:
        ConfigurationError: the environment or the user has an empty name.
    """

    def __init__(self, store: BaseStore, environment: str, user: str | None = None, *, limit: int = LIMIT) -> None:
        if not environment or user == "":
            raise ConfigurationError("lessons are kept by environment and user; neither may be an empty name")
        self.store = store
        self.environment = environment
        self.user = user
        self.limit = limit
        owner = EVERYONE
        if user is not None:
            owner = f"{USER}{escape_name(user)}"
        self.namespace = (ROOT, escape_name(environment), owner)
        # LangGraph's stores set it if they were made with an embedding model; other stores may not have it.
        self.by_meaning = bool(getattr(store, "index_config", None))

    async def snapshot(self, *, archived: bool = True) -> LessonSnapshot:
        """Read the lessons.

        Args:
            archived: Whether those in the archive are read, too.

        Raises:
            ConfigurationError: a record is invalid.
            Fault: the store failed.
        """
        items = await self._read(archived=archived)
        # Other requests of this process need not wait while lessons are counted.
        return await asyncio.to_thread(_assemble, items)

    async def recall(
        self, task: Mapping[str, Any], observation: str, count: int, *, of_others: bool = False
    ) -> list[Lesson]:
        """Return at most `count` lessons for a task and its first observation, the best match first.

        `of_others` leaves out lessons that the task taught itself.
        """
        # Plain, as the texts of the sources are that it is compared with.
        query = task_text(task.get("kind") or "", plain(task["instruction"]), plain(observation))
        snapshot = await self.snapshot(archived=False)
        fitting: dict[str, Lesson] = {}
        for lesson in snapshot.live:
            is_own = of_others and task["id"] in lesson.tasks
            if not (lesson.retired or lesson.pending or is_own):
                fitting[lesson.id] = lesson
        if self.by_meaning:
            order = await self._similar(snapshot, query, fitting, count)
        else:
            order = await asyncio.to_thread(snapshot.search, query)
        found = [fitting[key] for key in order if key in fitting]
        return found[:count]

    async def _similar(self, snapshot: LessonSnapshot, query: str, fitting: Collection[str], count: int) -> list[str]:
        """Return the ids of lessons that the store's own index finds, the best match first.

        `count` of those that are `fitting` are among them, if the index finds as many.
        """
        wanted = min(count, len(fitting))
        if not wanted:
            return []
        # Some stores find a record once for each of its texts.
        texts = len(snapshot.records["sources"]) * len(LessonSource.searched)
        # More than are shown: several sources may be one lesson, and some lessons do not fit.
        most = 10 * count
        while True:
            [found] = await in_store(self.store, [SearchOp(self._space("sources"), query=query, limit=most)])
            sources = [LessonSource.model_validate(item.value) for item in self._own_items(found)]
            # A merged lesson stands for the one that is left, which is shown once.
            order = list(dict.fromkeys(snapshot.id_of(source.lesson) for source in sources))
            enough = sum(key in fitting for key in order) >= wanted
            if enough or most >= texts:
                return order
            most *= 10

    async def late_verdict(self, key: str) -> LateVerdict | None:
        """Return what was last said of a trial after the fact, if anything was.

        Args:
            key: The key of the trial, `trial_key`.
        """
        return await self._get(LateVerdict, key)

    async def queued(self) -> list[QueuedTrial]:
        """Return the trials that are to be learned from, the oldest first."""
        trials = await self._all(QueuedTrial)
        return sorted(trials, key=lambda trial: (trial.date, trial.key))

    async def still_queued(self, key: str) -> QueuedTrial | None:
        """Return a queued trial as it is now; None if it was learned from meanwhile."""
        return await self._get(QueuedTrial, key)

    async def dequeue(self, trial: QueuedTrial) -> None:
        """Remove a trial that was learned from."""
        await in_store(self.store, [self._remove(QueuedTrial.stored_as, trial.key)])

    async def spent(self) -> float:
        """Return the money that learning after the fact has cost for this user."""
        verdicts = await self._all(LateVerdict)
        return sum(verdict.cost for verdict in verdicts)

    async def source(self, key: str) -> LessonSource | None:
        """Return the source of a lesson by its key; None if there is none, or its lesson was archived."""
        return await self._get(LessonSource, key)

    async def counts(self, trial: str, *, recorded: bool) -> bool:
        """Return whether a trial is in the numbers.

        Args:
            trial: The key of the trial, `trial_key`.
            recorded: Whether whoever played it records trials.
        """
        snapshot = await self.snapshot(archived=False)
        # The record of a trial that was added up is gone, and its key is in the summary.
        if trial in snapshot.records["uses"] or trial in snapshot.counted:
            return True
        # A summary keeps the latest keys alone, so that it does not grow: that of an old trial is gone as well.
        return recorded and snapshot.has_forgotten

    async def add(self, records: Iterable[Record]) -> None:
        """Add records, and merge near-duplicates of their lessons; lessons without a text are left out."""
        operations: list[PutOp] = []
        taught: set[str] = set()
        for record in records:
            if not isinstance(record, LessonSource):
                operations.append(self._put(record))
                continue
            # Nothing was learned: the model gave an empty reply, or its call failed.
            if not record.text:
                continue
            # One that a person has yet to approve replaces nothing.
            if not record.pending:
                taught.add(record.lesson)
            if self.by_meaning:
                # Not in a batch: LangGraph's InMemoryStore cannot embed the same text for two of its records.
                await in_store(self.store, [self._put(record)])
            else:
                operations.append(self._put(record))
        if operations:
            await in_store(self.store, operations)
        # They are in the store by now: of two processes that add near-duplicates at once, one at least sees both.
        if taught:
            await self._merge_duplicates(taught)

    async def _merge_duplicates(self, taught: set[str]) -> None:
        """Merge the near-duplicates of these lessons, or these lessons into those that say as much."""
        snapshot = await self.snapshot(archived=False)
        into = await asyncio.to_thread(repeated, snapshot, taught)
        if self.by_meaning:
            # A lesson that was merged into another one is not among the snapshot's.
            for lesson in sorted(taught & snapshot.lessons.keys()):
                # The words come first: a search of the index costs an embedding.
                if lesson not in into:
                    into.update(await self._same_meaning(snapshot.lessons[lesson], snapshot))
        if into:
            await in_store(self.store, [self._put(record) for record in merges(into)])

    async def _same_meaning(self, lesson: Lesson, snapshot: LessonSnapshot) -> dict[str, str]:
        """Return the younger one of two lessons that the store's index finds alike, with the older one."""
        # Not the text that a person has changed it to: the index has the sources' words.
        text = lesson.sources[0].text
        [found] = await in_store(self.store, [SearchOp(self._space("sources"), query=text, limit=10)])
        for item in self._own_items(found):
            # Not every store gives a score.
            score = item.score or 0
            if score < SIMILAR:
                continue
            source = LessonSource.model_validate(item.value)
            other = snapshot.lessons.get(snapshot.id_of(source.lesson))
            # The search finds the lesson itself, too.
            if other is None or other is lesson or other.pending:
                continue
            older, younger = sorted([lesson, other], key=age)
            # An index finds "open drawer 1" and "open drawer 2" alike, which are not the same lesson.
            if is_same(older, younger) and not younger.by_person:
                return {younger.id: older.id}
        return {}

    async def tidy(self, *, restore: str | None = None, force: bool = False) -> None:
        """Add up old records, and archive the least useful lessons beyond the limit.

        This does nothing while there are few records. Several processes may do so at once, and be killed.

        Args:
            restore: The id of an archived lesson that is to be recalled again. Then none is archived.
            force: Whether records are added up even if there are few. Then no lesson is archived, as whoever exports
                them may not know the limit of those who teach them.
        """
        archives = not (force or restore)
        if archives and not await self._has_many():
            return
        snapshot = await self.snapshot(archived=False)
        kept = snapshot.live
        beyond: list[Lesson] = []
        if archives:
            # With some room, so that not every further lesson makes this necessary again.
            room = self.limit - self.limit // 20
            kept, beyond = snapshot.split_by_use(room)
            needed = sum(len(lesson.needed_sources) for lesson in kept)
            has_spare_sources = len(snapshot.records["sources"]) > needed
            has_many_uses = len(snapshot.records["uses"]) > LATEST_USES
            if not (beyond or has_spare_sources or has_many_uses):
                # Some lessons need two sources, so that there may be more than the limit of them.
                return
        # Those that were archived before, and taught again: their numbers are added to those of the archive.
        archived: dict[str, ArchivedLesson] = {}
        for lesson in beyond:
            before = await self._get(ArchivedLesson, lesson.id)
            if before:
                archived[lesson.id] = before
        restored: ArchivedLesson | None = None
        if restore:
            restored = await self._get(ArchivedLesson, restore)
        # Other requests of this process need not wait while records are added up.
        changes = await asyncio.to_thread(tidied, snapshot, kept, beyond, archived, restored)
        operations = [self._put(record) for record in changes.put]
        operations += [self._remove(removal.kind, removal.key) for removal in changes.removed]
        await in_store(self.store, operations)

    async def withdraw(self, source: str) -> None:
        """Retire the lesson of a source whose trial has another verdict by now, unless others taught it as well.

        Args:
            source: The key of the source.
        """
        snapshot = await self.snapshot(archived=False)
        withdrawn = snapshot.records["sources"].get(source)
        if not isinstance(withdrawn, LessonSource):
            return
        lesson = snapshot.lessons[snapshot.id_of(withdrawn.lesson)]
        if lesson.retired:
            return
        # Of sources whose records are gone, nobody knows what became of their trials: they count.
        if lesson.tally.sources > len(lesson.sources):
            return
        for other in lesson.sources:
            # What a person has said of the trial may be a source of its own.
            is_withdrawn = other.of_trial == withdrawn.of_trial and other.outcome == withdrawn.outcome
            if not is_withdrawn and not await self._is_overturned(other, snapshot):
                return
        await self.add([LessonEdit(lesson=lesson.id, date=now(), retired=True, by=CHANGED_VERDICT)])

    async def _is_overturned(self, source: LessonSource, snapshot: LessonSnapshot) -> bool:
        """Return whether a source's trial has ended otherwise, by its own run or by what was said after the fact."""
        if source.outcome == PERSON:
            return False
        taught_by_success = source.outcome == "success"
        verdict = await self.late_verdict(source.of_trial)
        if verdict is not None:
            return verdict.success != taught_by_success
        for use in snapshot.records["uses"].values():
            if not isinstance(use, LessonUse) or use.before is None:
                continue
            if trial_key(use.run, use.task, use.trial) == source.of_trial:
                return use.success != taught_by_success
        return False

    async def reinstate(self, source: str) -> None:
        """Recall the lesson of a source again, if `withdraw` has retired it: its trial has the verdict after all.

        One that a person has retired or rejected stays so.

        Args:
            source: The key of the source.
        """
        lesson = await self._taught_by(source)
        if lesson is None:
            return
        decisions = [edit for edit in lesson.edits if edit.retired is not None or edit.approved is not None]
        if not decisions:
            return
        last = decisions[-1]
        if last.retired and last.by == CHANGED_VERDICT:
            await self.add([LessonEdit(lesson=lesson.id, date=now(), retired=False, by=CHANGED_VERDICT)])

    async def _taught_by(self, source: str) -> Lesson | None:
        """Return the lesson of a source by the source's key; None if there is none, or it was archived."""
        snapshot = await self.snapshot(archived=False)
        found = snapshot.records["sources"].get(source)
        if not isinstance(found, LessonSource):
            return None
        return snapshot.lessons[snapshot.id_of(found.lesson)]

    async def users(self) -> list[str]:
        """Return the names of the users who have lessons in this environment."""
        condition = MatchCondition("prefix", self.namespace[:2])
        [spaces] = await in_store(self.store, [ListNamespacesOp((condition,), max_depth=3, limit=NO_LIMIT)])
        users = set()
        for space in spaces:
            # Some stores compare the beginning of a namespace as a string, and not its parts.
            if len(space) != 3 or space[:2] != self.namespace[:2]:
                continue
            name = space[2]
            if name.startswith(USER):
                users.add(unescape_name(name.removeprefix(USER)))
        return sorted(users)

    async def _get(self, kind: type[Kind], key: str) -> Kind | None:
        """Return the record of this kind and key, if the store has it."""
        [item] = await in_store(self.store, [GetOp(self._space(kind.stored_as), key)])
        if item is None:
            return None
        return kind.model_validate(item.value)

    async def _all(self, kind: type[Kind]) -> list[Kind]:
        """Return all records of a kind."""
        [found] = await in_store(self.store, [SearchOp(self._space(kind.stored_as), limit=NO_LIMIT)])
        return [kind.model_validate(item.value) for item in self._own_items(found)]

    async def _has_many(self) -> bool:
        """Return whether there are more records than the limits allow, without reading them."""
        # Each finds something only if there is one record more than the limit.
        probes = [
            SearchOp(self._space("sources"), offset=self.limit, limit=1),
            SearchOp(self._space("uses"), offset=LATEST_USES, limit=1),
        ]
        return any(await in_store(self.store, probes))

    def _put(self, record: Record) -> PutOp:
        searched = record.searched
        if self.by_meaning:
            searched = record.distinct_fields()
        space = self._space(record.stored_as)
        # False keeps a record out of the store's index.
        return PutOp(space, record.key, record.stored(), searched or False)

    def _remove(self, kind: str, key: str) -> PutOp:
        return PutOp(self._space(kind), key, None)

    def _space(self, kind: str) -> tuple[str, ...]:
        """Return the namespace of the records of this kind."""
        return (*self.namespace, kind)

    async def _read(self, *, archived: bool) -> list[Any]:
        # Sources and uses are read first, as `RECORDS` has them: a summary that is written meanwhile then counts no
        # less than what was read.
        kinds = [kind for kind in RECORDS if archived or kind != ArchivedLesson.stored_as]
        operations = [SearchOp(self._space(kind), limit=NO_LIMIT) for kind in kinds]
        found = await in_store(self.store, operations)
        return self._own_items(chain.from_iterable(found))

    def _own_items(self, found: Iterable[Any]) -> list[Any]:
        """Return the items of this namespace: some stores compare its beginning as a string, and not its parts."""
        return [item for item in found if item.namespace[:-1] == self.namespace]


def _assemble(items: Iterable[Any]) -> LessonSnapshot:
    """Return the snapshot of what a store has.

    Raises:
        ConfigurationError: a record is invalid.
    """
    records: dict[str, dict[str, Record]] = {kind: {} for kind in RECORDS}
    for item in items:
        kind = item.namespace[-1]
        try:
            records[kind][item.key] = RECORDS[kind].model_validate(item.value)
        except (KeyError, ValidationError) as error:
            raise ConfigurationError(
                f"an invalid record of lessons in the store, {item.key!r} in {item.namespace}: {one_line(error)}"
            ) from error
    return LessonSnapshot(records)


@asynccontextmanager
async def open_lessons(where: Path | str | None = None) -> AsyncIterator[BaseStore]:
    """Open a store for the lessons of `Memory(lessons=...)`, for `compile(store=...)`, and create its tables.

    Several processes may have it open and write to it.

    Args:
        where: The file of a SQLite database, which is created; the address of a Postgres database
            (`postgresql://...`, extra `postgres`); None for a store in memory.

    Raises:
        ConfigurationError: the file is not such a database, the extra is missing, or the server cannot be reached.
    """
    async with AsyncExitStack() as stack:
        if where is None:
            store: BaseStore = InMemoryStore()
        elif is_postgres(where):
            store = await open_postgres(str(where), stack)
        else:
            store = await open_sqlite(str(where), stack)
        yield store
