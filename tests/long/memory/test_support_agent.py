"""Learning after the fact outlives kill -9: the same lessons, numbers and users as without."""

from pathlib import Path

from tests.support.support_agent import run


def test_a_support_agent_that_is_killed_has_learned_the_same(tmp_path: Path) -> None:
    assert run(tmp_path, conversations=24, users=4, kills=6) == []
