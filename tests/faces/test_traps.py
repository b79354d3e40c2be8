"""No input, setting, state or run folder makes a server, `report` or `show` touch what it names.

Each field is filled with a path, an option, an address and the name of an object, while an audit hook watches the
process (tests/support/audit.py).
"""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from langgraph_reflexion.lab.experiments.runner import run
from langgraph_reflexion.lab.run_settings import RunSettings
from tests.support.tools import lacking, need

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
EVERY = ["--all"] if os.environ.get("EVERY_TRAP") else []
"""Each field gets one trap, or with EVERY_TRAP=1 one after the other: half an hour (docs/contributing.md)."""


def audited(folder, *words):
    command = [sys.executable, "-m", "tests.support.audit", str(folder), *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_the_audit_sees_what_is_forbidden(tmp_path):
    found = audited(tmp_path / "audit", "control")
    assert {line.partition(":")[0] for line in found["seen"]} == {str(number) for number in range(9)}
    assert len(found["sprung"]) == 2


QUICK, LONG = ("alfworld", "hotpotqa", "workspace"), ("fever", "programming", "webshop")
SANDBOXED = {"workspace", "programming"}


@pytest.fixture(scope="module")
def audits(tmp_path_factory):
    """What was found about graphs, which share a process: starting one takes longer than the cases of a graph."""

    @cache
    def found(graphs):
        possible = [name for name in graphs if name not in SANDBOXED or not lacking("bubblewrap")]
        told = audited(tmp_path_factory.mktemp("audit") / "of", *EVERY, "graph", *possible)
        return dict(zip(possible, told, strict=True))

    return found


@pytest.mark.parametrize("graph", [*QUICK, *(pytest.param(name, marks=pytest.mark.long) for name in LONG)])
def test_a_served_graph_touches_nothing_else(audits, graph):
    if graph in SANDBOXED:
        need("bubblewrap")
    found = audits(QUICK if graph in QUICK else LONG)[graph]
    assert (found["seen"], found["sprung"]) == ([], [])
    assert found["cases"] > 40
    # What is wrong is refused, and what is harmless is done.
    assert found["ended"]["ConfigurationError"] > 10
    assert found["ended"]["ended"] > 10


def test_reading_a_run_folder_touches_nothing_else(tmp_path):
    played = {"environment": "hotpotqa"}
    if EVERY:
        played = {"environment": "alfworld", "memory_map": True}
    run(RunSettings(**played, limit=1, max_trials=2), tmp_path / "run")
    found = audited(tmp_path / "audit", *EVERY, "record", str(tmp_path / "run"))
    assert (found["seen"], found["sprung"]) == ([], [])
    assert found["cases"] > 150
    # Exit statuses: read, or refused with a message.
    assert found["ended"].keys() <= {"None", "2"}
