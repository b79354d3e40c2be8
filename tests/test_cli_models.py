"""What the command line does about the faults of a model server, and about budgets: as real processes."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.cli import KEY, GuessingServer, call, call_here, make_home, one_line, run_args, start, timeless


class Refused(NamedTuple):
    status: int
    out: str
    err: str
    requests: int
    files: list[str]


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Refused]:
    """Runs that cannot start, one beside the other: most of their time is imports."""
    home = make_home(tmp_path_factory.mktemp("home"))
    with ExitStack() as servers:
        well, strict = (servers.enter_context(GuessingServer(key=key)) for key in (None, "sk-another"))
        faulty = {name: servers.enter_context(GuessingServer()) for name in ("unknown-model", "quota", "hang")}
        for name, server in faulty.items():
            server.faults = lambda game, name=name: name
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            nobody = ["--base-url", f"http://127.0.0.1:{closed.getsockname()[1]}/v1"]
            asked = {
                "wrong-key": (strict, []),
                "unknown-model": (faulty["unknown-model"], []),
                "quota": (faulty["quota"], []),
                "hang": (faulty["hang"], ["--timeout", "0.3", "--retries", "1"]),
                "nobody": (well, [*nobody, "--retries", "2"]),
            }
            common = ["--concurrency", "1", "--out"]
            processes = {
                name: start(home, *run_args(server, *args, *common, name), key=KEY)
                for name, (server, args) in asked.items()
            }
            ended = {name: process.communicate(timeout=60) for name, process in processes.items()}
        return {
            name: Refused(
                processes[name].returncode,
                *ended[name],
                len(server.requests),
                sorted(path.name for path in home.glob(f"{name}/*")),
            )
            for name, (server, _) in asked.items()
        }


@pytest.mark.parametrize(
    ("name", "says", "requests"),
    [
        ("wrong-key", "401", 1),
        ("unknown-model", "There is no model 'toy'", 1),
        ("quota", "quota is used up", 1),
        ("hang", "the model has not answered once: ", 1),
        ("nobody", "the model has not answered once: ", 0),
    ],
)
def test_a_run_that_cannot_start_is_one_line_and_leaves_nothing(
    refused: dict[str, Refused], name: str, says: str, requests: int
) -> None:
    ended = refused[name]
    assert (ended.status, ended.out, ended.requests) == (2, "", requests)
    assert says in one_line(ended.err)
    assert "--base-url" in ended.err
    assert set(ended.files) <= {"lock"}


OPTIONS = ("--option", "highest=5", "--max-trials", "3", "--temperature", "0.5", "--price", "toy=1,10")
"""Of all runs below: ten calls' worth of trials, on a server that refuses two of the options."""


class Whole(NamedTuple):
    home: Path
    server: GuessingServer
    rows: list[dict[str, Any]]
    requests: int
    out: str


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    """A run that nothing disturbs, and that fills a cache."""
    home = make_home(tmp_path_factory.mktemp("home"))
    with GuessingServer(refuses=["stop", "temperature"]) as server:
        args = run_args(server, *OPTIONS, "--cache", "answers/kept.db", "--out", "whole", "--concurrency", "1")
        status, out, err = call(home, *args)
        assert (status, err) == (0, "")
        yield Whole(home, server, timeless(home / "whole"), len(server.requests), out)


def line_of(out: str, name: str) -> list[str]:
    """What a table of the report says in the line of that name."""
    [line] = [line for line in out.splitlines() if line.strip().startswith(f"{name}  ")]
    return line.strip().removeprefix(name).split()


def test_options_that_are_refused_are_left_out_and_noted(whole: Whole) -> None:
    for option in ("stop", "temperature"):
        note = f"the server refuses {option}, which is left out"
        assert all(note in row["notes"] for row in whole.rows)
        assert line_of(whole.out, note) == [str(len(whole.rows))]
        assert sum(option in request.body for request in whole.server.requests[: whole.requests]) in (1, 2)


def test_a_price_gives_a_cost(whole: Whole) -> None:
    calls = sum(row["llm_calls"] for row in whole.rows)
    assert sum(row["cost"] for row in whole.rows) == pytest.approx(calls * (100 * 1 + 5 * 10) / 1e6)
    assert line_of(whole.out, "cost") == [f"{calls * 150 / 1e6:.4f}"]
    assert whole.requests == calls + 2


def test_what_is_in_the_cache_is_not_asked_again(whole: Whole) -> None:
    before = len(whole.server.requests)
    args = run_args(whole.server, *OPTIONS, "--cache", "answers/kept.db", "--out", "again")
    status, out, err = call(whole.home, *args)
    assert (status, err) == (0, "")
    assert len(whole.server.requests) == before
    calls = sum(row["llm_calls"] for row in whole.rows)
    assert line_of(out, "calls out of the cache") == [str(calls)]
    assert line_of(out, "model calls") == ["0"]
    again = timeless(whole.home / "again")
    assert [(row["task_id"], row["trial"], row["reflection"]) for row in again] == [
        (row["task_id"], row["trial"], row["reflection"]) for row in whole.rows
    ]


