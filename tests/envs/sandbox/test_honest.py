"""Programs that mean no harm run as they do outside."""

import columns
import pytest
from honest import MAY_BE_MISSING, PROGRAMS


@pytest.mark.parametrize(("backend", "user"), columns.ALL)
def test_honest_programs_are_unharmed(backend, user):
    columns.needs(backend, user)
    rows = columns.run("honest.py", user, backend)
    assert set(rows) == set(PROGRAMS)
    ran = {name: row for name, row in rows.items() if not (name in MAY_BE_MISSING and row.get("missing"))}
    assert len(ran) >= len(PROGRAMS) - len(MAY_BE_MISSING)
    assert {name: row for name, row in ran.items() if (row["status"], row["right"]) != ("ok", True)} == {}
