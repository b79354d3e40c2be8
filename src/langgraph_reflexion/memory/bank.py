"""The lessons of one environment and user in a LangGraph store."""

import asyncio
import re
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast, get_args

from langgraph.store.base import BaseStore, ListNamespacesOp, MatchCondition, Op, PutOp, SearchItem, SearchOp

from langgraph_reflexion.errors import ConfigurationError, Fault
from langgraph_reflexion.memory.book import Book, Lesson, about
from langgraph_reflexion.memory.items import Edit, LessonItem, Part, Source, Use, checked, item_key, plain
from langgraph_reflexion.models.faults import in_a_line

if TYPE_CHECKING:
    # It takes scipy along, and a second.
    from langgraph_reflexion.memory.index import Index, Words

ALL = 10_000_000
"""More items than a store holds."""

EVERYONE = "everyone"
"""Whose lessons they are where no user is named."""

ROOT, STAMP = "reflexion", "stamp"
"""How namespaces begin, and how that of the stamps ends."""

STAMPS = 200
"""So many stamps of others are kept."""


class Bank:
    """Reads and writes the lessons of a namespace.

    Everybody who writes keeps a stamp beside it that is another one after every write. So one look at the others'
    stamps tells whether everything has to be read again; what this process writes itself, it knows.

    Args:
        store: The store.
        environment: Where the lessons are from.
        user: Whose they are; everyone's unless given.
    """

    def __init__(self, store: BaseStore, environment: str, user: str | None = None) -> None:
        self.store = store
        self.namespace = namespace(environment, user)
        self.by_meaning = bool(getattr(store, "index_config", None))
        self._writer = uuid.uuid4().hex
        self._others: dict[str, str] | None = None
        self._items: dict[Part, dict[str, Any]] = {part: {} for part in get_args(Part)}
        self._own: list[tuple[Part, str, dict[str, Any]]] = []
        self._book: Book | None = None
        self._words: Words | None = None
        self._index: Index | None = None
        self._indexed: Book | None = None

    async def book(self) -> Book:
        """All that is known, read again where others have changed something since."""
        [stamps] = await _done(self.store, [SearchOp((*self.namespace, STAMP), limit=ALL)])
        others = {stamp.key: stamp.value["token"] for stamp in stamps if stamp.key != self._writer}
        if others != self._others:
            [found] = await _done(self.store, [SearchOp(self.namespace, limit=ALL)])
            items: dict[Part, dict[str, Any]] = {part: {} for part in get_args(Part)}
            for item in found:
                # Some stores look at the beginning of a namespace's name, and not at its parts.
                if item.namespace[:-1] == self.namespace and item.namespace[-1] in items:
                    items[cast(Part, item.namespace[-1])][item.key] = item.value
            # What was written while this was read may not be among it.
            for part, key, value in self._own:
                items[part][key] = value
            self._items, self._others, self._book = items, others, None
        if self._book is None:
            now = len(self._own), self._others
            read = {part: dict(items) for part, items in self._items.items()}
            try:
                book = await asyncio.to_thread(Book, read)
            except (AttributeError, KeyError, TypeError) as error:
                raise ConfigurationError(
                    f"the store holds what is no lesson: {_damaged(read, self.namespace)}"
                ) from error
            if now != (len(self._own), self._others):
                return book
            self._book = book
        return self._book

    async def recall(
        self, task: Mapping[str, Any], observation: str, count: int, without: Callable[[Lesson], bool]
    ) -> list[Lesson]:
        """The lessons that fit a task best, the best first.

        Args:
            task: The task.
            observation: What is seen first.
            count: At most so many.
            without: Says which ones must not be among them.
        """
        book = await self.book()
        query = about(
            {
                "kind": task.get("kind") or "",
                "instruction": plain(task["instruction"]),
                "observation": plain(observation),
            }
        )
        if self.by_meaning:
            op = SearchOp((*self.namespace, "lessons"), query=query, limit=10 * count)
            [found] = await _done(self.store, [op])
            here = [item.key for item in cast(list[SearchItem], found) if item.namespace[:-1] == self.namespace]
            ranked = [book.lessons[key] for key in dict.fromkeys(map(book.id_of, here)) if key in book.lessons]
        else:
            index = await self._index_of(book)
            ranked = [book.lessons[key] for key in index.search(query) if key in book.lessons]
        return [lesson for lesson in ranked if not (lesson.retired or without(lesson))][:count]

    async def _index_of(self, book: Book) -> "Index":
        if self._indexed is not book:
            from langgraph_reflexion.memory.index import Index, Words

            self._words = self._words or Words()
            texts = {lesson.id: lesson.about for lesson in book.live()}
            # A trial that was told something changes numbers, and most often nothing that is searched.
            if self._index is None or self._index.texts != texts:
                self._index = await asyncio.to_thread(Index, texts, self._words)
            self._indexed = book
        return cast("Index", self._index)

    async def learn(self, text: str, source: Mapping[str, Any], name: str) -> str | None:
        """Write a lesson; one that repeats a lesson strengthens that one. Returns its id, None for no text.

        Args:
            text: What it says.
            source: Where it is from: a `Source` without lesson and text.
            name: Tells tasks apart that went through a graph twice.
        """
        text = plain(text)
        if not text:
            return None
        book = await self.book()
        known = await asyncio.to_thread(book.like, text)
        item = LessonItem(text=text, about=plain(f"{about(source)}\n{text}"))
        lesson = known or book.id_of(item_key("lessons", item))
        told = cast(Source, {**source, "lesson": lesson, "text": text})
        entries: list[tuple[Part, Mapping[str, Any]]] = [("sources", told)]
        if lesson not in book.lessons:
            entries.insert(0, ("lessons", item))
        await self.add(entries, name)
        return lesson

    async def use(self, use: Use, name: str) -> None:
        """Write how a trial went, and what it was told."""
        await self.add([("uses", use)], name)

    async def edit(self, edit: Edit) -> None:
        """Write what a person did to a lesson."""
        await self.add([("edits", edit)])

    async def add(self, entries: Iterable[tuple[Part, Mapping[str, Any]]], name: str = "") -> None:
        """Add items, each under the key that its content gives it.

        Args:
            entries: What each is, and says.
            name: Tells tasks apart that went through a graph twice.
        """
        await self.put((part, item_key(part, value, name), value) for part, value in entries)

    async def put(self, entries: Iterable[tuple[Part, str, Mapping[str, Any]]]) -> None:
        """Add items under their keys, and then the stamp that says that there are new ones."""
        written = [(part, key, dict(value)) for part, key, value in entries]
        if not written:
            return
        await _done(
            self.store,
            [
                # Only what is found by its meaning is given to the store's index.
                PutOp((*self.namespace, part), key, value, index=["about"] if part == "lessons" else False)
                for part, key, value in written
            ],
        )
        # The stamps come last: whoever sees one finds what it stands for. That those of writers who are gone go is a
        # change to everybody else, who reads all of it again.
        old = list(self._others or ()) if len(self._others or ()) > STAMPS else []
        space = (*self.namespace, STAMP)
        stamps: list[Op] = [PutOp(space, writer, None) for writer in old]
        await _done(self.store, [*stamps, PutOp(space, self._writer, {"token": uuid.uuid4().hex}, index=False)])
        self._own += written
        for part, key, value in written:
            self._items[part][key] = value
        self._book = None


