"""The shop's products, in SQLite with an index to search them: on disk where they come from files, built once.

The official file of 1.18 million products is read entry by entry, so that it need not fit into the memory.
"""

import hashlib
import json
import shutil
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from langgraph_reflexion.envs.cache import cache_folder, open_kept
from langgraph_reflexion.envs.webshop.index import Index, IndexBuilder
from langgraph_reflexion.envs.webshop.products import Product, read_product
from langgraph_reflexion.envs.webshop.streaming import stream
from langgraph_reflexion.errors import ConfigurationError, EnvironmentUnavailable

_VERSION = 1
"""Of the tables, the index, and of how products are read: with another number, all are built anew."""

_PRODUCTS = "CREATE TABLE products (id INTEGER PRIMARY KEY, asin TEXT UNIQUE, told TEXT)"
_ATTRIBUTES = "CREATE TEMP TABLE attributes (asin TEXT PRIMARY KEY, told TEXT) WITHOUT ROWID"

Attributes = Callable[[str], Sequence[str] | None]


class Store:
    """Products that can be searched; one connection, which threads take in turn.

    Args:
        connection: A database with the table of products, which may be used from any thread.
        index: Finds them by their number, which is their place in the file.
    """

    def __init__(self, connection: sqlite3.Connection, index: Index) -> None:
        self._connection = connection
        self._index = index
        self._lock = threading.Lock()
        self._close = weakref.finalize(self, connection.close)

    @classmethod
    def in_memory(cls, products: Iterable[Mapping[str, Any]], attributes: Mapping[str, Any]) -> "Store":
        """A store of a few products.

        Args:
            products: As in `items_shuffle.json`.
            attributes: As in `items_ins_v2.json`.
        """
        connection, builder = sqlite3.connect(":memory:", check_same_thread=False), IndexBuilder()
        known = {asin: _attributes(told) for asin, told in attributes.items()}
        _fill(connection, builder, products, known.get, "the catalogue")
        return cls(connection, builder.finish())

    @classmethod
    def cached(cls, products: Path, attributes: Path | None, cache: Path | None = None) -> "Store":
        """The store of the products of a file: built the first time that this file is seen.

        Args:
            products: The file `items_shuffle.json`, or a part of it.
            attributes: The file `items_ins_v2.json` that goes with it; without one no attributes are known.
            cache: The folder where stores are kept; `$XDG_CACHE_HOME/langgraph-reflexion` unless given.

        Raises:
            ConfigurationError: a file is not what it should be.
            EnvironmentUnavailable: a file cannot be read, the folder cannot be written to, or what is kept there is
                damaged.
        """
        folder = cache or cache_folder()
        kept = folder / f"webshop-{_VERSION}-{_fingerprint(products, attributes)}"
        if not kept.exists():
            try:
                folder.mkdir(parents=True, exist_ok=True)
                # Under another name until it is whole, so that nobody finds half of one.
                with TemporaryDirectory(dir=folder, prefix=".webshop-") as draft:
                    _build(Path(draft), products, attributes)
                    _keep(Path(draft, "whole"), kept)
            except (OSError, sqlite3.Error) as error:
                raise EnvironmentUnavailable(
                    f"the catalogue cannot be written to {folder}: {error}. Set XDG_CACHE_HOME to another folder"
                ) from error
        try:
            index = Index.open(kept)
            store = cls(open_kept(kept / "products.db"), index)
            store.find("")
        except (OSError, EOFError, ValueError, KeyError, TypeError, sqlite3.Error) as error:
            raise EnvironmentUnavailable(
                f"{kept} is damaged: {error}. Remove that folder, and it is built anew"
            ) from error
        return store

    def __len__(self) -> int:
        with self._lock:
            return int(self._connection.execute("SELECT count(*) FROM products").fetchone()[0])

    def search(self, query: str) -> list[int]:
        """The numbers of the products that a search finds, the best first."""
        return self._index.search(query)

    def product(self, number: int) -> Product:
        """The product of that number."""
        found = self._read("id = ?", number)
        assert found is not None, number
        return found[1]

    def find(self, asin: str) -> tuple[int, Product] | None:
        """The product of that code, after its number; None where there is none."""
        return self._read("asin = ?", asin)

    def close(self) -> None:
        """Close the database."""
        self._close()

    def _read(self, where: str, value: str | int) -> tuple[int, Product] | None:
        with self._lock:
            row = self._connection.execute(f"SELECT id, told FROM products WHERE {where}", (value,)).fetchone()
        return (row[0], Product.from_json(json.loads(row[1]))) if row else None


def _fingerprint(*files: Path | None) -> str:
    """What tells these files from others, without reading gigabytes: where they are, how large, and how old."""
    told = []
    for file in files:
        try:
            status = file.stat() if file else None
        except OSError as error:
            raise EnvironmentUnavailable(f"{file} cannot be read: {error.strerror}") from error
        told.append([str(file), status and status.st_size, status and status.st_mtime_ns])
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:24]


def _build(draft: Path, products: Path, attributes: Path | None) -> None:
    whole, aside = draft / "whole", draft / "aside"
    whole.mkdir()
    aside.mkdir()
    connection, builder = sqlite3.connect(whole / "products.db"), IndexBuilder(aside)
    try:
        # It is of no use before it is whole, and then only read.
        connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA temp_store = FILE;")
        connection.execute(_ATTRIBUTES)
        if attributes:
            rows = ((asin, json.dumps(_attributes(told))) for asin, told in stream(attributes))
            connection.executemany("INSERT OR REPLACE INTO attributes VALUES (?, ?)", rows)

        def known(asin: str) -> Sequence[str] | None:
            row = connection.execute("SELECT told FROM attributes WHERE asin = ?", (asin,)).fetchone()
            return json.loads(row[0]) if row else None

        _fill(connection, builder, (entry for _, entry in stream(products)), known, str(products))
        connection.commit()
    finally:
        connection.close()
    builder.finish().save(whole)


def _attributes(told: Any) -> Any:
    return told.get("attributes") if isinstance(told, dict) else None


def _keep(whole: Path, kept: Path) -> None:
    try:
        whole.rename(kept)
    except OSError:
        # Another process was faster.
        if not kept.exists():
            raise
        shutil.rmtree(whole)


def _fill(
    connection: sqlite3.Connection,
    builder: IndexBuilder,
    entries: Iterable[Mapping[str, Any]],
    known: Attributes,
    source: str,
) -> None:
    connection.execute(_PRODUCTS)
    number = 0
    for place, entry in enumerate(entries):
        try:
            product = read_product(entry, known(str(entry["asin"])))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ConfigurationError(
                f"{source}, entry {place}: this is no product of WebShop's ({type(error).__name__}: {error})"
            ) from error
        if product is None:
            continue
        row = (number, product.asin, json.dumps(product.to_json()))
        # A code that came before: the first one counts.
        if connection.execute("INSERT OR IGNORE INTO products VALUES (?, ?, ?)", row).rowcount:
            builder.add(product.indexed)
            number += 1
