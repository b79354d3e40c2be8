"""The kill test in short; `python -m langgraph_reflexion.bench.kill_test` is the long form."""

import sys
from pathlib import Path

import pytest

from langgraph_reflexion.bench.kill_test import KillTest


@pytest.mark.skipif(sys.platform == "win32", reason="nothing is forked there")
def test_a_sweep_that_is_killed_ten_times_loses_and_repeats_nothing(tmp_path: Path) -> None:
    outcome = KillTest(tmp_path, tasks=20, trials=3, concurrency=4, seconds=0.005).run(kills=10)
    assert outcome.violations == []
    assert outcome.kills == 10
    assert outcome.tasks == 20
    assert outcome.kept_trials > 0