def namespace(environment: str, user: str | None) -> tuple[str, ...]:
    """Where lessons are kept: by environment, and by user.

    Args:
        environment: The environment's name.
        user: The user's; everyone's lessons are apart from those of any user.

    Raises:
        ConfigurationError: a name is empty.
    """
    if not environment or user == "":
        raise ConfigurationError("lessons are kept by environment and user, and neither may be an empty name")
    return ROOT, _label(environment), EVERYONE if user is None else f"user-{_label(user)}"


async def environments(store: BaseStore) -> list[str]:
    """The environments that a store has lessons of."""
    spaces = await _done(store, [ListNamespacesOp((MatchCondition("prefix", (ROOT,)),), max_depth=2, limit=ALL)])
    return sorted({_name(space[1]) for space in spaces[0] if len(space) == 2})


async def _done(store: BaseStore, operations: Sequence[Op]) -> list[Any]:
    """What a store says to some operations.

    Raises:
        Fault: it failed.
    """
    try:
        try:
            return list(await store.abatch(operations))
        except NotImplementedError:
            # A store without coroutines, such as SqliteStore.
            return list(await asyncio.to_thread(store.batch, operations))
    except Exception as error:
        raise Fault(f"the store of lessons failed: {in_a_line(error)}") from error


def _damaged(items: Mapping[Part, Mapping[str, Any]], space: tuple[str, ...]) -> str:
    """The first item that lacks something."""
    for part, found in items.items():
        for key, value in found.items():
            try:
                checked(part, value)
            except ValueError as error:
                return f"in {(*space, part)}, {key!r}: {error}"
    return f"below {space}"


def _name(label: str) -> str:
    return re.sub("=([0-9a-f]+)=", lambda found: chr(int(found[1], 16)), label)


def _label(name: str) -> str:
    """A name as part of a namespace, without anything that a store reads as a pattern, and without capitals."""
    return re.sub(r"[^a-z0-9-]", lambda found: f"={ord(found[0]):x}=", name)


def known_lesson(book: Book, lesson: str) -> Lesson:
    """A lesson by its id, or by how its id begins.

    Raises:
        ConfigurationError: there is none, or more than one.
    """
    if lesson in book.lessons:
        return book.lessons[lesson]
    found = [each for key, each in book.lessons.items() if lesson and key.startswith(lesson)]
    if len(found) != 1:
        raise ConfigurationError(f"{len(found) or 'no'} lessons have an id that begins with {lesson!r}")
    return found[0]
