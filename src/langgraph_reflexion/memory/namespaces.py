"""Where the records of lessons lie in a store: their namespaces, and how the store is asked."""

import asyncio
import re
from collections.abc import Sequence
from typing import Any

from langgraph.store.base import BaseStore, Op

from langgraph_reflexion.errors import Fault
from langgraph_reflexion.support.text import one_line

ROOT = "reflexion"
"""The first part of all namespaces."""

EVERYONE = "everyone"
"""The last part where no user is named."""

USER = "user-"
"""How the last part begins where a user is named."""

# LangGraph returns ten records where no limit is given, and has no way to ask for all.
NO_LIMIT = 10_000_000
"""More records than a store holds."""


async def in_store(store: BaseStore, operations: Sequence[Op]) -> list[Any]:
    """Carry out operations in a store, with coroutines or without.

    Raises:
        Fault: the store failed.
    """
    # Each store raises the errors of its database, and callers are to know one kind alone.
    try:
        try:
            return list(await store.abatch(operations))
        except NotImplementedError:
            # A store without coroutines, such as SqliteStore.
            return list(await asyncio.to_thread(store.batch, operations))
    except Exception as error:
        raise Fault(f"the store of lessons failed: {one_line(error)}") from error


def escape_name(name: str) -> str:
    """Escape a name for a namespace: some stores read patterns in it, or ignore its case."""
    # `=` is escaped as well, so that no two names become the same one.
    return re.sub(r"[^a-z0-9-]", _escaped, name)


def _escaped(found: re.Match[str]) -> str:
    number = ord(found[0])
    return f"={number:x}="


def unescape_name(part: str) -> str:
    """Return the name that was escaped."""
    return re.sub("=([0-9a-f]+)=", _unescaped, part)


def _unescaped(found: re.Match[str]) -> str:
    number = int(found[1], 16)
    return chr(number)
