"""The `sandbox` command: probes of the backends, and a command in a sandbox."""

import json

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


def test_exec(tmp_path):
    columns.needs("bubblewrap")
    (tmp_path / "old").write_text("old")
    command = ["--workspace", str(tmp_path), "--", "sh", "-c", "cat old > new; exit 7"]
    assert call(tmp_path, "sandbox", "exec", *command)[0] == 7
    assert (tmp_path / "new").read_text() == "old"
    status, _, err = call(tmp_path, "sandbox", "exec", "--wall", "0.3", "--", "sleep", "9")
    assert (status, "timeout" in one_line(err)) == (124, True)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--wall", "0"], "--wall"),
        (["--memory", "0"], "--memory"),
        (["--workspace", ""], "--workspace"),
        (["--backend", "chroot"], "chroot"),
    ],
)
def test_invalid_option_prints_one_line(tmp_path, options, word):
    status, _, err = call(tmp_path, "sandbox", "exec", *options, "--", "true")
    assert status == 2
    assert word in one_line(err)
