"""The benchmark of grading measures what it says."""

import json
import subprocess
import sys

import pytest


@pytest.mark.long
@pytest.mark.needs("bubblewrap")
def test_it_prints_its_figures():
    command = [sys.executable, "-m", "langgraph_reflexion.bench.grading_speed", "--seconds", "1.5", "--json"]
    row = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert row["calls_per_second"] > 1
    assert row["checks_per_second"] > 1
    # Far from the figure, so that other work on the machine does not fail it; a compilation for each test would.
    assert row.get("rust_over_rustc", 1) < 4
