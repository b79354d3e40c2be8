"""Whoever composes keeps what was done: the caller's checkpointer goes on in mid-trial after a SIGKILL."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.compositions import WAYS

ROOT = Path(__file__).parents[2]
TRIAL = ["guess", "guess", "verify"]
HEARD = {"as_tool", "supervisor", "deep"}
"""The ways in which the caller says what it heard."""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    if not hasattr(os, "fork"):
        pytest.skip("needs processes that can be forked")
    command = [sys.executable, "-m", "tests.support.killed_compositions", str(tmp_path_factory.mktemp("killed"))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize("way", WAYS)
def test_killed_twice_it_goes_on_and_repeats_the_node_in_flight_alone(way: str, told: dict[str, Any]) -> None:
    exits, called, answer = (told[way][key] for key in ("exits", "called", "answer"))
    assert exits == [-signal.SIGKILL, -signal.SIGKILL, 0]
    assert answer == ("I heard: It is 3." if way in HEARD else "It is 3.")
    before = {"node": ["ask"], "subgraph": [], "middleware": []}.get(way, ["caller"])
    after = ["caller"] if way in HEARD else []
    # The middleware's verdict and its reflection are one node.
    again = ["verify", "reflect"] if way == "middleware" else ["reflect"]
    killed = ["guess", "guess", "guess", "verify", "reflect", *again]
    assert called == [*before, *TRIAL, "reflect", *killed, *TRIAL, *after]
