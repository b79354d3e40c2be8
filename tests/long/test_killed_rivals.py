"""A rival that is killed, by hand and of this project: where it begins again."""

import pytest

from benchmarks.rivals.faults import killed, whole


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("retry-loop", "with its very first call"),
        ("this-feedback", "with the call that was lost"),
        ("this-reflexion", "with the call that was lost"),
        ("this-continue", "with the call that was lost"),
    ],
)
def test_a_killed_rival_begins_again(name, begins, tmp_path):
    row = killed(name, tmp_path)
    assert (row["began_again"], row["ended"], row["solved"]) == (begins, "returned", True)


def test_a_bug_in_the_check_is_raised(tmp_path):
    row = whole("this-reflexion", tmp_path, bug=True)
    assert row["ended"].startswith("KeyError: ")
    assert row["checks"] == 1
