"""Whose lessons are in a store: its environments and users, what is kept of one of them, and how it is deleted."""

from collections.abc import Mapping
from itertools import chain

from langgraph.store.base import BaseStore, Item, ListNamespacesOp, MatchCondition, PutOp, SearchOp

from langgraph_reflexion.memory.databases import overwrite_deleted
from langgraph_reflexion.memory.namespaces import EVERYONE, NO_LIMIT, ROOT, USER, escape_name, in_store, unescape_name
from langgraph_reflexion.memory.records import QueuedTrial
from langgraph_reflexion.memory.store import LessonStore

DELETED_AT_ONCE = 1000
"""Records that are deleted at once, at most."""


async def users_with_queues(store: BaseStore, environment: str) -> list[str | None]:
    """Return the users of an environment who have queued trials; None stands for everyone."""
    condition = MatchCondition("prefix", (ROOT, escape_name(environment)))
    [spaces] = await in_store(store, [ListNamespacesOp((condition,), limit=NO_LIMIT)])
    users: set[str | None] = set()
    for space in spaces:
        is_queue = len(space) == 4 and space[3] == QueuedTrial.stored_as
        # Some stores compare the beginning of a namespace as a string, and not its parts.
        if not is_queue or space[1] != escape_name(environment):
            continue
        owner = space[2]
        if owner == EVERYONE:
            users.add(None)
        else:
            users.add(unescape_name(owner.removeprefix(USER)))
    # Python cannot compare None with a name.
    return sorted(users, key=str)


async def environments(store: BaseStore) -> list[str]:
    """Return the environments that a store has lessons for."""
    condition = MatchCondition("prefix", (ROOT,))
    [spaces] = await in_store(store, [ListNamespacesOp((condition,), max_depth=2, limit=NO_LIMIT)])
    found = set()
    for space in spaces:
        # Another library may keep something right under the first part.
        if len(space) == 2:
            found.add(unescape_name(space[1]))
    return sorted(found)


async def user_records(store: BaseStore, user: str) -> dict[str, list[Item]]:
    """Return everything that is kept of a user, by environment, whatever kinds of record there are.

    Raises:
        ConfigurationError: the name is empty.
        Fault: the store failed.
    """
    records: dict[str, list[Item]] = {}
    for environment in await environments(store):
        owned = LessonStore(store, environment, user).namespace
        [found] = await in_store(store, [SearchOp(owned, limit=NO_LIMIT)])
        # Some stores compare the beginning of a namespace as a string, and not its parts.
        own = [item for item in found if item.namespace[: len(owned)] == owned]
        if own:
            records[environment] = own
    return records


async def forget_user(store: BaseStore, user: str) -> int:
    """Delete everything that is kept of a user, in every environment.

    What a process that is still running for this user writes afterwards is not deleted.

    Returns:
        The number of records deleted.

    Raises:
        ConfigurationError: the name is empty.
        Fault: the store failed.
    """
    records = await user_records(store, user)
    removals = []
    for item in chain.from_iterable(records.values()):
        # LangGraph deletes what is put as None.
        removals.append(PutOp(item.namespace, item.key, None))
    # A statement of SQL has a limited number of parameters.
    for start in range(0, len(removals), DELETED_AT_ONCE):
        await in_store(store, removals[start : start + DELETED_AT_ONCE])
    if removals:
        await overwrite_deleted(store)
    return len(removals)


async def seen_tasks(store: BaseStore, environment: str, users: Mapping[str, str | None]) -> list[str]:
    """Return the tasks that have taught their user a lesson already.

    Args:
        store: The store of the lessons.
        environment: The environment of the tasks.
        users: The user of each task, by its id; None for everyone.
    """
    taught: set[tuple[str | None, str]] = set()
    # The lessons of a user are read once.
    for user in dict.fromkeys(users.values()):
        snapshot = await LessonStore(store, environment, user).snapshot()
        for lesson in snapshot.lessons.values():
            taught.update((user, task) for task in lesson.tasks)
    return [task for task, user in users.items() if (user, task) in taught]
