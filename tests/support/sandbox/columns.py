"""The fixtures of the sandbox's tests, and the columns of the table of hostile programs.

A column is `world.py` in one backend, as root or as an ordinary user.
"""

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from langgraph_reflexion.envs.sandbox import Sandbox, probe
from tests.support.tools import need

HERE = Path(__file__).parent


def needs(backend, user=""):
    """Skip if the backend does not work, or root is required and this is not root."""
    if user == "root" and os.geteuid() != 0:
        pytest.skip("needs root")
    if backend == "bubblewrap":
        need(backend)
    elif not (tried := probe(backend)).works:
        pytest.skip(f"{backend} does not work here: {tried.words}")


def make(backend):
    """Return a sandbox without the warning that Landlock is weaker."""
    needs(backend)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Sandbox(backend, allow_degraded=True)


@pytest.fixture(params=["bubblewrap", "landlock"])
def sandbox(request):
    return make(request.param)


@pytest.fixture
def bubblewrap():
    return make("bubblewrap")


def run(user, *arguments):
    """Run `world.py`, and return the JSON that it prints."""
    command = [str(HERE / "world.py"), *arguments]
    if user == "user" and os.geteuid() == 0:
        command = [str(HERE / "as_user.py"), *command]
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
