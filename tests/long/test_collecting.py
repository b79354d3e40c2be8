"""Collecting tests does no work: it starts and connects nothing, writes nothing, and builds no environment."""

import json
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]


def test_no_test_module_does_work_at_import(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "", str(TESTS)]
    command += ["-p", "tests.support.collected", "-p", "no:cacheprovider"]
    command += ["--collected", str(tmp_path / "collected.json")]
    done = subprocess.run(command, cwd=TESTS.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert json.loads((tmp_path / "collected.json").read_text()) == {"done": [], "environments": []}
