"""The command line in this process, with a real model server on loopback."""

import io
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

import pytest

from langgraph_reflexion.cli import main
from tests.support.cli import ENV, KEY, GuessingServer, call, make_home, one_line, run_args, timeless
from tests.support.run_folders import folder, row

OPTIONS = ("--option", "highest=5", "--max-trials", "3", "--temperature", "0.5", "--price", "toy=1,10")
"""The options of `whole`: ten calls' worth of trials, on a server that refuses two of the options."""


FOLDER = ("workspace", "--path", "toys", "--instruction", "x")


class Whole(NamedTuple):
    home: Path
    server: GuessingServer
    rows: list[dict[str, Any]]
    requests: int
    out: str


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    """A complete run that fills a cache."""
    home = make_home(tmp_path_factory.mktemp("home"))
    with GuessingServer(refuses=["stop", "temperature"]) as server:
        args = run_args(server, *OPTIONS, "--cache", "answers/kept.db", "--out", "whole", "--concurrency", "1")
        status, out, err = call(home, *args)
        assert (status, err) == (0, "")
        yield Whole(home, server, timeless(home / "whole"), len(server.requests), out)


def line_of(out: str, name: str) -> list[str]:
    """The cells of a named row in a table of the report."""
    [line] = [line for line in out.splitlines() if line.strip().startswith(f"{name}  ")]
    return line.strip().removeprefix(name).split()


def test_run_is_recorded_and_reported_without_the_key(home: Path, server: GuessingServer) -> None:
    status, out, err = call(home, *run_args(server, "--max-trials", "2"), key=KEY)
    assert (status, err) == (0, "")
    assert "2 solved, 1 failed in " in out
    folder = home / "runs" / "guessing-numbers-reflexion-1"
    assert out.rstrip().endswith(f"Recorded in {folder.relative_to(home)}")
    rows = timeless(folder)
    assert [(row["task_id"], row["trial"], row["success"]) for row in rows] == [
        ("g1", 1, True),
        ("g2", 1, False),
        ("g2", 2, True),
        ("g3", 1, False),
        ("g3", 2, False),
    ]
    assert (rows[1]["reflection"], rows[1]["input_tokens"]) == ("1 was wrong. Next time I will say 2.", 200)
    assert {request.key for request in server.requests} == {KEY}
    assert not [each for each in folder.rglob("*.*") if KEY.encode() in each.read_bytes()]

    status, out, err = call(home, "report", str(folder), str(folder), "--json")
    assert (status, err) == (0, "")
    one, other = json.loads(out)["runs"]
    assert one == other
    assert (one["tasks"], one["solved"], one["faults"]) == (3, [1, 2], 0)
    assert one["failures"] == [{"wrong answer": 2}, {"wrong answer": 1}]


def test_record_does_not_depend_on_concurrency(home: Path, server: GuessingServer) -> None:
    args = run_args(server, "--highest", "5", "--limit", "4", "--seed", "7", "--json")
    for concurrency in ("1", "8"):
        status, out, err = call(home, *args, "--out", concurrency, "--concurrency", concurrency)
        assert (status, err) == (0, "")
        summary = json.loads(out)
        assert (summary["dir"], summary["tasks"], summary["demo"]) == (concurrency, 4, False)
        assert summary["solved"] == [1, 2, 3] + [4] * 9
        assert (summary["settings"]["seed"], summary["settings"]["options"]) == (7, {"highest": 5})
    assert timeless(home / "1") == timeless(home / "8")
    trajectories = [(home / folder / "trajectories.jsonl").read_bytes() for folder in ("1", "8")]
    assert trajectories[0] == trajectories[1]


def test_demo_model_is_not_presented_as_an_llm(home: Path) -> None:
    status, out, err = call(home, "run", "alfworld", "--limit", "4", "--max-trials", "3", "--out", "run")
    assert status == 0
    assert "native" in one_line(err)
    assert "demo model, not an LLM" in out
    assert "not an LLM" in json.loads((home / "run" / "run.json").read_text())["note"]


def test_environment_fault_sets_exit_status(home: Path, server: GuessingServer) -> None:
    server.drops = {"2"}
    status, out, err = call(home, *run_args(server), "--retries", "1")
    assert (status, err) == (1, "")
    assert "2 solved, 1 ended by a fault in" in out
    assert "fell on the floor" in [row["fault"] for row in timeless(home / "runs/guessing-numbers-reflexion-1")][1]


