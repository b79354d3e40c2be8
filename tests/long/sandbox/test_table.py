import platform

import pytest

from tests.support.sandbox import columns
from tests.support.sandbox.probes import COLUMNS, HONEST, HOSTILE, MAY_BE_MISSING, contained


@pytest.mark.parametrize(("backend", "user"), COLUMNS)
def test_outcomes_equal_the_table(backend, user, tmp_path, monkeypatch):
    columns.needs(backend, user)
    monkeypatch.setenv("HOME", str(tmp_path))
    rows = columns.run(user, backend)
    wrong = {}
    for hostile in HOSTILE:
        if hostile.needs and platform.machine() not in hostile.needs:
            continue
        row = rows[hostile.name]
        if "fault" in row or row["through"] == contained(hostile, backend, user):
            wrong[hostile.name] = row
    assert not wrong


def test_programs_get_through_on_the_bare_host():
    # This shows that each attack works.
    columns.needs("unsafe-bare-host")
    rows = columns.run("user", "unsafe-bare-host")
    assert len(rows) > 15
    assert {name: row for name, row in rows.items() if not row.get("through")} == {}


@pytest.mark.parametrize(("backend", "user"), [("bubblewrap", "user"), ("landlock", "root")])
def test_honest_programs_run(backend, user):
    columns.needs(backend, user)
    rows = columns.run(user, backend, "honest")
    ran = {name: row for name, row in rows.items() if not (name in MAY_BE_MISSING and row.get("missing"))}
    assert len(ran) >= len(HONEST) - len(MAY_BE_MISSING)
    assert {name: row for name, row in ran.items() if (row["status"], row["right"]) != ("ok", True)} == {}
