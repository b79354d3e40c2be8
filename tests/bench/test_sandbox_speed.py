"""The benchmark of the sandbox measures what it says."""

import json
import subprocess
import sys

import pytest


@pytest.mark.long
@pytest.mark.needs("bubblewrap")
def test_it_prints_its_ratios():
    command = [sys.executable, "-m", "langgraph_reflexion.bench.sandbox_speed", "--seconds", "3", "--json"]
    row = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert row["backend"] == "bubblewrap"
    # Far from the figures, so that other work on the machine does not fail it.
    assert 1 < row["cold_over_plain"] < 6
    assert row["warm_over_cold"] > 1.5