@pytest.mark.parametrize(
    ("args", "word"),
    [
        ([], "help"),
        (["sing"], "sing"),
        (["report", "no\x1b[2J\x9bwhere"], "no\u241b[2J\\u009bwhere"),
        (["resume", "toys"], "run.json"),
        (["play", ENV, "--task", "g9"], "'g9'"),
        (["run"], "hotpotqa"),
        (["run", "nowhere"], "'nowhere'"),
        (["run", "alfwrld"], "did you mean alfworld?"),
        (["run", ENV, "--strategy", "reflection"], "did you mean reflexion?"),
        (["run", ENV, "--actor", "reakt"], "--actor 'reakt'"),
        (["show", "nowhere"], "nowhere"),
        (["run", "alfworld", "--option", 'path="a\\u0000b"'], "null"),
        (["run", ENV, "--out", "x" * 300], "too long"),
        (["run", ENV, "--model", "openai:gpt-4o-mini"], "OPENAI_API_KEY"),
        (["run", ENV, "--model", "gibberish"], "provider"),
        (["run", ENV, "--split", "colours"], "numbers, letters"),
        (["run", ENV, "--max-trials", "0"], "--max-trials"),
        (
            ["run", *FOLDER, "--verify", "pytestt -q"],
            "the task toys: the command 'pytestt -q': there is no program pytestt",
        ),
        (["play", *FOLDER, "--verify", "pytestt -q"], "there is no program pytestt"),
        (["run", ENV, "--colour", "red"], "'colour'"),
        (["run", ENV, "--max-trails", "2"], "did you mean max-trials?"),
        (["run", "hotpotqa", "--path"], "'path' of the environment 'hotpotqa' needs a value"),
        (["run", "hotpotqa", "--split", "path"], "needs path="),
        (["run", "workspace", "--task", "nope.toml"], "nope.toml cannot be read: No such file"),
        (["play", "alfworld", "--limit", "3"], "no option 'limit': it takes"),
        (["resume", "toys", "--stratgy", "retry"], "--strategy cannot change when a run is resumed"),
        (["resume", "toys", "--colour", "red"], "No such option: --colour\n"),
        (["run", ENV, "red"], "'red'"),
        (["run", ENV, "--budget", "task.token=3"], "did you mean tokens?"),
        (["run", ENV, "--budget", "run.money=5"], "run.money"),
        (["run", ENV, "--budget", "run.cost=1"], "price"),
        (["run", ENV, "--cache", "toys/guessing.py/kept.db"], "guessing.py"),
    ],
)
def test_invalid_arguments_print_one_line(home: Path, args: list[str], word: str) -> None:
    if args[:1] == ["run"] and "--model" not in args:
        args = [*args, "--model", "openai:m", "--base-url", "http://127.0.0.1:9/v1"]
    status, out, err = call(home, *args)
    assert status == 2
    assert word in (one_line(err) if args else out)
    assert not (home / "runs").exists()
    assert sorted(path.name for path in home.glob("*/*.*")) == ["__init__.py", "guessing.py"]


def test_run_resumes_only_with_the_same_settings(home: Path, server: GuessingServer) -> None:
    args = run_args(server, "--out", "run", "--max-trials", "2")
    assert call(home, *args)[0] == 0

    def record() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in (home / "run").rglob("*.*")}

    assert "Nothing was left to do" in call(home, *args)[1]
    before = record()
    for more, words in (
        (["--strategy", "retry", "--seed", "7"], ["seed", "strategy"]),
        (["--max-trials", "1"], ["max_trials"]),
        (["--option", "highest=2"], ["options"]),
    ):
        status, out, err = call(home, *args, *more)
        assert (status, out) == (2, "")
        assert all(word in one_line(err) for word in words)
    assert record() == before


def test_play_command(home: Path) -> None:
    status, out, err = call(home, "play", ENV, "--task", "g2", typed="?\ndance\n\nwait\nsay 2\nsay 3\n")
    assert (status, err) == (0, "")
    assert out.splitlines()[:3] == ["Your task: Guess it.", "", "I think of a number. This is game 2."]
    assert out.count("say {number}; wait; drop it.") == 3
    assert "Invalid action" in out
    assert out.splitlines()[-2:] == ["Right.", "You won after 3 actions."]
    assert "You lost after 1 action." in call(home, "play", ENV, "--task", "3", typed="say 1\n")[1]
    for typed in ("wait\nquit\nsay 1\n", "wait\n"):
        status, out, err = call(home, "play", ENV, typed=typed)
        assert (status, err, out.splitlines()[-1]) == (0, "", "You left after 1 action.")
    status, _, err = call(home, "play", ENV, typed="drop it\n")
    assert (status, "fell on the floor" in one_line(err)) == (2, True)


