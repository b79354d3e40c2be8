"""Runs whose driver or workers are killed with SIGKILL record the same as the reference run, each trial once.

`KILLS=100` in the environment kills the driver more often.
"""

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import pytest

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.support.checkpoints import open_checkpointer
from tests.support.cli import KEY
from tests.support.kills import Kills
from tests.support.postgres_server import postgres_server
from tests.support.ray_cluster import ray_cluster

KILLS = int(os.environ.get("KILLS", "0"))
PASSWORD = "pa55word/with+more"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc")
needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra ray")
needs_postgres = pytest.mark.needs("PostgreSQL")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The run that nobody kills."""
    run = Kills(tmp_path_factory.mktemp("whole"))
    run.run()
    return run


@pytest.fixture(scope="module")
def cluster():
    """A cluster of one machine: the options of a run on it, and its environment."""
    pytest.importorskip("psycopg", reason="needs the extra postgres")
    secrets = {"PGPASSWORD": PASSWORD, "OPENAI_API_KEY": KEY}
    with postgres_server(PASSWORD) as database, ray_cluster(2, secrets) as (address, environment):
        yield ("--ray-address", address, "--database", database), environment | {"OPENAI_API_KEY": KEY}


@pytest.mark.parametrize(("kills", "more"), [(2, ()), (1, ("--checkpoints", "history"))], ids=["latest", "history"])
def test_killed_driver_loses_and_repeats_nothing(tmp_path, whole, kills, more):
    Kills(tmp_path, *more, reference=whole).kill_drivers(KILLS or kills)


@needs_ray
def test_killed_worker_and_driver_lose_and_repeat_nothing(tmp_path, whole):
    Kills(tmp_path, "--workers", "2", reference=whole).kill_worker_and_drivers(KILLS or 1)


@needs_ray
@needs_postgres
def test_killed_worker_and_driver_of_a_cluster_lose_nothing_and_ray_sees_no_secret(tmp_path, whole, cluster):
    more, environment = cluster
    more = ("--workers", "2", "--checkpoints", "history", *more)
    Kills(tmp_path, *more, reference=whole, environment=environment).kill_worker_and_drivers(KILLS or 1)
    # Logs, object store, and other files of Ray.
    written = [path for path in Path(environment["RAY_TMPDIR"]).rglob("*") if path.is_file()]
    assert len(written) > 10
    for secret in (KEY, PASSWORD, quote(PASSWORD, safe="")):
        assert [path for path in written if secret.encode() in path.read_bytes()] == []


async def test_missing_database_is_a_clear_error():
    pytest.importorskip("psycopg", reason="needs the extra postgres")
    with pytest.raises(ConfigurationError, match="cannot be reached"):
        async with open_checkpointer("latest", "postgresql://nobody@127.0.0.1:9/none"):
            pass
