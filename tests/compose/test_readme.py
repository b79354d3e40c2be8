"""What the README says on composing runs: the first block in an empty file, and all of them one after another."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"
HEADING = "Put it around your own agent"
OUTCOME = "{'status': 'solved', 'trials': 2, 'best': 2, 'score': 1.0, 'fault': ''}"


@pytest.fixture(scope="module")
def blocks() -> list[str]:
    _, found, section = README.read_text(encoding="utf-8").partition(f"\n## {HEADING}\n")
    assert found, f"README.md has no section {HEADING!r}"
    return re.findall(r"^```python\n(.*?)^```", section.partition("\n## ")[0], re.MULTILINE | re.DOTALL)


def printed(script: str, folder: Path) -> list[str]:
    file = folder / "script.py"
    file.write_text(script, encoding="utf-8")
    # Of the tests' warnings as errors, one is not meant: langgraph-supervisor stands on what LangGraph has moved.
    options = ["-W", "error", "-W", "ignore:create_react_agent has been moved"]
    done = subprocess.run(
        [sys.executable, *options, str(file)], capture_output=True, text=True, cwd=folder, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_first_block_runs_in_an_empty_file(blocks: list[str], tmp_path: Path) -> None:
    assert printed(blocks[0], tmp_path) == [f"2024-02-29 {OUTCOME}"]


def test_the_blocks_run_one_after_another(blocks: list[str], tmp_path: Path) -> None:
    said = printed("\n".join(blocks), tmp_path)
    assert said[:3] == [f"2024-02-29 {OUTCOME}", "2024-02-29", OUTCOME]
    assert "dates 2024-02-29" in said
    assert said[-1] == "supervisor Checked, and passed on."
