"""Products in SQLite, searched with the scores of the original's Lucene: BM25 with pyserini's parameters and words.

One thing differs: Lucene stores lengths in one byte and so rounds those above 39 words; here they are exact.
"""

import json
import re
import sqlite3
import threading
import weakref
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from math import log1p
from pathlib import Path
from typing import Any

from langgraph_reflexion.envs.cache import cached_database
from langgraph_reflexion.envs.webshop.files import stream
from langgraph_reflexion.envs.webshop.products import Product, read_product
from langgraph_reflexion.errors import ConfigurationError

K1, B = 0.9, 0.4
MAX_RESULTS = 50
"""Maximum number of products that a search returns."""

_NOT_INDEXED = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they "
    "this to was will with"
)
STOP_WORDS = frozenset(_NOT_INDEXED.split())
"""Lucene's English stop words, which are not indexed."""
# Unicode's word breaks: an apostrophe, full stop or colon joins letters, a full stop or comma joins digits.
_WORD = re.compile(r"\w+(?:(?:(?<=[^\W\d_])['\u2019.:\u00b7](?=[^\W\d_])|(?<=\d)['\u2019.,;](?=\d))\w+)*")

_KIND = "webshop-3"
"""The name of cached stores, with the version of the tables and of the parsing of products."""
_TABLES = """
CREATE TABLE products (id INTEGER PRIMARY KEY, asin TEXT UNIQUE, content TEXT);
CREATE TABLE lengths (id INTEGER PRIMARY KEY, words INTEGER);
CREATE VIRTUAL TABLE terms USING fts5(body, content='', tokenize='ascii');
CREATE VIRTUAL TABLE postings USING fts5vocab(terms, instance);
"""
_POSTINGS = "SELECT doc, count(*), words FROM postings JOIN lengths ON id = doc WHERE term = ? GROUP BY doc"


def analyze(text: str) -> list[str]:
    """Return the stems of a text's words, in order, as Lucene's English analyzer does."""
    import Stemmer

    words = [re.sub(r"['\u2019]s$", "", word) for word in _WORD.findall(text.lower())]
    kept = [word for word in words if word not in STOP_WORDS and any(c.isalnum() for c in word)]
    stems: list[str] = Stemmer.Stemmer("porter").stemWords(kept)
    return stems


class Store:
    """Searchable products, usable from any thread. They are numbered by their positions in the file."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._close = weakref.finalize(self, connection.close)
        self._size, words = connection.execute("SELECT count(*), total(words) FROM lengths").fetchone()
        self._mean_length = words / max(self._size, 1) or 1.0

    @classmethod
    def in_memory(cls, products: Iterable[Mapping[str, Any]], attributes: Mapping[str, Any]) -> "Store":
        """Return a store of products as in `items_shuffle.json`, with attributes as in `items_ins_v2.json`."""
        connection = sqlite3.connect(":memory:", check_same_thread=False)
        try:
            _fill(connection, products, attributes.items(), "the catalogue")
        except BaseException:
            connection.close()
            raise
        return cls(connection)

    @classmethod
    def cached(cls, products: Path, attributes: Path) -> "Store":
        """Return the store of the files `items_shuffle.json` and `items_ins_v2.json`, or parts of them.

        Raises:
            ConfigurationError: A file is invalid.
            EnvironmentUnavailable: A file cannot be read, or the cache cannot be written.
        """

        def build(connection: sqlite3.Connection) -> None:
            _fill(connection, (entry for _, entry in stream(products)), stream(attributes), str(products))

        return cls(cached_database(_KIND, [products, attributes], build))

    def search(self, query: str, limit: int = MAX_RESULTS) -> list[int]:
        """Return the numbers of the products that fit best, ties in the order of the catalogue.

        How often a word is in the query counts.
        """
        scores: dict[int, float] = defaultdict(float)
        for word in analyze(query):
            with self._lock:
                found = self._connection.execute(_POSTINGS, (_term(word),)).fetchall()
            idf = log1p((self._size - len(found) + 0.5) / (len(found) + 0.5))
            for number, count, words in found:
                scores[number] += idf * count / (count + K1 * (1 - B + B * words / self._mean_length))
        return sorted(scores, key=lambda number: (-scores[number], number))[:limit]

    def product(self, number: int) -> Product:
        found = self._read("id = ?", number)
        assert found is not None, number
        return found[1]

    def find(self, asin: str) -> tuple[int, Product] | None:
        """Return the number and the product of a code; None if there is no such product."""
        return self._read("asin = ?", asin)

    def close(self) -> None:
        self._close()

    def _read(self, where: str, value: str | int) -> tuple[int, Product] | None:
        with self._lock:
            row = self._connection.execute(f"SELECT id, content FROM products WHERE {where}", (value,)).fetchone()
        return (row[0], Product(**json.loads(row[1]))) if row else None


def _term(word: str) -> str:
    """Return a word in digits and letters, which SQLite does not split."""
    return word.encode().hex()


def _fill(
    connection: sqlite3.Connection,
    entries: Iterable[Mapping[str, Any]],
    attributes: Iterable[tuple[str, Any]],
    source: str,
) -> None:
    connection.executescript(_TABLES)
    known = {asin: entry.get("attributes") for asin, entry in attributes if isinstance(entry, dict)}
    number = 0
    for place, entry in enumerate(entries):
        try:
            product = read_product(entry, known.get(str(entry["asin"])))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ConfigurationError(
                f"{source}, entry {place}: not a product of WebShop ({type(error).__name__}: {error})"
            ) from error
        if product is None:
            continue
        row = (number, product.asin, json.dumps(asdict(product)))
        # Of products with the same code, the first one counts.
        if connection.execute("INSERT OR IGNORE INTO products VALUES (?, ?, ?)", row).rowcount:
            words = analyze(product.indexed)
            connection.execute("INSERT INTO lengths VALUES (?, ?)", (number, len(words)))
            connection.execute("INSERT INTO terms (rowid, body) VALUES (?, ?)", (number, " ".join(map(_term, words))))
            number += 1
