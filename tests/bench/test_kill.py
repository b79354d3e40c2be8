"""The kill test in short; `python -m langgraph_reflexion.bench.kill_test` is the long form."""

import multiprocessing
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from langgraph_reflexion.bench.demo_server import Request, served
from langgraph_reflexion.bench.kill_test import KillTest
from langgraph_reflexion.bench.postgres import postgres_server
from langgraph_reflexion.bench.requests import check_requests, tasks_by_seed
from langgraph_reflexion.models.calls import Call


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="nothing is forked there")
def test_a_sweep_that_is_killed_ten_times_loses_and_repeats_nothing(tmp_path: Path) -> None:
    outcome = KillTest(tmp_path, tasks=20, trials=3, concurrency=4, seconds=0.005).run(kills=10)
    assert outcome.violations == []
    assert outcome.kills == 10
    assert outcome.tasks == 20
    assert outcome.kept_trials > 0


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="nothing is forked there")
def test_a_sweep_that_does_not_even_run_in_peace_is_told_of(tmp_path: Path) -> None:
    outcome = KillTest(tmp_path, tasks=1, trials=1, more=["--checkpoints", "none"]).run(kills=1)
    assert len(outcome.violations) == 1
    assert "peace ended with status 2" in outcome.violations[0]
    assert "choose one of history, latest" in outcome.violations[0]


@pytest.mark.skipif(sys.platform == "win32", reason="nothing is forked there")
def test_a_server_that_ends_before_it_has_begun_is_not_waited_for() -> None:
    with pytest.raises(EOFError), served(multiprocessing.get_context("forkserver"), bool):
        raise AssertionError


@pytest.mark.long
@pytest.mark.needs("PostgreSQL")
@pytest.mark.skipif(
    find_spec("psycopg") is None, reason="needs the extra: pip install 'langgraph-reflexion[postgres]'"
)
def test_the_same_with_checkpoints_in_postgres(tmp_path: Path) -> None:
    with postgres_server() as database:
        sweep = KillTest(tmp_path, tasks=20, trials=2, concurrency=4, seconds=0.005, more=["--database", database])
        outcome = sweep.run(kills=3)
    assert outcome.violations == []
    assert outcome.kills == 3


SEEDS = tasks_by_seed(["a", "b", "c"], 2)


def asked(life: str, calls: str) -> list[Request]:
    """Requests of one process: `a1` is the task a's first call."""
    return [Request(life, Call(0, call[0], 1, f"act {call[1]}").seed(), call) for call in calls.split()]


@pytest.mark.parametrize(
    ("lives", "repeated", "says"),
    [
        (["a1 b1 a2", "a3 b2"], 0, []),
        (["a1 b1 a2", "b1 a2 a3 b2", "b2 a3"], 4, []),
        (["a1 b1 a2", "a1 a2 a3 b2"], 2, ["2 requests of a repeated"]),
        (["a1 b1 a2 a3 a3 b2"], 0, ["the same request of a 2 times"]),
        (["a1 b1 a2 a3"], 0, ["0 new requests, 1 missing"]),
        (["a1 b1 a2 a3 b2", "c1"], 0, ["1 new requests, 0 missing"]),
    ],
)
def test_requests_are_held_against_those_in_peace(lives: list[str], repeated: int, says: list[str]) -> None:
    requests = [request for number, calls in enumerate(lives) for request in asked(f"life {number}", calls)]
    check = check_requests(requests, asked("peace", "a1 a2 a3 b1 b2"), SEEDS, 2)
    assert check.repeated == repeated
    assert len(check.violations) == len(says)
    assert all(said in violation for said, violation in zip(says, check.violations, strict=True))


def test_more_tasks_than_are_in_flight_and_calls_without_a_seed_are_seen() -> None:
    peace = asked("peace", "a1 b1")
    check = check_requests([*asked("1", "a1 b1"), *asked("2", "a1 b1")], peace, SEEDS, 1)
    assert check.violations == ["2: requests of 2 tasks repeated after one kill"]
    unseeded = [Request("1", None, "a1")]
    assert check_requests(unseeded, unseeded, SEEDS, 1).violations == ["1: the seed None is no call's"]