def test_faults_of_single_tasks_stay_theirs_and_are_tried_again(whole: Whole) -> None:
    home, server = whole.home, whole.server
    asked: list[str] = []

    def faults(game: str) -> str | None:
        asked.append(game)
        if game == "3" and asked.count("3") == 1:
            return "429-retry-after:0.2"
        return {"2": "500", "4": "context"}.get(game)

    server.faults = faults
    status, out, err = call(home, *run_args(server, *OPTIONS, "--out", "run", "--concurrency", "1", "--retries", "2"))
    server.faults = {}.get
    assert (status, err) == (1, "")
    assert "2 solved, 1 failed, 2 fault in " in out
    assert line_of(out, "faults") == ["2"]
    assert asked.count("2") == 2
    faulty = {row["task_id"]: row for row in timeless(home / "run") if row["fault"]}
    assert sorted(faulty) == ["g2", "g4"]
    assert "Error code: 500" in faulty["g2"]["fault"]
    assert faulty["g4"]["fault"].startswith("the prompt is too long for the model's context")
    assert all((row["verdict"], row["actions"]) == (None, 0) for row in faulty.values())

    status, out, err = call(home, "resume", "run")
    assert (status, err) == (0, "")
    assert timeless(home / "run") == whole.rows
    assert line_of(out, "faults") == ["0"]


def test_a_reflection_without_an_answer_is_a_fault_of_its_task(whole: Whole) -> None:
    home, server = whole.home, whole.server
    asked: list[str] = []

    def faults(game: str) -> str | None:
        asked.append(game)
        return "500" if game == "2" and asked.count("2") > 1 else None

    server.faults = faults
    args = run_args(server, *OPTIONS, "--out", "unreflected", "--concurrency", "1", "--retries", "1")
    status, out, err = call(home, *args)
    server.faults = {}.get
    assert (status, err) == (1, "")
    # The model had answered, and it is the same model that reflects.
    assert "2 solved, 2 failed, 1 fault in " in out


def test_a_budget_ends_the_run_and_is_lifted(whole: Whole) -> None:
    home, server = whole.home, whole.server
    before = len(server.requests)
    args = run_args(server, *OPTIONS, "--out", "short", "--concurrency", "1", "--budget", "run.llm_calls=4")
    status, out, err = call(home, *args)
    assert (status, err) == (1, "")
    assert "budget in " in out
    assert len(server.requests) - before == 4 + 2
    rows = timeless(home / "short")
    assert sum(row["llm_calls"] for row in rows) == 4

    status, out, err = call(home, "resume", "short", "--budget", "run.llm_calls=none")
    assert (status, err) == (0, "")
    assert timeless(home / "short") == whole.rows


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--budget", "run.tokens"], "--budget 'run.tokens': write it as SCOPE.WHAT=NUMBER"),
        (["--budget", "week.tokens=5"], "the option --budget week: input should be 'trial', 'task' or 'run'"),
        (["--budget", "run.money=5"], "actions, llm_calls, tokens, cost, seconds"),
        (["--budget", "run.tokens=many"], "the option --budget run.tokens: input should be a valid integer"),
        (["--budget", "run.tokens=1.5"], "the option --budget run.tokens: input should be a valid integer"),
        (["--budget", "run.tokens=-5"], "should be greater than 0, not '-5'"),
        (["--budget", "trial.actions=0"], "should be greater than 0"),
        (["--budget", "task.seconds=nan"], "should be a finite number"),
        (["--budget", "run.cost=1"], "price"),
        (["--price", "toy"], "write it as"),
        (["--price", "=1,2"], "write it as"),
        (["--price", "toy=1"], "write it as INPUT,OUTPUT"),
        (["--price", "toy=cheap,dear"], "write it as INPUT,OUTPUT"),
        (["--price", "toy=-1,2"], "no price is negative"),
        (["--price", "toy=1,2,-3"], "no price is negative"),
        (["--price", "toy=nan,2"], "price"),
        (["--temperature", "-1"], "--temperature"),
        (["--temperature", "hot"], "--temperature"),
        (["--timeout", "0"], "--timeout"),
        (["--retries", "0"], "--retries"),
        (["--cache", "toys"], "cannot keep model answers in toys"),
        (["--cache", "toys/guessing.py"], "cannot keep model answers in toys/guessing.py"),
        (["--cache", "toys/guessing.py/kept.db"], "cannot keep model answers in toys/guessing.py/kept.db"),
    ],
)
def test_wrong_use_is_one_line_and_asks_nobody(
    tmp_path: Path,
    args: list[str],
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    home = make_home(tmp_path)
    with GuessingServer() as server:
        status, out, err = call_here(home, run_args(server, *args), monkeypatch, capsys)
        assert server.requests == []
    assert (status, out) == (2, "")
    assert says in one_line(err)
    assert not (home / "runs").exists()
