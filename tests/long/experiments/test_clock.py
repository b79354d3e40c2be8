"""A run continues on a machine whose clock is behind the one that wrote its checkpoints."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.loop.experiments.test_resume import SETTINGS, drive_all, think_first, timeless

ROOT = Path(__file__).parent.parent.parent.parent

PROGRAM = """
import sys, time
from pathlib import Path
now = time.time_ns
time.time_ns = lambda: now() + 3 * 3600 * 10**9
from tests.loop.experiments.test_resume import SETTINGS, Interrupted, RefusedError, drive_all
drive_all(Path(sys.argv[1]), Interrupted(5, RefusedError("no")), checkpoints=sys.argv[2], **SETTINGS)
"""


@pytest.mark.parametrize("checkpoints", ["latest", "history"])
def test_a_run_begun_with_a_clock_ahead_continues(checkpoints: str, tmp_path: Path) -> None:
    drive_all(tmp_path / "whole", think_first, **SETTINGS)
    folder = tmp_path / "run"
    program = [sys.executable, "-c", PROGRAM, str(folder), checkpoints]
    begun = subprocess.run(program, cwd=ROOT, capture_output=True, text=True)
    assert "ModelFault" in begun.stderr
    drive_all(folder, think_first, checkpoints=checkpoints, **SETTINGS)
    assert timeless(folder) == timeless(tmp_path / "whole")
