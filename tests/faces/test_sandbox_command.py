"""The `sandbox` command: probes of the backends, and a command in a sandbox."""

import fcntl
import json
import os
import subprocess
import sys
import termios

import pytest

from langgraph_reflexion.envs.sandbox import BACKENDS, probe
from tests.support.cli import call, one_line
from tests.support.sandbox import columns


def test_probes(tmp_path):
    status, out, _ = call(tmp_path, "sandbox", "--json")
    rows = json.loads(out)
    assert status == 0
    assert {name: row["works"] for name, row in rows.items()} == {name: probe(name).works for name in BACKENDS}
    _, text, _ = call(tmp_path, "sandbox")
    assert all(f"{name}: " in text for name in BACKENDS)


@pytest.mark.slow
def test_exec(tmp_path):
    columns.needs("bubblewrap")
    (tmp_path / "old").write_text("old")
    command = ["--workspace", str(tmp_path), "--", "sh", "-c", "cat old > new; exit 7"]
    assert call(tmp_path, "sandbox", "exec", *command)[0] == 7
    assert (tmp_path / "new").read_text() == "old"
    status, _, err = call(tmp_path, "sandbox", "exec", "--wall", "0.3", "--", "sleep", "9")
    assert (status, "timeout" in one_line(err)) == (124, True)


@pytest.mark.parametrize(
    ("option", "value"), [("--wall", "0"), ("--memory", "0"), ("--workspace", ""), ("--backend", "chroot")]
)
def test_invalid_option_prints_one_line(tmp_path, option, value):
    status, _, err = call(tmp_path, "sandbox", "exec", option, value, "--", "true")
    assert (status, option in one_line(err) or value in err) == (2, True)


@pytest.mark.slow
def test_terminal_is_restored():
    columns.needs("bubblewrap")
    ours, theirs = os.openpty()
    flags = fcntl.fcntl(theirs, fcntl.F_GETFL)
    before = termios.tcgetattr(theirs)
    change = "import os, tty; tty.setraw(0); os.set_blocking(0, False)"
    command = [sys.executable, "-m", "langgraph_reflexion", "sandbox", "exec", "--", sys.executable, "-c", change]
    subprocess.run(command, stdin=theirs, check=True)
    assert (termios.tcgetattr(theirs), fcntl.fcntl(theirs, fcntl.F_GETFL)) == (before, flags)
    os.close(ours)
    os.close(theirs)
