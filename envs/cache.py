"""The cache of databases that are built from large files."""

import os
import sqlite3
from pathlib import Path


def cache_folder() -> Path:
    """Return the cache folder."""
    root = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(root).expanduser() / "langgraph-reflexion"


def open_kept(file: Path) -> sqlite3.Connection:
    """Open a complete database, read-only; the connection may be used from any thread."""
    return sqlite3.connect(f"{file.resolve().as_uri()}?immutable=1", uri=True, check_same_thread=False)
