"""Store of products: an SQLite database and a search index, cached on disk for official files.

Files are read entry by entry, as the official one of 1.18 million products does not fit into memory.
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

_VERSION = 2
"""Version of the tables, the index and the parsing of products. Caches of other versions are rebuilt."""

_PRODUCTS = "CREATE TABLE products (id INTEGER PRIMARY KEY, asin TEXT UNIQUE, content TEXT)"
_ATTRIBUTES = "CREATE TEMP TABLE attributes (asin TEXT PRIMARY KEY, content TEXT) WITHOUT ROWID"

Attributes = Callable[[str], Sequence[str] | None]


class Store:
    """Searchable products, usable from any thread.

    Args:
        connection: A database with the table of products.
        index: Index of the products by number, which is their position in the file.
    """

    def __init__(self, connection: sqlite3.Connection, index: Index) -> None:
        self._connection = connection
        self._index = index
        self._lock = threading.Lock()
        self._close = weakref.finalize(self, connection.close)

    @classmethod
    def in_memory(cls, products: Iterable[Mapping[str, Any]], attributes: Mapping[str, Any]) -> "Store":
        """Return a store of products as in `items_shuffle.json`, with attributes as in `items_ins_v2.json`."""
        connection, builder = sqlite3.connect(":memory:", check_same_thread=False), IndexBuilder()
        known = {asin: _attributes(entry) for asin, entry in attributes.items()}
        _fill(connection, builder, products, known.get, "the catalogue")
        return cls(connection, builder.finish())

    @classmethod
    def cached(cls, products: Path, attributes: Path | None, cache: Path | None = None) -> "Store":
        """Return the store of a file of products, built when the file is first used.

        Args:
            products: The file `items_shuffle.json`, or a part of it.
            attributes: The matching file `items_ins_v2.json`; None for products without attributes.
            cache: The folder of cached stores; default `$XDG_CACHE_HOME/langgraph-reflexion`.

        Raises:
            ConfigurationError: A file is invalid.
            EnvironmentUnavailable: A file cannot be read, the folder cannot be written to, or the cached store is
                damaged.
        """
        folder = cache or cache_folder()
        kept = folder / f"webshop-{_VERSION}-{_fingerprint(products, attributes)}"
        if not kept.exists():
            try:
                folder.mkdir(parents=True, exist_ok=True)
                # Built under another name, so that no process opens an incomplete store.
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
            raise EnvironmentUnavailable(f"{kept} is damaged: {error}. Remove that folder to rebuild it") from error
        return store

    def __len__(self) -> int:
        with self._lock:
            return int(self._connection.execute("SELECT count(*) FROM products").fetchone()[0])

    def search(self, query: str) -> list[int]:
        """Return the numbers of the products that a search finds, the best first."""
        return self._index.search(query)

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
        return (row[0], Product.from_json(json.loads(row[1]))) if row else None


def _fingerprint(*files: Path | None) -> str:
    """Return a fingerprint of files by path, size and modification time, without reading gigabytes."""
    stats = []
    for file in files:
        try:
            status = file.stat() if file else None
        except OSError as error:
            raise EnvironmentUnavailable(f"{file} cannot be read: {error.strerror}") from error
        stats.append([str(file), status and status.st_size, status and status.st_mtime_ns])
    return hashlib.sha256(json.dumps(stats).encode()).hexdigest()[:24]


def _build(draft: Path, products: Path, attributes: Path | None) -> None:
    whole, aside = draft / "whole", draft / "aside"
    whole.mkdir()
    aside.mkdir()
    connection, builder = sqlite3.connect(whole / "products.db"), IndexBuilder(aside)
    try:
        # No durability needed: an incomplete database is discarded, a complete one is only read.
        connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA temp_store = FILE;")
        connection.execute(_ATTRIBUTES)
        if attributes:
            rows = ((asin, json.dumps(_attributes(entry))) for asin, entry in stream(attributes))
            connection.executemany("INSERT OR REPLACE INTO attributes VALUES (?, ?)", rows)

        def known(asin: str) -> Sequence[str] | None:
            row = connection.execute("SELECT content FROM attributes WHERE asin = ?", (asin,)).fetchone()
            return json.loads(row[0]) if row else None

        _fill(connection, builder, (entry for _, entry in stream(products)), known, str(products))
        connection.commit()
    finally:
        connection.close()
    builder.finish().save(whole)


def _attributes(entry: Any) -> Any:
    return entry.get("attributes") if isinstance(entry, dict) else None


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
                f"{source}, entry {place}: not a product of WebShop ({type(error).__name__}: {error})"
            ) from error
        if product is None:
            continue
        row = (number, product.asin, json.dumps(product.to_json()))
        # Of products with the same code, the first one counts.
        if connection.execute("INSERT OR IGNORE INTO products VALUES (?, ?, ?)", row).rowcount:
            builder.add(product.indexed)
            number += 1
