"""Runs whose driver or workers are killed with SIGKILL record the same as the reference run, each trial once.

`KILLS=100` and `ROUNDS=5` in the environment kill more often.
"""

import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import pytest

from langgraph_reflexion.checkpoints import open_checkpointer
from langgraph_reflexion.errors import ConfigurationError
from tests.loop.experiments.test_errors import count_and_resume
from tests.support.cli import KEY, GuessingServer, make_home, start
from tests.support.driver_kills import DriverKills
from tests.support.postgres_server import postgres_server
from tests.support.ray_cluster import ray_cluster
from tests.support.worker_kills import WorkerKills

KILLS = int(os.environ.get("KILLS", "0"))
ROUNDS = int(os.environ.get("ROUNDS", "1"))
PASSWORD = "pa55word/with+more"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks processes, and finds them in /proc")
needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra ray")
needs_postgres = pytest.mark.skipif(find_spec("psycopg") is None, reason="needs the extra postgres")


@pytest.fixture(scope="module")
def cluster() -> Iterator[tuple[tuple[str, ...], dict[str, str]]]:
    """A cluster of one machine: the options of a run on it, and its environment."""
    secrets = {"PGPASSWORD": PASSWORD, "OPENAI_API_KEY": KEY}
    with postgres_server(PASSWORD) as database, ray_cluster(2, secrets) as (address, environment):
        yield ("--ray-address", address, "--database", database), environment | {"OPENAI_API_KEY": KEY}


@pytest.mark.parametrize(
    ("kills", "tasks", "more"),
    [(4, 8, ()), (2, 6, ("--checkpoints", "history"))],
    ids=["latest", "history"],
)
def test_a_driver_that_is_killed_loses_and_repeats_nothing(
    tmp_path: Path, kills: int, tasks: int, more: tuple[str, ...]
) -> None:
    kills = KILLS or kills
    outcome = DriverKills(tmp_path, tasks=tasks, more=more).run(kills)
    assert outcome.violations == []
    assert outcome.kills == kills
    assert sum(outcome.kept) > 0


@needs_ray
@needs_postgres
@pytest.mark.needs("PostgreSQL")
def test_a_driver_that_is_killed_loses_nothing_with_workers_and_postgres(tmp_path: Path) -> None:
    with postgres_server() as database:
        more = ("--workers", "2", "--database", database, "--checkpoints", "history")
        outcome = DriverKills(tmp_path, tasks=6, more=more).run(KILLS or 1)
    assert outcome.violations == []


@needs_ray
def test_workers_that_are_killed_lose_and_repeat_nothing(tmp_path: Path) -> None:
    outcome = WorkerKills(tmp_path).run(ROUNDS)
    assert outcome.violations == []
    assert outcome.kills == ROUNDS


@needs_ray
@needs_postgres
@pytest.mark.needs("PostgreSQL")
def test_workers_of_a_cluster_that_are_killed_lose_nothing_and_ray_sees_no_secret(
    tmp_path: Path, cluster: tuple[tuple[str, ...], dict[str, str]]
) -> None:
    more, environment = cluster
    outcome = WorkerKills(tmp_path, more, environment).run(ROUNDS)
    assert outcome.violations == []
    assert outcome.kills == ROUNDS
    # Logs, object store, and whatever else Ray keeps.
    written = [path for path in Path(environment["RAY_TMPDIR"]).rglob("*") if path.is_file()]
    assert len(written) > 10
    for secret in (KEY, PASSWORD, quote(PASSWORD, safe="")):
        assert [path for path in written if secret.encode() in path.read_bytes()] == []


@needs_ray
@needs_postgres
@pytest.mark.needs("PostgreSQL")
def test_a_bug_in_a_worker_of_a_cluster_ends_one_task(
    tmp_path: Path, cluster: tuple[tuple[str, ...], dict[str, str]]
) -> None:
    more, environment = cluster

    def call(home: Path, *args: str, key: str | None = None) -> tuple[int, str, str]:
        # Ray reads how a cluster lets it in once for each process.
        process = start(home, *args, key=key, environment=environment)
        out, err = process.communicate()
        return process.returncode, out, err

    with GuessingServer() as server:
        count_and_resume(make_home(tmp_path), server, "--workers", "2", *more, call=call)


@needs_postgres
async def test_a_database_that_is_not_there_is_a_clear_error() -> None:
    with pytest.raises(ConfigurationError, match="cannot be reached"):
        async with open_checkpointer("latest", "postgresql://nobody@127.0.0.1:9/none"):
            pass
