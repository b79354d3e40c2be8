"""The benchmarks of the sandbox and of grading run, with plausible ratios."""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.needs("bubblewrap")


def measure(module: str, seconds: str) -> dict:
    command = [sys.executable, "-m", f"tests.performance.{module}", "--seconds", seconds, "--json"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def test_sandbox_speed():
    row = measure("sandbox_speed", "3")
    assert row["backend"] == "bubblewrap"
    # Generous, for a busy machine.
    assert 1 < row["cold_over_plain"] < 6
    assert row["warm_over_cold"] > 1.5


def test_grading_speed():
    row = measure("grading_speed", "1.5")
    assert row["calls_per_second"] > 1
    assert row["checks_per_second"] > 1
    # One compilation per test would exceed this.
    assert row.get("rust_over_rustc", 1) < 4