def test_play_takes_an_action_of_several_lines_and_reveals_the_answer(home: Path) -> None:
    code = "numbers = numbers[::2]\n\n    return [n for n in numbers if n"
    start = "submit\ndef as_list_from_alternate_upto(numbers):\n    numbers = [n for n in numbers if n <= 8]\n    "
    assert "You won after 1 action." in call(home, "play", "programming", typed=f"{start}{code} >= 4]\n.\n")[1]
    out = call(home, "play", "programming", typed="submit pass\n.\n")[1]
    assert ("You lost after 1 action." in out, "return numbers" in out.partition("The answer:")[2]) == (True, True)
    assert "The answer: " in call(home, "play", "hotpotqa", typed="finish[nobody knows]\n")[1]
    assert "The answer:\ngo to " in call(home, "play", "alfworld", "--max-steps", "1", typed="look\n")[1]


def test_help_of_run_shows_groups_and_the_options_of_an_environment(home: Path) -> None:
    shown = call(home, "run", "alfworld", "--help")[1]
    titles = ["Task", "Model", "Reflexion", "Memory", "Limits", "Scale", "Output", "Options of alfworld"]
    assert [line[:-1] for line in shown.splitlines() if line[:-1] in titles] == titles
    assert "--max-steps VALUE" in shown.partition("Options of alfworld:")[2]
    assert "--max-steps" not in call(home, "run", "--help")[1]


def test_a_shell_completes_names(home: Path) -> None:
    words = {"COMP_WORDS": "langgraph-reflexion run alfworld --strategy l", "COMP_CWORD": "4"}
    asked = {"_LANGGRAPH_REFLEXION_COMPLETE": "complete_bash", **words}
    status, out, err = call(home, environment=asked)
    assert (status, out.split(), err) == (0, ["last_attempt", "last_attempt_and_reflexion"], "")


def test_play_with_tools_that_differ_by_task(home: Path) -> None:
    program = """
        from langgraph_reflexion import ToolEnvironment

        def price(good: str) -> str:
            'Look up a price.'
            return '3 crowns'

        def shop():
            return ToolEnvironment(lambda task: [price], ['What is it?'], lambda task, answer: '3' in answer)
    """
    (home / "shop.py").write_text(dedent(program))
    status, out, err = call(home, "play", "shop:shop", typed="price[pen]\nfinish[3]\n")
    assert (status, err) == (0, "")
    assert "Actions: price[{good}]; finish[{answer}]." in out
    assert out.splitlines()[-3:] == ["3 crowns", "The task is solved.", "You won after 2 actions."]


@pytest.mark.parametrize(
    ("fault", "words", "requests"),
    [
        ("wrong-key", r"401.*\(check the key\)$", 1),
        ("unknown-model", "model 'toy' does not exist.*check the model's name", 1),
        ("hang", r"no answer from http://127\S+/v1 in 1 attempt \(is the server up\?\): .*seconds$", 1),
        ("nobody", r"no answer from http://127\S+/v1 in 1 attempt \(is the server up\?\): .*Connection error", 0),
    ],
)
def test_run_that_cannot_start_leaves_no_files(home: Path, fault: str, words: str, requests: int) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(GuessingServer(key="sk-another" if fault == "wrong-key" else None))
        args = run_args(server, "--concurrency", "1", "--timeout", "0.5", "--retries", "1", "--out", "run")
        if fault == "nobody":
            closed = stack.enter_context(socket.socket())
            closed.bind(("127.0.0.1", 0))
            args += ["--base-url", f"http://127.0.0.1:{closed.getsockname()[1]}/v1"]
        elif fault != "wrong-key":
            server.faults = lambda game: fault
        status, out, err = call(home, *args, key=KEY)
    assert (status, out, len(server.requests)) == (2, "", requests)
    assert re.search(words, one_line(err))
    assert {path.name for path in home.glob("run/*")} <= {"lock"}


def test_rejected_options_are_omitted_and_noted(whole: Whole) -> None:
    for option in ("stop", "temperature"):
        note = f"the server refuses {option}, which is left out"
        assert all(note in row["notes"] for row in whole.rows)
        assert line_of(whole.out, note) == [str(len(whole.rows))]
        assert sum(option in request.body for request in whole.server.requests[: whole.requests]) in (1, 2)


