"""Runs that are killed or interrupted, and resumed; figures and pages of a run."""

import json
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cli import (
    GuessingServer,
    call,
    make_home,
    one_line,
    run_args,
    start,
    timeless,
    wait_for_rows,
)


@pytest.fixture
def server() -> Iterator[GuessingServer]:
    with GuessingServer() as made:
        yield made


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return make_home(tmp_path)


def test_a_killed_run_is_resumed_by_either_command_and_on_another_machine(home: Path, server: GuessingServer) -> None:
    args = run_args(server, "--option", "highest=5", "--max-trials", "4", "--concurrency", "2", "--out")
    assert call(home, *args, "whole")[0] == 0
    asked = len(server.requests)
    server.seconds = 0.1
    process = start(home, *args, "run")
    wait_for_rows(home / "run", 4)
    server.faults = lambda game: "hang"  # from now on calls are in flight until the end
    for command in ([*args, "run"], ["resume", "run"]):
        status, out, err = call(home, *command)
        assert (status, out) == (2, "")
        assert "another process" in one_line(err)
    process.kill()
    process.communicate()
    shutil.copytree(home / "run", home / "elsewhere")
    server.seconds, server.faults = 0.0, lambda game: None
    for command in ([*args, "run"], ["resume", "elsewhere"]):
        before = len(server.requests)
        status, out, err = call(home, *command)
        assert (status, err) == (0, "")
        assert timeless(home / command[-1]) == timeless(home / "whole")
        assert 0 < len(server.requests) - before < asked - 4
    # A finished run has nothing left to do.
    asked = len(server.requests)
    status, out, _ = call(home, "resume", "run", "--json")
    assert (status, json.loads(out)["solved"], len(server.requests)) == (0, [1, 2, 3, 4], asked)
    # More trials: the last failed one gets its reflection first.
    status, out, _ = call(home, "resume", "run", "--max-trials", "5", "--concurrency", "1")
    assert (status, len(server.requests) - asked) == (0, 2)
    reflections = [row["reflection"] for row in timeless(home / "run")]
    assert reflections[-2:] == ["4 was wrong. Next time I will say 5.", None]


def test_an_interrupted_run_says_where_its_rows_are(home: Path, server: GuessingServer) -> None:
    server.seconds = 0.2
    args = run_args(server, "--option", "highest=50", "--max-trials", "5", "--concurrency", "4", "--out", "run")
    process = start(home, *args)
    wait_for_rows(home / "run", 5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    rows = timeless(home / "run")
    assert (process.returncode, out) == (130, "")
    assert f"{len(rows)} finished trials are kept in run" in one_line(err)
    order = [(int(row["task_id"][1:]), row["trial"]) for row in rows]
    assert order == sorted(order)
    assert call(home, "report", "run")[0] == 0
