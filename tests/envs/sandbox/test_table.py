"""Every hostile program, by backend, as root and as an ordinary user: any difference from the table fails."""

import platform
from pathlib import Path

import columns
import pytest
from probes import HOSTILE, contained, table

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(("backend", "user"), columns.ALL)
def test_the_outcome_is_the_tables(backend, user, tmp_path, monkeypatch):
    columns.needs(backend, user)
    monkeypatch.setenv("HOME", str(tmp_path))
    rows = columns.run("world.py", user, backend)
    wrong = {}
    for hostile in HOSTILE:
        if hostile.needs and platform.machine() not in hostile.needs:
            continue
        row = rows[hostile.name]
        if "fault" in row or row["through"] == contained(hostile, backend, user):
            wrong[hostile.name] = row
    assert not wrong


@pytest.mark.long
def test_on_the_bare_host_they_get_through_so_that_the_programs_are_known_to_try():
    columns.needs("unsafe-bare-host")
    rows = columns.run("world.py", "user", "unsafe-bare-host")
    assert len(rows) > 15
    assert {name: row for name, row in rows.items() if not row.get("through")} == {}


def test_on_the_default_backend_everything_is_contained():
    assert all(contained(hostile, "bubblewrap", user) for hostile in HOSTILE for user in ("root", "user"))
    assert len([hostile for hostile in HOSTILE if hostile.more]) >= 10
    assert len({hostile.name for hostile in HOSTILE}) == len(HOSTILE) > 40


def test_the_documentation_has_this_table():
    assert table() in (ROOT / "docs" / "sandbox.md").read_text(encoding="utf-8")
    security = (ROOT / "docs" / "howto" / "security.md").read_text(encoding="utf-8")
    assert "the hostile programs listed in [The sandbox](../sandbox.md#who-contains-what)" in security
