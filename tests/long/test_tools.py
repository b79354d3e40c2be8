"""The tools that some tests need: hidden, listed, and named where tests are skipped without them."""

import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.tools import TABLE, commands

TESTS = Path(__file__).parents[1]
WITHOUT = str(TESTS / "without-tools")


def test_they_are_hidden_and_nothing_else_is() -> None:
    asked = [name for names in commands().values() for name in names]
    script = 'for name in "$@"; do command -v "$name" >/dev/null && echo "$name"; done; :'
    done = subprocess.run(
        [WITHOUT, "sh", "-c", script, "sh", *asked, "sh", "git"], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["sh", "git"]


def test_the_exit_status_is_the_commands() -> None:
    assert subprocess.run([WITHOUT, "sh", "-c", "exit 7"]).returncode == 7


def test_without_apt_the_missing_packages_are_listed(tmp_path: Path) -> None:
    for name in ("bash", "dirname", "env", "grep", "id"):
        (tmp_path / name).symlink_to(shutil.which(name) or name)
    (tmp_path / "bwrap").symlink_to("/bin/true")
    listed = subprocess.run(
        [str(TESTS / "install-tools")], env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=True
    ).stdout
    packages = [name for line in TABLE.read_text().splitlines()[2:] for name in line.split("|")[2].split()]
    assert "bubblewrap" in packages
    debian = [name for name in packages if ":" not in name and name != "bubblewrap"]
    npm = [name.removeprefix("npm:") for name in packages if name.startswith("npm:")]
    assert listed.splitlines() == [
        "Missing; as root, run:",
        f"  apt-get install {' '.join(debian)}",
        f"  npm install --global {' '.join(npm)}",
    ]


def test_a_run_says_at_its_end_what_was_skipped_and_what_installs_it() -> None:
    chosen = ["tests/long/experiments/test_page.py", "-m", "", "-k", "hostile or opens_in", "-p", "no:cacheprovider"]
    shown = subprocess.run(
        [WITHOUT, sys.executable, "-m", "pytest", *chosen],
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    counts, left_out, how = shown.splitlines()[-3:]
    assert "3 skipped" in counts
    assert left_out == "3 tests were skipped for lack of tools: Chromium 3."
    assert how == "To install these: tests/install-tools (as root; otherwise it lists them)."
