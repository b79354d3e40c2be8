"""The logs of the original repository, known by what they hold wherever they lie."""

import hashlib
import tomllib
from functools import cache
from pathlib import Path

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.replication.env_results import NAME
from langgraph_reflexion.replication.logged import Listed
from langgraph_reflexion.replication.text import read_bytes


@cache
def originals() -> dict[str, Listed]:
    """The logs of the original repository by their digests."""
    tables = tomllib.loads(Path(__file__).with_name("originals.toml").read_text(encoding="utf-8"))
    listed = [{"path": f"{folder}/{log}", **run} for folder, logs in tables.items() for log, run in logs.items()]
    return {run.pop("sha256"): run for run in listed}


def digest(log: Path) -> str:
    """Return the SHA-256 of a log, or "" where it cannot be read.

    Lines end in a line feed, as a checkout may have ended them otherwise. A folder's is that of the names and digests
    of its trials.
    """
    if log.is_dir():
        trials = sorted(path for path in log.iterdir() if NAME.fullmatch(path.name) and path.is_file())
        content = "".join(f"{path.name} {digest(path)}\n" for path in trials).encode()
    else:
        try:
            content = read_bytes(log).replace(b"\r\n", b"\n")
        except ConfigurationError:
            return ""
    return hashlib.sha256(content).hexdigest()
