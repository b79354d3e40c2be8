"""SQLite databases that are built once, in memory or from large files and cached."""

import hashlib
import json
import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

from langgraph_reflexion.errors import EnvironmentUnavailable


class Database:
    """A database that is not written to any more, safe for threads.

    Args:
        connection: Its connection, usable from any thread.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._close = weakref.finalize(self, connection.close)

    @classmethod
    def filled(cls, fill: Callable[[sqlite3.Connection], None]) -> Self:
        """Return a database in memory, filled by a function."""
        made = cls(sqlite3.connect(":memory:", check_same_thread=False))
        fill(made._connection)
        return made

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return all rows of a query."""
        with self._lock:
            return self._connection.execute(query, values).fetchall()

    def close(self) -> None:
        self._close()


def cache_folder() -> Path:
    """Return `$XDG_CACHE_HOME/langgraph-reflexion`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "langgraph-reflexion"


def cached_database(
    kind: str, sources: Sequence[Path], build: Callable[[sqlite3.Connection], None]
) -> sqlite3.Connection:
    """Open the database of some files, read-only; the connection may be used from any thread.

    It is in `cache_folder()`, and built when a file is new or has changed.

    Args:
        kind: The beginning of its name; a new one for new tables.
        sources: The files.
        build: Fills the empty database.

    Raises:
        EnvironmentUnavailable: a file cannot be read, or the folder cannot be written to.
    """
    folder = cache_folder()
    kept = folder / f"{kind}-{_fingerprint(sources)}.db"
    try:
        if not kept.exists():
            folder.mkdir(parents=True, exist_ok=True)
            # Built under another name, so that no process opens an incomplete one.
            with TemporaryDirectory(dir=folder, prefix=f".{kind}-") as draft:
                with closing(sqlite3.connect(Path(draft, kept.name))) as connection:
                    connection.execute("PRAGMA journal_mode = OFF")
                    build(connection)
                    connection.commit()
                Path(draft, kept.name).replace(kept)
        return sqlite3.connect(f"{kept.resolve().as_uri()}?immutable=1", uri=True, check_same_thread=False)
    except (OSError, sqlite3.Error) as error:
        raise EnvironmentUnavailable(
            f"{kept} cannot be written: {error}. Set XDG_CACHE_HOME to another folder"
        ) from error


def _fingerprint(sources: Sequence[Path]) -> str:
    """Return a fingerprint of files by path, size and modification time, without reading gigabytes."""
    stats = []
    for file in sources:
        try:
            status = file.stat()
        except OSError as error:
            raise EnvironmentUnavailable(f"{file} cannot be read: {error.strerror}") from error
        stats.append([str(file), status.st_size, status.st_mtime_ns])
    return hashlib.sha256(json.dumps(stats).encode()).hexdigest()[:24]
