"""Tools that some tests need: hidden by `without-tools`, and named when tests are skipped without them."""

import subprocess
import sys
from pathlib import Path

from tests.support.tools import commands

TESTS = Path(__file__).parents[1]
WITHOUT = str(TESTS / "without-tools")


def test_without_tools_hides_exactly_the_listed_tools() -> None:
    asked = [name for names in commands().values() for name in names]
    script = 'for name in "$@"; do command -v "$name" >/dev/null && echo "$name"; done; :'
    done = subprocess.run(
        [WITHOUT, "sh", "-c", script, "sh", *asked, "sh", "git"], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["sh", "git"]


SKIPPED = """
import pytest

@pytest.mark.needs("Chromium")
@pytest.mark.parametrize("number", [1, 2])
def test(number):
    pass
"""


def test_summary_counts_skipped_tests_and_names_the_installer(tmp_path: Path) -> None:
    (tmp_path / "test_skipped.py").write_text(SKIPPED)
    options = ["-c", str(TESTS.parent / "pyproject.toml"), "-p", "tests.conftest", "-p", "no:cacheprovider"]
    shown = subprocess.run(
        [WITHOUT, sys.executable, "-m", "pytest", *options, str(tmp_path)],
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    counts, left_out, how = shown.splitlines()[-3:]
    assert "2 skipped" in counts
    assert left_out == "2 tests were skipped for lack of tools: Chromium 2."
    assert how == "To install these: tests/install-tools (as root; otherwise it lists them)."
