"""Workers as Ray's actors: the same record as one process's, whoever dies.

Five rounds are `RAY_ROUNDS=5 pytest tests/bench/test_ray.py`, or the command that `bench/worker_kills.py` names.
"""

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import pytest

from langgraph_reflexion.bench.postgres import postgres_server
from langgraph_reflexion.bench.ray_cluster import ray_cluster
from langgraph_reflexion.bench.worker_kills import WorkerKills
from tests.cli import KEY

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra: pip install 'langgraph-reflexion[ray]'"),
    pytest.mark.skipif(
        find_spec("psycopg") is None, reason="needs the extra: pip install 'langgraph-reflexion[ray]'"
    ),
    pytest.mark.needs("PostgreSQL"),
    pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="finds workers in /proc, as Linux has it"),
]


PASSWORD = "pa55word/with+more"


@pytest.fixture(scope="module")
def cluster() -> Iterator[tuple[str, dict[str, str]]]:
    secrets = {"PGPASSWORD": PASSWORD, "OPENAI_API_KEY": KEY}
    with postgres_server(PASSWORD) as database, ray_cluster(2, secrets) as environment:
        yield database, environment | {"OPENAI_API_KEY": KEY}


def test_a_cluster_that_does_not_start_says_why() -> None:
    with (
        pytest.raises(RuntimeError, match=r"Ray does not start: (.|\n)*nowhere"),
        ray_cluster(1, {"PYTHONHOME": "/nowhere"}),
    ):
        raise AssertionError


def test_workers_that_are_killed_lose_and_repeat_nothing(tmp_path: Path, cluster: tuple[str, dict[str, str]]) -> None:
    database, environment = cluster
    rounds = int(os.environ.get("RAY_ROUNDS", "2"))
    more = ["--engine", "ray", "--database", database]
    sweeps = WorkerKills(tmp_path, tasks=8, trials=2, concurrency=6, more=more, environment=environment)
    outcome = sweeps.run(rounds)
    assert outcome.violations == []
    assert outcome.kills == rounds
    # Ray has seen neither the key nor the password: logs, object store, and what else it keeps.
    written = [path for path in Path(environment["RAY_TMPDIR"]).rglob("*") if path.is_file()]
    assert len(written) > 10
    for secret in (KEY, PASSWORD, quote(PASSWORD, safe="")):
        assert [path for path in written if secret.encode() in path.read_bytes()] == []
