"""Runs a script of this folder in a column of the table: in one backend, as root or as an ordinary user."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from probes import COLUMNS

from langgraph_reflexion.envs.sandbox import probe
from tests.tools import need

HERE = Path(__file__).parent

USUAL = "bubblewrap", "user"
ALL = [pytest.param(*each, marks=[] if each == USUAL else [pytest.mark.long]) for each in COLUMNS]
"""All columns; those that are not the usual one are for the long tests."""


def needs(backend: str, user: str = "") -> None:
    """Skip where the backend does not work, or where this is not root and root is asked for."""
    if user == "root" and os.geteuid() != 0:
        pytest.skip("needs root")
    if backend == "bubblewrap":
        need(backend)
    elif not (tried := probe(backend)).works:
        pytest.skip(f"{backend} does not work here: {tried.words}")


def run(script: str, user: str, *arguments: str) -> dict:
    """What a script prints as JSON."""
    command = [str(HERE / script), *arguments]
    if user == "user" and os.geteuid() == 0:
        command = [str(HERE / "as_user.py"), *command]
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
