"""The command line, as real processes against a real model server on loopback."""

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from langgraph_reflexion import Action, StepResult, Task, __version__
from langgraph_reflexion.cli.play import play_episode
from tests.bench.guessing import Guess, Guessing
from tests.cli import (
    ENV,
    KEY,
    GuessingServer,
    call,
    call_here,
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


def test_a_run_is_recorded_and_reported_without_the_key(home: Path, server: GuessingServer) -> None:
    status, out, err = call(home, *run_args(server, "--max-trials", "2"), key=KEY)
    assert (status, err) == (0, "")
    assert "Tasks solved by trial" in out
    assert "2 solved, 1 failed in " in out
    folder = home / "runs" / "guessing-numbers-reflexion-1"
    assert out.rstrip().endswith(f"Recorded in {folder.relative_to(home)}")
    assert [(row["task_id"], row["trial"], row["success"]) for row in timeless(folder)] == [
        ("g1", 1, True),
        ("g2", 1, False),
        ("g2", 2, True),
        ("g3", 1, False),
        ("g3", 2, False),
    ]
    assert timeless(folder)[1]["reflection"] == "1 was wrong. Next time I will say 2."
    assert timeless(folder)[1]["input_tokens"] == 200
    assert {request.key for request in server.requests} == {KEY}
    assert not [path for path in folder.iterdir() if KEY.encode() in path.read_bytes()]
    settings = json.loads((folder / "run.json").read_text())["settings"]
    assert (settings["environment"], settings["split"], settings["max_trials"]) == (ENV, "numbers", 2)

    status, out, err = call(home, "report", str(folder), str(folder), "--json")
    assert (status, err) == (0, "")
    one, other = json.loads(out)["runs"]
    assert one == other
    assert (one["tasks"], one["solved"], one["faults"]) == (3, [1, 2], 0)
    assert one["failures"] == [{"wrong answer": 2}, {"wrong answer": 1}]


def test_json_is_all_that_is_printed_and_the_record_does_not_depend_on_the_concurrency(
    home: Path, server: GuessingServer
) -> None:
    args = run_args(server, "--highest", "5", "--limit", "4", "--seed", "7", "--json")
    folders = []
    for concurrency in ("1", "8"):
        status, out, err = call(home, *args, "--out", concurrency, "--concurrency", concurrency)
        assert (status, err) == (0, "")
        summary = json.loads(out)
        assert (summary["dir"], summary["tasks"], summary["demo"]) == (concurrency, 4, False)
        assert summary["solved"] == [1, 2, 3] + [4] * 9
        assert summary["statuses"] == {"solved": 4, "failed": 0, "fault": 0, "error": 0, "budget": 0, "unfinished": 0}
        assert (summary["settings"]["seed"], summary["settings"]["options"]) == (7, {"highest": 5})
        assert summary["llm_calls"] == 10 + 6
        folders.append(home / concurrency)
    one, eight = folders
    assert timeless(one) == timeless(eight)
    assert (one / "trajectories.jsonl").read_bytes() == (eight / "trajectories.jsonl").read_bytes()


def test_the_demo_model_plays_and_is_called_no_llm(home: Path) -> None:
    status, out, err = call(home, "run", "alfworld", "--limit", "4", "--max-trials", "3", "--out", "run")
    assert (status, one_line(err)) == (0, "langgraph-reflexion: played by the native ALFWorld engine\n")
    assert "alfworld generated-134, 4 tasks · demo model, not an LLM" in out
    info = json.loads((home / "run" / "run.json").read_text())
    assert "not an LLM" in info["note"]
    assert info["played_by"] == "the native ALFWorld engine"
    assert {row["task_id"] for row in timeless(home / "run") if row["success"]}


def test_the_demo_model_is_said_to_know_only_what_ships(home: Path) -> None:
    status, _, err = call(home, "run", ENV, "--option", "highest=1", "--max-trials", "1")
    assert status == 0
    said = one_line(err)
    assert "knows only the environments that ship, and may solve nothing here" in said
    assert f"langgraph-reflexion play {ENV}, or choose another --model" in said


@pytest.mark.long
def test_a_run_is_drawn_written_as_a_page_and_shown(home: Path) -> None:
    status, *_ = call(home, "run", "alfworld", "--limit", "2", "--max-trials", "2", "--out", "run")
    assert status == 0
    assert "commit" in json.loads((home / "run" / "run.json").read_text())["versions"]
    status, out, err = call(home, "report", "run", "--figures", "drawn", "--html", "pages/run.html")
    assert (status, err) == (0, "")
    assert "Tasks solved by trial, with 95 % intervals" in out
    assert out.endswith("Written: drawn, pages/run.html\n")
    assert {"success_by_trial.svg", "success_by_trial.png"} <= {path.name for path in (home / "drawn").iterdir()}
    assert "<svg" in (home / "pages" / "run.html").read_text()
    status, out, err = call(home, "show", "run", "2", "--trial", "1")
    assert (status, err) == (0, "")
    steps = json.loads((home / "run" / "trajectories.jsonl").read_text().splitlines()[1])["steps"]
    assert all(f"> {step['action']['text']}" in out for step in steps)
    status, out, err = call(home, "show", "run", "3")
    assert (status, out) == (2, "")
    assert "has no task '3'" in one_line(err)


def test_all_tasks_advance_together_until_nothing_new_is_solved(home: Path, server: GuessingServer) -> None:
    args = run_args(server, "--strategy", "retry", "--until-no-improvement", "--json")
    status, out, _ = call(home, *args)
    summary = json.loads(out)
    assert (status, summary["solved"], summary["unfinished"]) == (0, [1, 1], 2)


def test_a_task_that_ends_as_a_fault_shows_in_the_status(home: Path, server: GuessingServer) -> None:
    server.drops = {"2"}
    status, out, err = call(home, *run_args(server), "--retries", "1")
    assert (status, err) == (1, "")
    assert "2 solved, 1 fault in" in out
    assert "fell on the floor" in [row["fault"] for row in timeless(home / "runs/guessing-numbers-reflexion-1")][1]


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["run", ENV, "--model", "openai:gpt-4o-mini"], "set OPENAI_API_KEY"),
        (["run", ENV, "--model", "gibberish"], "unknown provider"),
        (["run", ENV, "--model", "openai:m", "--base-url", "here"], "base URL"),
        (["run", "nowhere"], "no environment 'nowhere'"),
        (["run", "toys.guessing:Nothing"], "cannot load the environment"),
        (["run", ENV, "--option", "speed=3"], "speed"),
        (["run", ENV, "--option", "speed"], "KEY=VALUE"),
        (["run", ENV, "--split", "colours"], "choose one of numbers, letters"),
        (["run", ENV, "--strategy", "luck"], "reflexion"),
        (
            ["run", ENV, "--profile", "mine"],
            "--profile: input should be 'paper', 'preprint' or 'upstream', not 'mine'",
        ),
        (["run", ENV, "--actor", "secret"], "react, tools"),
        (["run", ENV, "--evaluator", "me"], "environment, llm"),
        (["run", ENV, "--feedback", "loud"], "--feedback: input should be 'binary', 'scalar' or 'words'"),
        (["run", ENV, "--max-trials", "0"], "--max-trials"),
        (["run", ENV, "--limit", "many"], "--limit"),
        (["run", ENV, "--colour", "red"], f"no option --colour ({ENV}'s own options: --highest)"),
        (["run", ENV, "--limt", "3"], "no option --limt: did you mean --limit?"),
        (["run", ENV, "--hihgest=3"], "no option --hihgest: did you mean --highest?"),
        (["run", ENV, "--option", "max_trials=3"], f"--max-trials is no option of {ENV}"),
        (["run", "workspace", "--strateg", "retry"], "no option --strateg: did you mean --strategy?"),
        (["play", "alfworld", "--max-step", "3"], "no option --max-step: did you mean --max-steps?"),
        (["run", ENV, "--model", "demo", "--base-url", "http://127.0.0.1:9"], f"--base-url is no option of {ENV}"),
        (["run", ENV, "--colour"], "--colour is no option"),
        (["run", ENV, "--jsn"], "did you mean --json?"),
        (["run", ENV, "--no-recal"], "did you mean --no-recall?"),
        (["run", ENV, "--highest", "--json"], "--highest is no option"),
        (["run", ENV, "red"], "'red' is neither"),
        (["run", ENV, "-x", "3"], "'-x' is neither"),
        (["run"], "ENV"),
        (["sing"], "sing"),
        (["report"], "DIR"),
        (["report", "nowhere"], "nowhere holds no run"),
        (["report", "toys"], "toys holds no run"),
        (["report", "toys/guessing.py"], "toys/guessing.py is a file: name a run folder"),
        (["resume", "toys/guessing.py"], "toys/guessing.py is a file: name a run folder"),
        (["play", ENV, "--task", "g9"], "no task 'g9'"),
        (["run", ENV, "--checkpoints", "some"], "--checkpoints: input should be 'history' or 'latest'"),
        (["resume"], "DIR"),
        (["resume", "nowhere"], "nowhere holds no run: there is no run.json"),
        (["resume", "toys"], "toys holds no run: there is no run.json"),
        (["resume", "toys", "--strategy", "retry"], "--strategy"),
        (["run", ENV, "--max-actions", "0"], "--max-actions"),
        (["run", ENV, "--executor", "dask"], "--executor: input should be 'process' or 'ray'"),
        (["run", ENV, "--timeout", "inf"], "the option --timeout: input should be a finite number"),
    ],
)
def test_wrong_use_is_one_line_that_says_what_to_do(
    home: Path,
    args: list[str],
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if args[0] == "run" and "--model" not in args:
        args = [*args, "--model", "openai:m", "--base-url", "http://127.0.0.1:9/v1"]
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    status, out, err = call_here(home, args, monkeypatch, capsys)
    assert (status, out) == (2, "")
    assert says in one_line(err)
    assert not (home / "runs").exists()
    assert sorted(path.name for path in home.glob("*/*") if path.is_file()) == ["__init__.py", "guessing.py"]


def test_wrong_use_of_a_process_is_one_line(home: Path) -> None:
    for args, says in (
        (["run", ENV, "--colour"], "--colour"),
        (["run", ENV, "--model", "openai:m"], "OPENAI_API_KEY"),
    ):
        status, out, err = call(home, *args)
        assert (status, out) == (2, "")
        assert says in one_line(err)


def test_a_folder_that_holds_something_else_is_refused(home: Path, server: GuessingServer) -> None:
    (home / "run").mkdir()
    (home / "run" / "run.json").write_text("{}")
    status, out, err = call(home, *run_args(server, "--out", "run"))
    assert (status, out) == (2, "")
    assert "run holds no run that can go on" in one_line(err)
    assert (home / "run" / "run.json").read_text() == "{}"
    assert server.requests == []


@pytest.mark.long
def test_a_killed_run_goes_on_by_either_command_and_on_another_machine(home: Path, server: GuessingServer) -> None:
    args = run_args(server, "--option", "highest=5", "--max-trials", "4", "--concurrency", "2", "--out")
    assert call(home, *args, "whole")[0] == 0
    asked = len(server.requests)
    server.seconds = 0.1
    process = start(home, *args, "run")
    wait_for_rows(home / "run", 4)
    server.faults = lambda game: "hang"  # what is asked now is in flight until the end
    for command in ([*args, "run"], ["resume", "run"]):
        status, out, err = call(home, *command)
        assert (status, out) == (2, "")
        assert "another process is at work on run" in one_line(err)
    process.kill()
    process.communicate()
    shutil.copytree(home / "run", home / "elsewhere")
    server.seconds, server.faults = 0.0, lambda game: None
    for command in ([*args, "run"], ["resume", "elsewhere"]):
        before = len(server.requests)
        status, out, err = call(home, *command)
        assert (status, err) == (0, "")
        assert "4 solved, 1 failed in " in out
        assert timeless(home / command[-1]) == timeless(home / "whole")
        assert 0 < len(server.requests) - before < asked - 4
    # A finished run has nothing left to do.
    asked = len(server.requests)
    status, out, _ = call(home, "resume", "run", "--json")
    assert (status, json.loads(out)["solved"], len(server.requests)) == (0, [1, 2, 3, 4], asked)
    # More trials: the last failed one gets its reflection first.
    status, out, _ = call(home, "resume", "run", "--max-trials", "5", "--concurrency", "1")
    assert (status, len(server.requests) - asked) == (0, 2)
    assert "5 solved in " in out
    reflections = [row["reflection"] for row in timeless(home / "run")]
    assert reflections[-2:] == [
        "4 was wrong. Next time I will say 5.",
        None,
    ]


@pytest.mark.long
def test_a_fault_is_tried_again_and_its_row_replaced(home: Path, server: GuessingServer) -> None:
    args = run_args(server, "--retries", "1", "--out")
    assert call(home, *args, "whole")[0] == 0
    server.faults = {"2": "500"}.get
    # One after the other: were the one that is refused the first to be answered, nothing could start.
    status, out, _ = call(home, *args, "run", "--concurrency", "1")
    assert (status, [bool(row["fault"]) for row in timeless(home / "run")].count(True)) == (1, 1)
    for command in (["resume", "run"], [*args, "run"]):
        if command[0] == "run":
            server.faults = {}.get
        status, out, _ = call(home, *command, "--json")
        summary = json.loads(out or "{}")
        assert (status, summary.get("faults")) == ((2, None) if command[0] == "resume" else (0, 0))
    assert timeless(home / "run") == timeless(home / "whole")


def test_a_run_goes_on_only_under_its_own_settings(home: Path, server: GuessingServer) -> None:
    args = run_args(server, "--out", "run", "--max-trials", "2")
    assert call(home, *args)[0] == 0
    before = {path.name: path.read_bytes() for path in (home / "run").iterdir()}
    for more, says in (
        (["--strategy", "retry", "--seed", "7"], "seed was 0, is 7; strategy was reflexion, is retry"),
        (["--max-trials", "1"], "max_trials was 2, is 1, and can only be raised"),
        (["--option", "highest=2"], 'options was {}, is {"highest": 2}'),
    ):
        status, out, err = call(home, *args, *more)
        assert (status, out) == (2, "")
        assert f"run holds a run with other settings: {says}" in one_line(err)
    assert {path.name: path.read_bytes() for path in (home / "run").iterdir()} == before


def test_a_run_that_is_interrupted_before_any_answer_leaves_nothing(home: Path, server: GuessingServer) -> None:
    server.seconds = 0.3
    process = start(home, *run_args(server, "--option", "highest=1", "--out", "run"))
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not server.requests:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    # No answer had come yet, so there is nothing to keep.
    assert "nothing had begun" in one_line(err)
    assert not (home / "run").exists()


def test_an_interrupted_run_says_where_its_rows_are(home: Path, server: GuessingServer) -> None:
    server.seconds = 0.2
    args = run_args(server, "--option", "highest=50", "--max-trials", "5", "--concurrency", "4", "--out", "run")
    process = start(home, *args)
    wait_for_rows(home / "run", 5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    rows = timeless(home / "run")
    assert (process.returncode, out) == (130, "")
    assert f"the trials finished so far, {len(rows)}, are kept in run: go on with" in one_line(err)
    order = [(int(row["task_id"][1:]), row["trial"]) for row in rows]
    assert order == sorted(order)
    assert call(home, "report", "run")[0] == 0


def test_a_person_wins_a_game(home: Path) -> None:
    status, out, err = call(home, "play", ENV, "--task", "g2", typed="help\ndance\n\nwait\nsay 2\nsay 3\n")
    assert (status, err) == (0, "")
    assert out.splitlines()[:3] == ["Your task: Guess it.", "", "I think of a number. This is game 2."]
    assert out.count("Actions: say {number}; wait; drop it.") == 2
    assert "Invalid action" in out
    assert out.splitlines()[-2:] == ["Right.", "You won after 3 actions."]


@pytest.mark.long
def test_a_person_loses_quits_or_goes_away(home: Path) -> None:
    assert "You lost after 1 action." in call(home, "play", ENV, "--task", "3", typed="say 1\n")[1]
    for typed in ("wait\nquit\nsay 1\n", "wait\n", ""):
        status, out, err = call(home, "play", ENV, typed=typed)
        assert (status, err) == (0, "")
        assert "You won" not in out


def test_an_environment_that_breaks_while_one_plays_is_one_line(home: Path) -> None:
    status, _, err = call(home, "play", ENV, typed="drop it\n")
    assert status == 2
    assert "fell on the floor" in one_line(err)


def test_a_bug_that_shows_while_one_plays_is_raised_as_it_is() -> None:
    class Buggy(Guess):
        def step(self, action: Action) -> StepResult:
            raise ZeroDivisionError("division by zero")

    class Broken(Guessing):
        def start(self, task: Task) -> Guess:
            return Buggy(1)

    shown = iter(play_episode(Broken(), Broken().tasks()[0], ["say 1"]))
    assert next(shown).startswith("Your task: Guess.\n\nI think of a number below ten.")
    with pytest.raises(ZeroDivisionError):
        next(shown)


def test_help_and_version_are_quick(home: Path) -> None:
    code = (
        "import sys\n"
        "from langgraph_reflexion.cli import main\n"
        "sys.argv = ['langgraph-reflexion', *sys.argv[1:]]\n"
        "try:\n    main()\nfinally:\n"
        "    heavy = {'langgraph', 'langchain', 'langchain_core', 'langchain_openai', 'openai'}\n"
        "    print('heavy:', sorted(heavy & set(sys.modules)))\n"
    )
    for args in (["--help"], ["run", "--help"], ["--version"]):
        done = subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True, cwd=home)
        assert done.returncode == 0, done.stderr
        assert done.stdout.endswith("heavy: []\n")
    assert done.stdout.startswith(f"langgraph-reflexion {__version__}\n")


def test_without_a_command_the_help_is_shown(home: Path) -> None:
    status, out, _ = call(home)
    assert status == 2
    assert "report" in out


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", ":x"),
        ("run", "..a:B"),
        ("run", ENV, "--out", "x" * 300),
        ("run", ENV, "--model", "openai:toy", "--base-url", "http://[::1"),
        ("run", "alfworld", "--option", 'path="a\\u0000b"'),
        ("play", "alfworld", "--task", "9" * 5000),
    ],
    ids=["no module", "relative", "long", "address", "nul", "digits"],
)
def test_odd_arguments_are_one_line_and_wrong_use(home: Path, arguments: tuple[str, ...]) -> None:
    status, out, err = call(home, *arguments)
    assert (status, out) == (2, "")
    one_line(err)


def test_output_that_a_terminal_cannot_write_is_written_as_it_can(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    status, out, _ = call(home, "run", "alfworld", "--limit", "1", "--max-trials", "1")
    assert status == 0
    assert "demo model, not an LLM" in out
