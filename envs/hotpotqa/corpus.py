"""Offline pages: a full-text index in SQLite (FTS5), built once and cached.

A title is found as written, else without regard to case, accents and blanks, else if only one title has it before
brackets. Similar titles are ranked by BM25 with most weight on the title.
"""

import json
import re
import sqlite3
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from langgraph_reflexion.envs.cache import Database, cached_database
from langgraph_reflexion.envs.hotpotqa.pages import SHOWN, Missing, Page, before_brackets, normalize_title

_KIND = "corpus-2"
"""The name of cached corpora, with the version of the tables and of the reader of pages."""

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

# Words of nearly every page, which cost time and identify nothing.
_COMMON = (
    "a an and are as at by did do does for from had has have he her his how in is it its of on or she that the "
    "their they this to was were what when where which who whom whose why will with"
)
_FUNCTION_WORDS = frozenset(_COMMON.split())
_MOST_TERMS = 12


class Corpus(Database):
    """A searchable set of pages, safe for threads."""

    replays = True

    @classmethod
    def in_memory(cls, pages: Iterable[Page]) -> "Corpus":
        """Return a corpus of a few pages."""
        return cls.filled(partial(_fill, pages=pages))

    @classmethod
    def cached(cls, source: Path, pages: Callable[[], Iterable[Page]]) -> "Corpus":
        """Return the corpus of a file's pages, built when the file is new or has changed.

        Args:
            source: The file.
            pages: Reads its pages.

        Raises:
            EnvironmentUnavailable: the file cannot be read, or the cache cannot be written.
        """
        return cls(cached_database(_KIND, [source], lambda connection: _fill(connection, pages())))

    def find(self, entity: str) -> Page | Missing:
        folded = normalize_title(entity)
        found = self._pages("title", entity) or self._pages("folded", folded)
        if found:
            return found[0]
        alike = self._pages("base", folded)
        if len(alike) == 1:
            return alike[0]
        return Missing(self._similar(entity))

    def page(self, title: str) -> Page | None:
        """Return the page of exactly this title."""
        found = self._pages("title", title)
        if not found:
            return None
        return found[0]

    def __len__(self) -> int:
        return int(self.rows("SELECT count(*) FROM pages")[0][0])

    def _pages(self, column: str, value: str) -> list[Page]:
        """Return the first pages with this value: two, to see whether it is the only one."""
        found = self.rows(f"SELECT title, sentences FROM pages WHERE {column} = ? ORDER BY id LIMIT 2", value)
        return [Page(title, tuple(json.loads(sentences))) for title, sentences in found]

    def _similar(self, entity: str) -> tuple[str, ...]:
        words = list(dict.fromkeys(re.findall(r"[^\W_]+", entity.lower())))
        telling = [word for word in words if word not in _FUNCTION_WORDS]
        # A title may consist of function words, such as "The Who".
        terms = telling or words
        if not terms:
            return ()
        # Quoted, so that no term is FTS5 syntax.
        wanted = " OR ".join(f'"{term}"' for term in terms[:_MOST_TERMS])
        found = self.rows(_SIMILAR, wanted, SHOWN)
        return tuple(title for (title,) in found)


def _fill(connection: sqlite3.Connection, pages: Iterable[Page]) -> None:
    connection.executescript(_TABLES)
    insert_page = "INSERT OR IGNORE INTO pages (title, folded, base, sentences) VALUES (?, ?, ?, ?)"
    insert_words = "INSERT INTO words (rowid, title, body) VALUES (?, ?, ?)"
    for page in pages:
        folded = normalize_title(page.title)
        base = normalize_title(before_brackets(page.title))
        sentences = json.dumps(page.sentences, ensure_ascii=False)
        done = connection.execute(insert_page, (page.title, folded, base, sentences))
        # Questions share paragraphs, so a title may be known.
        if done.rowcount:
            connection.execute(insert_words, (done.lastrowid, page.title, page.text))
    connection.executescript(_INDEXES)
