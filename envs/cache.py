"""Databases that are made once, of files that are large, and kept."""

import os
import sqlite3
from pathlib import Path


def cache_folder() -> Path:
    """Where they are kept."""
    root = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(root).expanduser() / "langgraph-reflexion"


def open_kept(file: Path) -> sqlite3.Connection:
    """Open a database that nobody writes to any more; the connection may be used from any thread."""
    return sqlite3.connect(f"{file.resolve().as_uri()}?immutable=1", uri=True, check_same_thread=False)
