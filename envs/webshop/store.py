"""Products in SQLite, searched with the scores of the original's Lucene: BM25 with pyserini's parameters and words.

One thing differs: Lucene stores lengths in one byte and so rounds those above 39 words; here they are exact.
"""

import json
import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict
from functools import cached_property, partial
from math import log1p
from pathlib import Path

from langgraph_reflexion.envs.cache import Database, cached_database
from langgraph_reflexion.envs.webshop.products import Product, read_products

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

    kept = []
    for found in _WORD.findall(text.lower()):
        word = re.sub(r"['\u2019]s$", "", found)
        # Underscores alone are not a word.
        if word not in STOP_WORDS and any(c.isalnum() for c in word):
            kept.append(word)
    stems: list[str] = Stemmer.Stemmer("porter").stemWords(kept)
    return stems


class Store(Database):
    """Searchable products, usable from any thread. They are numbered by their positions in the file."""

    @classmethod
    def in_memory(cls, products: Iterable[Product]) -> "Store":
        """Return a store of these products."""
        return cls.filled(partial(_fill, products=products))

    @classmethod
    def cached(cls, products: Path, attributes: Path) -> "Store":
        """Return the store of the files `items_shuffle.json` and `items_ins_v2.json`, or parts of them.

        Raises:
            ConfigurationError: A file is invalid.
            EnvironmentUnavailable: A file cannot be read, or the cache cannot be written.
        """

        def build(connection: sqlite3.Connection) -> None:
            _fill(connection, read_products(products, attributes))

        return cls(cached_database(_KIND, [products, attributes], build))

    @cached_property
    def _lengths(self) -> tuple[int, float]:
        """The number of products, and the mean number of their words."""
        [(size, words)] = self.rows("SELECT count(*), total(words) FROM lengths")
        # Of an empty store, 1: nothing is found, but the length is a divisor.
        mean = words / max(size, 1) or 1.0
        return size, mean

    def search(self, query: str, limit: int = MAX_RESULTS) -> list[int]:
        """Return the numbers of the products that fit best, ties in the order of the catalogue.

        How often a word is in the query counts.
        """
        scores: dict[int, float] = defaultdict(float)
        size, mean_length = self._lengths
        for word in analyze(query):
            found = self.rows(_POSTINGS, _term(word))
            idf = log1p((size - len(found) + 0.5) / (len(found) + 0.5))
            for number, count, words in found:
                # The longer a text is, the less a word in it says.
                saturation = K1 * (1 - B + B * words / mean_length)
                scores[number] += idf * count / (count + saturation)
        best_first = sorted(scores, key=lambda number: (-scores[number], number))
        return best_first[:limit]

    def product(self, number: int) -> Product:
        [(content,)] = self.rows("SELECT content FROM products WHERE id = ?", number)
        return Product(**json.loads(content))

    def find(self, asin: str) -> tuple[int, Product] | None:
        """Return the number and the product of a code; None if there is no such product."""
        found = self.rows("SELECT id, content FROM products WHERE asin = ?", asin)
        if not found:
            return None
        [(number, content)] = found
        return number, Product(**json.loads(content))


def _term(word: str) -> str:
    """Return a word in digits and letters, which SQLite does not split."""
    return word.encode().hex()


def _fill(connection: sqlite3.Connection, products: Iterable[Product]) -> None:
    connection.executescript(_TABLES)
    number = 0
    for product in products:
        row = (number, product.asin, json.dumps(asdict(product)))
        done = connection.execute("INSERT OR IGNORE INTO products VALUES (?, ?, ?)", row)
        # Of products with the same code, the first one counts.
        if not done.rowcount:
            continue
        words = analyze(product.indexed)
        terms = " ".join(map(_term, words))
        connection.execute("INSERT INTO lengths VALUES (?, ?)", (number, len(words)))
        connection.execute("INSERT INTO terms (rowid, body) VALUES (?, ?)", (number, terms))
        number += 1