def test_cost_is_computed_from_price(whole: Whole) -> None:
    calls = sum(row["llm_calls"] for row in whole.rows)
    assert line_of(whole.out, "cost") == [f"{calls * (100 * 1 + 5 * 10) / 1e6:.4f}"]
    assert whole.requests == calls + 2


def test_cached_reply_costs_no_call(whole: Whole) -> None:
    before = len(whole.server.requests)
    args = run_args(whole.server, *OPTIONS, "--cache", "answers/kept.db", "--out", "again")
    status, out, err = call(whole.home, *args)
    assert (status, err) == (0, "")
    assert len(whole.server.requests) == before
    assert line_of(out, "model calls") == ["0"]


@pytest.mark.long
def test_tasks_with_faults_are_resumed(whole: Whole) -> None:
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
    assert "2 solved, 1 failed, 2 ended by a fault in " in out
    assert out.count("1 task ended by a fault: ") == 2
    assert asked.count("2") == 2
    faulty = {row["task_id"]: row for row in timeless(home / "run") if row["fault"]}
    assert sorted(faulty) == ["g2", "g4"]
    assert "500" in faulty["g2"]["fault"]
    assert "too long" in faulty["g4"]["fault"]
    assert all((row["verdict"], row["actions"]) == (None, 0) for row in faulty.values())

    status, out, err = call(home, "resume", "run")
    assert (status, err) == (0, "")
    assert timeless(home / "run") == whole.rows


def test_show_lists_the_tasks_and_prints_a_prompt(whole: Whole) -> None:
    status, out, err = call(whole.home, "show", "whole")
    assert (status, err, len(out.splitlines())) == (0, "", len({row["task_id"] for row in whole.rows}))
    assert re.fullmatch(r"2  solved in trial 2 .* Guess it\.", out.splitlines()[1])
    _, out, _ = call(whole.home, "show", "whole", "2", "--prompt", "2:1")
    assert "I will say 2" in out.partition("\nuser\n")[2]
    assert "Status: FAILED" in call(whole.home, "show", "whole", "2", "--prompt", "1")[1]
    for wrong in ("1:9", "one", "2"):
        status, out, err = call(whole.home, "show", "whole", "2", "--prompt", wrong)
        assert (status, out) == (2, ""), one_line(err)


def test_budget_ends_run_until_it_is_lifted(whole: Whole) -> None:
    home, server = whole.home, whole.server
    before = len(server.requests)
    args = run_args(server, *OPTIONS, "--out", "short", "--concurrency", "1", "--budget", "run.llm_calls=4")
    status, out, err = call(home, *args)
    assert (status, err) == (1, "")
    assert "budget in " in out
    assert len(server.requests) - before == 4 + 2
    assert sum(row["llm_calls"] for row in timeless(home / "short")) == 4

    status, out, err = call(home, "resume", "short", "--budget", "run.llm_calls=none")
    assert (status, err) == (0, "")
    assert timeless(home / "short") == whole.rows


def test_terminal_without_unicode(whole: Whole, monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii", write_through=True))
    monkeypatch.setattr(sys, "argv", ["langgraph-reflexion", "show", str(whole.home / "whole"), "2"])
    with pytest.raises(SystemExit):
        main()
    assert b"reflexion ? toys.guessing:Guessing" in written.getvalue()


def test_experiment_is_estimated_run_and_resumed(home: Path, server: GuessingServer) -> None:
    file = home / "games.toml"
    file.write_text(
        f"""
        [common]
        max_trials = 2
        [matrix]
        strategies = ["retry", "reflexion"]
        seeds = 1
        [environments.game]
        environment = "{ENV}"
        [models.toy]
        model = "openai:toy"
        base_url = "{server.url}"
        """
    )
    status, out, _ = call(home, "experiment", str(file), "--dry-run", "--json")
    assert (status, len(json.loads(out)["runs"]), server.requests) == (0, 2, [])
    status, out, _ = call(home, "experiment", str(file), "--dry-run")
    assert (status, "reflexion" in out) == (0, True)
    status, out, _ = call(home, "experiment", str(file), "--json")
    assert (status, [each["status"] for each in json.loads(out)["outcomes"]]) == (0, ["finished"] * 2)
    before = len(server.requests)
    status, out, _ = call(home, "experiment", str(file))
    assert (status, len(server.requests)) == (0, before)
    assert out.rstrip().endswith(f"Recorded in {Path('runs') / 'games'}")


@pytest.mark.long
def test_a_reader_may_leave_a_report(tmp_path: Path) -> None:
    run = folder(tmp_path / "run", [row("a", 1, True)], ["a"])
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "langgraph_reflexion", "report", str(run)]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")
