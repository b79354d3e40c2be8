"""Pages offline: full-text search in SQLite (FTS5), built once and kept.

A title is found as it is written, else but for case, accents and blanks, else by what stands before the
brackets of exactly one title. Similar titles are those that BM25 ranks first, words of a title counting most.
"""

import hashlib
import json
import re
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from tempfile import NamedTemporaryFile

from langgraph_reflexion.envs.cache import cache_folder, open_kept
from langgraph_reflexion.envs.hotpotqa.pages import SHOWN, Missing, Page, fold
from langgraph_reflexion.errors import EnvironmentUnavailable

_VERSION = 1
"""Of the tables, and of how pages are read from files: with another number, corpora are built anew."""

_TABLES = """
CREATE TABLE pages (id INTEGER PRIMARY KEY, title TEXT UNIQUE, folded TEXT, base TEXT, sentences TEXT);
CREATE VIRTUAL TABLE words USING fts5(title, body, content='', tokenize='porter unicode61 remove_diacritics 2');
"""
_INDEXES = "CREATE INDEX folded ON pages (folded); CREATE INDEX base ON pages (base);"
_SIMILAR = """
SELECT title FROM pages JOIN
    (SELECT rowid, bm25(words, 10.0, 1.0) AS rank FROM words WHERE words MATCH ? ORDER BY rank, rowid LIMIT ?)
    AS found ON found.rowid = pages.id ORDER BY rank, id
"""

# Nearly every page has them: they cost much time, and say nothing of a title.
_FUNCTION_WORDS = (
    "a an and are as at by did do does for from had has have he her his how in is it its of on or she that the "
    "their they this to was were what when where which who whom whose why will with"
)
_MOST_TERMS = 12


class Corpus:
    """Pages that can be searched; one connection, which threads take in turn.

    Args:
        connection: A database with the tables of a corpus, which may be used from any thread.
    """

    replays = True

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._close = weakref.finalize(self, connection.close)

    @classmethod
    def in_memory(cls, pages: Iterable[Page]) -> "Corpus":
        """A corpus of a few pages."""
        connection = sqlite3.connect(":memory:", check_same_thread=False)
        _fill(connection, pages)
        return cls(connection)

    @classmethod
    def cached(cls, source: Path, pages: Callable[[], Iterable[Page]], cache: Path | None = None) -> "Corpus":
        """The corpus of a file's pages: built the first time that a file of that content is seen.

        Args:
            source: The file.
            pages: Reads its pages.
            cache: The folder where corpora are kept; `$XDG_CACHE_HOME/langgraph-reflexion` unless given.

        Raises:
            EnvironmentUnavailable: the file cannot be read, or the folder cannot be written to.
        """
        folder = cache or cache_folder()
        try:
            with source.open("rb") as file:
                name = hashlib.file_digest(file, "sha256").hexdigest()[:24]
        except OSError as error:
            raise EnvironmentUnavailable(f"{source} cannot be read: {error.strerror}") from error
        kept = folder / f"corpus-{_VERSION}-{name}.db"
        if not _whole(kept):
            _build(kept, pages)
        return cls(open_kept(kept))

    def find(self, entity: str) -> Page | Missing:
        """The page of that title, or the titles that come near; see `Pages.find`."""
        folded = fold(entity)
        with self._lock:
            for query, value in (("title = ?", entity), ("folded = ?", folded)):
                if page := self._page(f"{query} ORDER BY id LIMIT 1", value):
                    return page
            alike = self._connection.execute("SELECT count(*) FROM pages WHERE base = ?", (folded,)).fetchone()[0]
            if alike == 1 and (page := self._page("base = ?", folded)):
                return page
            return Missing(self._similar(entity))

    def page(self, title: str) -> Page | None:
        """The page of exactly that title."""
        with self._lock:
            return self._page("title = ?", title)

    def __len__(self) -> int:
        with self._lock:
            return int(self._connection.execute("SELECT count(*) FROM pages").fetchone()[0])

    def close(self) -> None:
        """Close the database."""
        self._close()

    def _page(self, where: str, value: str) -> Page | None:
        row = self._connection.execute(f"SELECT title, sentences FROM pages WHERE {where}", (value,)).fetchone()
        return Page(row[0], tuple(json.loads(row[1]))) if row else None

    def _similar(self, entity: str) -> tuple[str, ...]:
        words = list(dict.fromkeys(re.findall(r"[^\W_]+", entity.lower())))
        terms = [word for word in words if word not in _FUNCTION_WORDS.split()] or words
        if not terms:
            return ()
        # Quoted, so that nothing in it is taken for FTS5's own language.
        wanted = " OR ".join(f'"{term}"' for term in terms[:_MOST_TERMS])
        return tuple(row[0] for row in self._connection.execute(_SIMILAR, (wanted, SHOWN)))


def _whole(kept: Path) -> bool:
    """Whether there is a corpus, and not what a failing disk has left of one."""
    if not kept.exists():
        return False
    with closing(open_kept(kept)) as connection:
        try:
            connection.execute("SELECT count(*) FROM pages").fetchone()
        except sqlite3.Error:
            return False
    return True


def _build(kept: Path, pages: Callable[[], Iterable[Page]]) -> None:
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        # Under another name until it is whole, so that nobody finds half of one.
        with NamedTemporaryFile(dir=kept.parent, prefix=f".{kept.stem}-", delete=False) as file:
            draft = Path(file.name)
    except OSError as error:
        raise EnvironmentUnavailable(
            f"the corpus cannot be written to {kept.parent}: {error.strerror}. Set XDG_CACHE_HOME to another folder"
        ) from error
    try:
        with closing(sqlite3.connect(draft)) as connection:
            # It is of no use before it is whole, and then only read.
            connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;")
            _fill(connection, pages())
        draft.replace(kept)
    except (OSError, sqlite3.Error) as error:
        raise EnvironmentUnavailable(f"the corpus cannot be written to {kept.parent}: {error}") from error
    finally:
        draft.unlink(missing_ok=True)


def _fill(connection: sqlite3.Connection, pages: Iterable[Page]) -> None:
    try:
        connection.executescript(_TABLES)
    except sqlite3.OperationalError as error:
        raise EnvironmentUnavailable(f"the SQLite of this Python cannot search text: {error}") from error
    insert_page = "INSERT OR IGNORE INTO pages (title, folded, base, sentences) VALUES (?, ?, ?, ?)"
    insert_words = "INSERT INTO words (rowid, title, body) VALUES (?, ?, ?)"
    for page in pages:
        base = fold(re.sub(r"\s*\([^()]*\)$", "", page.title))
        row = (page.title, fold(page.title), base, json.dumps(page.sentences, ensure_ascii=False))
        done = connection.execute(insert_page, row)
        # A title that came before: questions share paragraphs.
        if done.rowcount:
            connection.execute(insert_words, (done.lastrowid, page.title, page.text))
    connection.executescript(_INDEXES)
    connection.commit()
