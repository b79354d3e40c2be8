"""Learning after the fact outlives kill -9 of a LangGraph server, with lessons in SQLite and in Postgres."""

from pathlib import Path

import pytest

from tests.support.served_support_agent import run


# The client of the server says so each time that the server is killed beneath it.
@pytest.mark.filterwarnings("ignore:Request failed, attempting reconnect:UserWarning")
@pytest.mark.parametrize("postgres", [False, pytest.param(True, marks=pytest.mark.needs("PostgreSQL"))])
def test_a_server_that_is_killed_has_learned_the_same(tmp_path: Path, postgres: bool) -> None:
    pytest.importorskip("langgraph_api", reason="needs the extra [studio]: pip install '.[studio]'")
    assert run(tmp_path, conversations=8, users=4, kills=4, postgres=postgres) == []
