"""The measurement itself, small: that it does a real run, counts what it says, and comes near the ideal."""

import json
import os
import subprocess
import sys

import pytest
from langsmith.run_helpers import tracing_context
from langsmith.utils import tracing_is_enabled

from langgraph_reflexion.experiments.provenance import tracing_if_requested


@pytest.mark.long
def test_a_small_measurement_has_every_column():
    command = [sys.executable, "-m", "tests.performance.throughput", "--json", "--repeats", "1"]
    small = ["--case", "8x2", "--steps", "3", "--latency", "0.1"]
    done = subprocess.run([*command, *small], capture_output=True, text=True, timeout=110, env=os.environ)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    measured = json.loads(done.stdout)
    assert list(measured) == ["8x2"]
    case = measured["8x2"]
    for way in (case["run"], case["bare"]):
        # Nothing is faster than the model; how much slower depends on what else the machine does.
        assert 1 < way["task"] < 20
    assert case["ratio"] == pytest.approx(case["run"]["whole"] / case["bare"]["whole"])


def test_tracing_is_off_unless_it_was_asked_for(caplog):
    with tracing_if_requested(), tracing_context(parent=None):
        assert tracing_is_enabled() is False
    assert caplog.messages == []
    with tracing_context(enabled=True), tracing_if_requested():
        assert tracing_is_enabled() is True
    assert "LANGSMITH_TRACING=false" in caplog.text
