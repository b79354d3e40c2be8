"""The command line, in this process and in one of its own, with a real model server on loopback."""

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from langgraph_reflexion import __version__
from langgraph_reflexion.lab.cli import main
from langgraph_reflexion.lab.cli.basics import sigterm_as_ctrl_c
from langgraph_reflexion.lab.cli.examples import EXAMPLES
from tests.docs.command_lines import check
from tests.support.cli import ENV, KEY, GuessingServer, call, make_home, one_line, run_args, start, wait_for_rows
from tests.support.guessing import timeless
from tests.support.processes import until
from tests.support.run_folders import folder, row

OPTIONS = ("--option", "highest=5", "--max-trials", "3", "--temperature", "0.5", "--price", "toy=1,10")
"""The options of `whole`: ten calls' worth of trials, on a server that refuses two of the options."""


class Whole(NamedTuple):
    home: Path
    server: GuessingServer
    rows: list[dict[str, Any]]
    requests: int
    out: str


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A complete run that fills a cache."""
    home = make_home(tmp_path_factory.mktemp("home"))
    with GuessingServer(refuses=["stop", "temperature"]) as server:
        args = run_args(server, *OPTIONS, "--cache", "answers/kept.db", "--out", "whole", "--concurrency", "1")
        status, out, err = call(home, *args)
        assert (status, err) == (0, "")
        yield Whole(home, server, timeless(home / "whole"), len(server.requests), out)


def line_of(out, name):
    """The cells of a named row in a table of the report."""
    [line] = [line for line in out.splitlines() if line.strip().startswith(f"{name}  ")]
    return line.strip().removeprefix(name).split()


@pytest.mark.slow
def test_run_is_recorded_and_reported_without_the_key(home, server):
    server.drops = {"3"}
    args = run_args(server, "--max-trials", "2", "--retries", "1")
    status, out, err = call(home, *args, key=KEY)
    assert (status, err) == (1, "")
    assert "2 solved, 1 ended by a fault in " in out
    folder = home / "runs" / "guessing-numbers-reflexion-1"
    assert out.rstrip().endswith(f"Recorded in {folder.relative_to(home)}")
    rows = timeless(folder)
    assert [(row["task_id"], row["trial"], row["success"]) for row in rows] == [
        *(("g1", 1, True), ("g2", 1, False), ("g2", 2, True), ("g3", 1, None))
    ]
    assert (rows[1]["reflection"], rows[1]["input_tokens"]) == ("1 was wrong. Next time I will say 2.", 200)
    assert "fell on the floor" in rows[3]["fault"]
    assert {request.key for request in server.requests} == {KEY}
    assert not [each for each in folder.rglob("*.*") if KEY.encode() in each.read_bytes()]

    status, out, err = call(home, "report", str(folder), str(folder), "--json")
    assert (status, err) == (0, "")
    one, other = json.loads(out)["runs"]
    assert one == other
    assert (one["tasks"], one["solved"], one["faults"]) == (3, [1, 2], 1)

    # It is resumed under the same settings only.
    status, _, err = call(home, *args, "--out", str(folder), "--strategy", "retry", "--seed", "7", key=KEY)
    assert (status, "seed" in one_line(err), "strategy" in err) == (2, True, True)


@pytest.mark.parametrize(
    ("args", "word"),
    [
        ([], "help"),
        (["report", "no\x1b[2J\x9bwhere"], "no\u241b[2J\\u009bwhere"),
        (["play", ENV, "--task", "g9"], "'g9'"),
        (["run"], "hotpotqa"),
        (["run", "alfwrld"], "did you mean alfworld?"),
        (["run", ENV, "--strategy", "reflection"], "did you mean reflexion?"),
        (["run", "alfworld", "--option", 'path="a\\u0000b"'], "null"),
        (["run", ENV, "--out", "x" * 300], "too long"),
        (["run", ENV, "--model", "openai:gpt-4o-mini"], "OPENAI_API_KEY"),
        (["run", ENV, "--split", "colours"], "numbers, letters"),
        (
            ["run", "workspace", "--option", 'task={"path": "toys", "instruction": "x", "verify": "pytestt -q"}'],
            "the task toys: the command 'pytestt -q': there is no program",
        ),
        (["run", ENV, "--max-trails", "2"], "did you mean --max-trials?"),
        (["run", ENV, "--max_trials", "2"], "an option --max_trials (did you mean --max-trials?)"),
        (["run", ENV], "certificates"),
        (["run", "hotpotqa", "--path"], "'path' of the environment 'hotpotqa' needs a value"),
        (["run", "hotpotqa", "--split", "path"], "needs path="),
        (["play", "alfworld", "--limit", "3"], "no option 'limit': it takes"),
        (["resume", "toys", "--stratgy", "retry"], "--strategy cannot change when a run is resumed"),
        (["resume", "toys", "--colour", "red"], "No such option: --colour\n"),
        (["run", ENV, "--budget", "task.token=3"], "did you mean tokens?"),
        (
            ["run", ENV, "--budget", "trial.call=3"],
            "tokens, cost, seconds (did you mean llm_calls?)",
        ),
        (["run", ENV, "--budget", "tokens=3"], "SCOPE is trial, task or run, and WHAT is actions, llm_calls, tokens"),
        (["run", ENV, "--budget", "tral.tokens=3"], "(did you mean trial?)"),
        (["run", ENV, "--limit", "three"], "--limit must be a valid integer\n"),
        (["run", ENV, "--limit", "0"], "--limit must be greater than or equal to 1\n"),
        (["run", ENV, "--model", "opneai:gpt-4o-mini"], "(did you mean openai?)"),
        (["run", ENV, "--cache", "toys/guessing.py/kept.db"], "guessing.py"),
        (["experiment", "none.toml", "--like", "runs"], "--dry-run with it"),
        (["experiment", "none.toml", "--dry-run", "--fail-below", "0.5"], "runs nothing that --fail-below"),
        (["show", "runs", "1", "--trial", "1", "--prompt", "1"], "leave --trial out"),
    ],
)
def test_invalid_arguments_print_one_line(home, args, word):
    if args[:1] == ["run"] and "--model" not in args:
        args = [*args, "--model", "openai:m", "--base-url", "http://127.0.0.1:9/v1"]
    status, out, err = call(home, *args, environment={"SSL_CERT_FILE": "none.pem"} if word == "certificates" else {})
    assert status == 2
    assert word in (one_line(err) if args else out)
    assert not (home / "runs").exists()
    assert sorted(path.name for path in home.glob("*/*.*")) == ["__init__.py", "guessing.py"]


WORK = 'task={"path": "toys", "instruction": "x", "verify": "true"}'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("args", "world"),
    [
        pytest.param(["programming"], "programming", marks=pytest.mark.needs("sandbox")),
        pytest.param(["webshop"], "webshop", marks=pytest.mark.extra("webshop")),
        pytest.param(["workspace", "--option", WORK], "workspace", marks=pytest.mark.needs("bubblewrap")),
        ([ENV], "guessing"),
    ],
)
@pytest.mark.filterwarnings("ignore:the sandbox is Landlock")
def test_a_run_that_needs_a_model_says_so_before_it_begins(home, args, world):
    status, out, err = call(home, "run", *args)
    assert (status, out) == (2, "")
    said = one_line(err)
    assert f"not {world}: name another model (--model), such as openai:gpt-4o-mini" in said
    assert "needs no key: `ollama pull" in said
    assert not (home / "runs").exists()


@pytest.mark.slow
def test_play_command(home):
    status, out, err = call(home, "play", ENV, "--task", "g2", typed="?\ndance\n\nwait\nsay 2\nsay 3\n")
    assert (status, err) == (0, "")
    assert out.splitlines()[:3] == ["Your task: Guess it.", "", "I think of a number. This is game 2."]
    assert (out.count("say {number}; wait; drop it."), "Invalid action" in out) == (3, True)
    assert out.splitlines()[-2:] == ["Right.", "You won after 3 actions."]
    assert "You lost after 1 action." in call(home, "play", ENV, "--task", "3", typed="say 1\n")[1]
    for typed in ("wait\nquit\nsay 1\n", "wait\n"):
        assert call(home, "play", ENV, typed=typed)[1].splitlines()[-1] == "You left after 1 action."
    status, _, err = call(home, "play", ENV, typed="drop it\n")
    assert (status, "fell on the floor" in one_line(err)) == (2, True)


@pytest.mark.slow
def test_play_takes_an_action_of_several_lines_and_reveals_the_answer(home):
    start = "submit\ndef as_list_from_alternate_upto(numbers):\n    numbers = [n for n in numbers if n <= 8]\n    "
    rest = "numbers = numbers[::2]\n\n    return [n for n in numbers if n >= 4]\n.\n"
    assert "You won after 1 action." in call(home, "play", "programming", typed=start + rest)[1]
    for environment, typed, answer in (
        ("programming", "submit pass\n.\n", "return numbers"),
        ("hotpotqa", "finish[nobody knows]\n", " "),
        ("alfworld", "look\n", "\ngo to "),
    ):
        steps = ["--max-steps", "1"] if environment == "alfworld" else []
        assert answer in call(home, "play", environment, *steps, typed=typed)[1].partition("The answer:")[2]


def test_help_of_run_shows_groups_and_the_options_of_an_environment(home):
    shown = call(home, "run", "alfworld", "--help")[1]
    titles = ["Task", "Model", "Reflexion", "Memory", "Limits", "Scale", "Output", "Options of alfworld"]
    assert [line[:-1] for line in shown.splitlines() if line[:-1] in titles] == titles
    assert "--max-steps VALUE" in shown.partition("Options of alfworld:")[2]
    assert "--max-steps" not in call(home, "run", "--help")[1]


def test_help_of_run_shows_the_options_of_an_agents_tasks(home):
    (home / "slugs.py").write_text("def agent(task):\n    return task.lower()\n")
    shown = call(home, "run", "slugs.py:agent", "--help")[1].partition("Options of slugs.py:agent:")[2]
    named = re.findall(r"^  (--[a-z-]+) VALUE", shown, re.MULTILINE)
    assert named == ["--tasks", "--task-field", "--answer-field", "--user-field", "--subset"]


def test_a_shell_completes_names(home):
    words = {"COMP_WORDS": "langgraph-reflexion run alfworld --strategy l", "COMP_CWORD": "4"}
    asked = {"_LANGGRAPH_REFLEXION_COMPLETE": "complete_bash", **words}
    status, out, err = call(home, environment=asked)
    assert (status, out.split(), err) == (0, ["last_attempt", "last_attempt_and_reflexion"], "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "words"),
    [("wrong-key", r"401.*\(check the key\)$"), ("hang", r"no answer from http://127\S+/v1 in 1 attempt .*seconds$")],
)
def test_run_that_cannot_start_leaves_no_files(home, server, fault, words):
    server.faults = lambda game: fault
    args = run_args(server, "--concurrency", "1", "--timeout", "0.5", "--retries", "1", "--out", "run")
    status, out, err = call(home, *args, key=KEY)
    assert (status, out, len(server.requests)) == (2, "", 1)
    assert re.search(words, one_line(err))
    assert {path.name for path in home.glob("run/*")} <= {"lock"}


@pytest.mark.slow
def test_report_names_rejected_options_and_cost_and_cached_replies_cost_no_call(whole):
    for option in ("stop", "temperature"):
        note = f"the server refuses {option}, which is left out"
        assert line_of(whole.out, note) == [str(len(whole.rows))]
    calls = sum(row["llm_calls"] for row in whole.rows)
    assert line_of(whole.out, "cost") == [f"{calls * (100 * 1 + 5 * 10) / 1e6:.4f}"]
    assert whole.requests == calls + 2
    before = len(whole.server.requests)
    args = run_args(whole.server, *OPTIONS, "--cache", "answers/kept.db", "--out")
    assert "Nothing was left to do" in call(whole.home, *args, "whole")[1]
    out = call(whole.home, *args, "again")[1]
    assert (len(whole.server.requests), line_of(out, "model calls")) == (before, ["0"])


@pytest.mark.long
def test_tasks_with_faults_are_resumed(whole):
    home, server = whole.home, whole.server
    faults = iter(["429-retry-after:0.2"])
    server.faults = lambda game: next(faults, None) if game == "3" else {"2": "500", "4": "context"}.get(game)
    status, out, err = call(home, *run_args(server, *OPTIONS, "--out", "run", "--concurrency", "1", "--retries", "2"))
    server.faults = {}.get
    assert (status, err, "2 solved, 1 failed, 2 ended by a fault in " in out) == (1, "", True)
    assert out.count("1 task ended by a fault: ") == 2
    faulty = {row["task_id"]: row for row in timeless(home / "run") if row["fault"]}
    assert ("500" in faulty["g2"]["fault"], "too long" in faulty["g4"]["fault"], len(faulty)) == (True, True, 2)
    assert all((row["verdict"], row["actions"]) == (None, 0) for row in faulty.values())
    assert call(home, "resume", "run")[::2] == (0, "")
    assert timeless(home / "run") == whole.rows


@pytest.mark.slow
def test_show_lists_the_tasks_and_prints_a_prompt(whole):
    status, out, err = call(whole.home, "show", "whole")
    assert (status, err, len(out.splitlines())) == (0, "", len({row["task_id"] for row in whole.rows}))
    assert re.fullmatch(r"2  solved in trial 2 .* Guess it\.", out.splitlines()[1])
    _, out, _ = call(whole.home, "show", "whole", "2", "--prompt", "2:1")
    assert "I will say 2" in out.partition("\nuser\n")[2]
    assert "Status: FAILED" in call(whole.home, "show", "whole", "2", "--prompt", "1")[1]
    for wrong in ("1:9", "one", "2"):
        status, _, err = call(whole.home, "show", "whole", "2", "--prompt", wrong)
        assert status == 2, one_line(err)


def test_terminal_without_unicode(whole, monkeypatch):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii", write_through=True))
    monkeypatch.setattr(sys, "argv", ["langgraph-reflexion", "show", str(whole.home / "whole"), "2"])
    with pytest.raises(SystemExit):
        main()
    assert b"reflexion ? toys.guessing:Guessing" in written.getvalue()


@pytest.fixture
def games(home, server):
    """An experiment on three games: `retry` solves one of them, and `reflexion` two."""
    file = home / "games.toml"
    file.write_text(
        f"""
        [common]
        max_trials = 2
        [matrix]
        strategies = ["retry", "reflexion"]
        [environments.game]
        environment = "{ENV}"
        [models.toy]
        model = "openai:toy"
        base_url = "{server.url}"
        """
    )
    return file


@pytest.mark.slow
def test_a_run_with_too_few_solved_tasks_fails_in_one_line(home, server):
    args = run_args(server, "--max-trials", "2", "--out", "run", "--fail-below")
    assert call(home, *args, "0.6")[::2] == (0, ""), "one of three tasks has failed, which is not an error"
    status, out, err = call(home, *args, "0.7", "--json")
    assert status == 1
    assert one_line(err) == "langgraph-reflexion: run solved 2 of 3 tasks (66.7%), which is below 0.7\n"
    assert json.loads(out)["below_gate"] == ["run solved 2 of 3 tasks (66.7%), which is below 0.7"]


@pytest.mark.slow
def test_no_share_of_solved_tasks_makes_up_for_a_fault(home, server):
    server.drops = {"3"}
    status, out, err = call(home, *run_args(server, "--max-trials", "2", "--retries", "1", "--fail-below", "0.6"))
    assert (status, err) == (1, "")
    assert "2 solved, 1 ended by a fault" in out


def test_a_mistaken_gate_is_named_before_anything_runs(home, server):
    wrong = ["--fail-below 80", "--fail-below nan", "--not-worse-than none", "--not-worse-than ./run"]
    for gate in map(str.split, wrong):
        status, out, err = call(home, *run_args(server, "--out", "run", *gate))
        assert (status, out, (home / "run").exists()) == (2, "", False)
        assert gate[1].removeprefix("./") in one_line(err)


@pytest.mark.slow
def test_a_gate_of_an_experiment_judges_each_of_its_runs(home, games):
    assert call(home, "experiment", str(games), "--fail-below", "0.3")[0] == 0
    status, out, err = call(home, "experiment", str(games), "--fail-below", "0.5", "--json")
    assert status == 1
    assert one_line(err).endswith(": game-retry-toy solved 1 of 3 tasks (33.3%), which is below 0.5\n")
    assert len(json.loads(out)["below_gate"]) == 1
    # The folder holds another run by now, which the file does not name.
    games.write_text(games.read_text().replace('"retry", ', ""))
    before = str(Path("runs", "games", "game-retry-toy-s0"))
    assert call(home, "experiment", str(games), "--fail-below", "0.5", "--not-worse-than", before)[0] == 0


@pytest.mark.slow
def test_experiment_is_estimated_run_and_resumed(home, games, server):
    file = games
    assert len(json.loads(call(home, "experiment", str(file), "--dry-run", "--json")[1])["runs"]) == 2
    assert "reflexion" in call(home, "experiment", str(file), "--dry-run")[1]
    assert server.requests == []
    status, out, _ = call(home, "experiment", str(file), "--json")
    assert (status, [each["status"] for each in json.loads(out)["outcomes"]]) == (0, ["finished"] * 2)
    before = len(server.requests)
    status, out, _ = call(home, "experiment", str(file))
    assert (status, len(server.requests)) == (0, before)
    assert out.rstrip().endswith(f"Recorded in {Path('runs') / 'games'}")


@pytest.mark.long
def test_a_reader_may_leave_a_report(tmp_path):
    run = folder(tmp_path / "run", [row("a", 1, True)], ["a"])
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "langgraph_reflexion", "report", str(run)]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.long
def test_sigterm_before_the_first_trial_leaves_no_files(home):
    with GuessingServer() as server:
        server.seconds = 0.3
        process = start(home, *run_args(server, "--option", "highest=1", "--out", "run"))
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not server.requests:
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)  # `test_own_agent` has Ctrl-C
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "nothing was recorded" in one_line(err)
    assert not (home / "run").exists()


@pytest.mark.long
def test_sigterm_stops_a_run_in_the_background_and_ctrl_c_does_not(home):
    with GuessingServer() as server:
        server.seconds = 0.3
        args = run_args(server, "--option", "highest=20", "--out", "run", "--concurrency", "1")
        # Long enough for both signals on a busy machine. As a script does that starts it with `&`.
        process = start(home, *args, interrupted=signal.SIG_IGN)
        wait_for_rows(home / "run", 1)
        process.send_signal(signal.SIGINT)
        wait_for_rows(home / "run", 2)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 130
        assert re.search(r"stopped; \d+ finished trials kept in run: continue with", one_line(err))
        server.seconds = 0.0
        assert call(home, "resume", "run")[0] == 0
    assert len({row["task_id"] for row in timeless(home / "run")}) == 20


@pytest.mark.parametrize("interrupted", [signal.default_int_handler, signal.SIG_IGN])
def test_sigterm_stops_a_command_and_leaves_the_handlers(interrupted):
    handlers = {signal.SIGINT: interrupted, signal.SIGTERM: lambda *_: None}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        with pytest.raises(KeyboardInterrupt), sigterm_as_ctrl_c():
            signal.raise_signal(signal.SIGTERM)
        assert {number: signal.getsignal(number) for number in handlers} == handlers
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@pytest.mark.slow
@pytest.mark.parametrize("args", [("run", "--help"), ("--version",)])
def test_help_and_version_are_quick(home, args):
    code = (
        "import sys\nfrom langgraph_reflexion.lab.cli import main\ntry:\n    main()\nfinally:\n"
        "    heavy = {'langgraph', 'langchain', 'langchain_core', 'langchain_openai', 'openai'}\n"
        "    settings = sys.modules['langgraph_reflexion.lab.run_settings'].RunSettings\n"
        "    print('heavy:', sorted(heavy & set(sys.modules)), 'validator:', settings.__pydantic_complete__)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True, cwd=home)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "heavy: [] validator: False"), done.stderr
    assert args != ("--version",) or done.stdout.startswith(f"langgraph-reflexion {__version__}\n")


@pytest.mark.parametrize("name", EXAMPLES)
def test_help_ends_with_examples_that_fit_and_are_valid(home, name):
    out = call(home, name, "--help")[1]
    shown = [line.strip() for line in out.partition("Examples:\n")[2].splitlines()]
    assert shown == EXAMPLES[name]
    assert [line for line in out.splitlines() if len(line) > 80] == []
    assert all(check(line) for line in shown)
    assert not re.search(r"<(str|list|Path|int)", out), "types of Python"


def test_help_of_run_begins_with_the_tasks_and_shows_one_way_to_give_their_options(home):
    out = call(home, "run", "--help")[1]
    names = re.findall(r"^  (--[\w-]+)", out, re.MULTILINE)
    assert names[:5] == ["--split", "--limit", "--seed", "--tasks", "--KEY"]
    assert "--option" not in names


def test_runs_are_listed_the_newest_first(tmp_path):
    runs = tmp_path / "runs"
    folder(runs / "old", [row("a", 1, True)], ["a", "b"], created="2026-01-01T00:00:00+00:00")
    folder(runs / "matrix" / "new", [row("a", 1, True)], ["a"], created="2026-02-01T00:00:00+00:00")
    folder(tmp_path / "elsewhere", [row("a", 1, True)], ["a"])
    (runs / "linked").symlink_to(tmp_path / "elsewhere")
    (runs / "broken").mkdir()
    (runs / "broken" / "run.json").write_text("{")
    status, out, err = call(tmp_path, "list", "--json")
    listed = json.loads(out)
    assert (status, err.count("\n"), err.startswith("Left out: runs/broken")) == (0, 1, True)
    assert [each["dir"] for each in listed] == ["runs/matrix/new", "runs/old"]
    assert [(each["solved"], each["finished"], each["tasks"]) for each in listed] == [(1, 1, 1), (1, 1, 2)]
    status, out, _ = call(tmp_path, "list")
    assert (status, max(map(len, out.splitlines())) <= 80) == (0, True)
    assert re.search(r"old .*\b1 of 2\b", out)
    assert "there is no folder nowhere" in one_line(call(tmp_path, "list", "nowhere")[2])


@pytest.mark.slow
def test_a_report_is_opened_in_the_browser(tmp_path):
    run = folder(tmp_path / "run", [row("a", 1, True)], ["a"])
    browser = tmp_path / "browser"
    browser.write_text('#!/bin/sh\necho "$1" > "$(dirname "$0")/opened"\n')
    browser.chmod(0o755)
    command = [sys.executable, "-m", "langgraph_reflexion", "report", str(run), "--open"]
    environment = os.environ | {"BROWSER": f"{browser} %s", "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    opened = (tmp_path / "opened").read_text().strip()
    assert "<svg" in Path(opened.removeprefix("file://")).read_text()
    assert not (run / "report.html").exists()


def test_a_page_in_a_mistyped_folder_is_refused(tmp_path):
    run = folder(tmp_path / "run", [row("a", 1, True)], ["a"])
    status, _, err = call(tmp_path, "report", str(run), "--html", "no/such/page.html")
    assert (status, "cannot write the page to no/such/page.html" in one_line(err)) == (2, True)
    assert not (tmp_path / "no").exists()


@pytest.mark.slow
def test_the_demo_plays_both_strategies_writes_a_page_and_plays_nothing_twice(home):
    status, out, err = call(home, "demo", "--games", "1")
    assert status == 0
    assert "starting over with reflections" in err
    assert "is not an LLM" in out
    page = home / "runs" / "demo" / "report.html"
    assert str(page.relative_to(home)) in out
    assert "retry" in page.read_text(encoding="utf-8")
    rows = {
        strategy: (home / "runs" / "demo" / strategy / "trials.jsonl").read_text(encoding="utf-8")
        for strategy in ("retry", "reflexion")
    }
    assert all(rows.values())
    again, shown, _ = call(home, "demo", "--games", "1")
    assert (again, shown) == (0, out)
    for strategy, before in rows.items():
        assert (home / "runs" / "demo" / strategy / "trials.jsonl").read_text(encoding="utf-8") == before


@pytest.mark.slow
def test_a_watched_page_grows_with_the_run_and_stops_reloading_at_ctrl_c(tmp_path):
    run = folder(tmp_path / "run", [row("a", 1, False)], ["a", "b"])
    page = tmp_path / "page.html"

    def content():
        return page.read_text(encoding="utf-8") if page.exists() else ""

    with start(tmp_path, "report", str(run), "--html", str(page), "--watch", "1") as watching:
        assert until(lambda: 'http-equiv="refresh" content="1"' in content())
        before = content()
        with (run / "trials.jsonl").open("a", encoding="utf-8") as trials:
            trials.write(json.dumps(row("a", 2, True)) + "\n")
        assert until(lambda: content() not in ("", before))
        watching.send_signal(signal.SIGINT)
        out, err = watching.communicate(timeout=60)
    assert (watching.returncode, err) == (0, "")
    assert "again every 1 s until Ctrl-C" in out
    assert 'http-equiv="refresh"' not in content()
    assert list(tmp_path.glob("*.part")) == []


@pytest.mark.parametrize("args", [("--watch", "1"), ("--watch", "1", "--html", "page.html", "--json")])
def test_what_cannot_be_watched_is_one_line(tmp_path, args):
    run = folder(tmp_path / "run", [row("a", 1, True)], ["a"])
    status, _, err = call(tmp_path, "report", str(run), *args)
    assert (status, one_line(err).startswith("langgraph-reflexion: --watch writes")) == (2, True)


MINE = """
from pathlib import Path
from langgraph_reflexion import load_environment

class Mine(type(load_environment("alfworld"))):
    prompts = Path(__file__).parent / "terse"
"""


@pytest.fixture
def mine(tmp_path):
    """The folder of an environment of the user's own, with a folder of prompts."""
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "terse").mkdir()
    return tmp_path


@pytest.mark.slow
def test_after_a_broken_template_a_run_goes_on_with_the_mended_one(mine):
    template = mine / "terse" / "reflect.md"
    template.write_text("Think about {{ task }}.")
    command = ("run", "mine.py:Mine", "--limit", "3", "--max-trials", "2", "--out", "run")
    status, out, _ = call(mine, *command)
    assert status == 1
    errors = (mine / "run" / "errors.log").read_text()
    assert "reflect.md, line 1: UndefinedError: 'task' is undefined: its values are " in errors

    template.write_text("Say in a sentence what went wrong.")
    # A run that cannot be opened stays as it is, and can still go on with the mended prompt.
    run_json = mine / "run" / "run.json"
    before = json.loads(run_json.read_text())
    checkpoints = mine / "run" / "checkpoints.db"
    kept = checkpoints.read_bytes()
    checkpoints.write_bytes(b"no database, but as long as one " * 500)
    assert call(mine, *command)[0] != 0
    checkpoints.write_bytes(kept)
    after = json.loads(run_json.read_text())
    assert after["errors"] == before["errors"]
    assert after["seconds"] >= before["seconds"]
    assert "{{ task }}" in (mine / "run" / "prompts" / "reflect.md").read_text()

    status, out, _ = call(mine, *command)
    said = " ".join(out.split())
    assert (status, "prompts/reflect.md was changed while it went on" in said) == (0, True)
    assert (mine / "run" / "prompts" / "reflect.md").read_text() == template.read_text()


@pytest.mark.slow
def test_a_dry_run_names_a_run_that_began_with_other_prompts(mine):
    setting = mine / "terse" / "setting.md"
    setting.write_text("You are in a household.")
    (mine / "terse.toml").write_text(
        """
        [environments.terse]
        environment = "mine.py:Mine"
        limit = 1
        max_trials = 1
        strategies = ["retry"]
        """
    )
    assert call(mine, "experiment", "terse.toml")[0] == 0
    setting.write_text("You are in a house.")
    status, out, _ = call(mine, "experiment", "terse.toml", "--dry-run")
    said = " ".join(out.split())
    assert (status, "holds a run with other prompts: setting.md" in said) == (1, True), said


def test_an_option_without_its_value_starts_nothing(tmp_path):
    (tmp_path / "a.toml").write_text("[environments.alfworld]\nlimit = 1\n")
    for option in ("--out", "--model", "--base-url"):
        status, out, err = call(tmp_path, "experiment", "a.toml", option, "--dry-run")
        assert (status, out) == (2, "")
        assert f"{option} needs a value" in one_line(err)
    assert not (tmp_path / "--dry-run").exists()


@pytest.fixture
def received(tmp_path):
    """A finished run folder, as somebody may have sent it, beside files that it must not reach."""
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.md").write_text("keep")
    assert call(tmp_path, "run", "alfworld", "--limit", "1", "--max-trials", "1", "--out", "received")[0] == 0
    file = tmp_path / "received" / "run.json"
    info = json.loads(file.read_text())
    # An error lifts the refusal of other prompts.
    info["errors"] = {info["tasks"][0]: "ValueError: x"}
    file.write_text(json.dumps(info))
    return tmp_path


@pytest.mark.slow
def test_a_received_folder_is_resumed_without_leaving_it(received):
    run, precious = received / "received", received / "precious"
    shutil.rmtree(run / "prompts")
    (run / "prompts").symlink_to(precious)
    status, _, err = call(received, "resume", "received")
    assert (status, "prompts is a link" in one_line(err)) == (2, True), one_line(err)
    assert [each.name for each in precious.iterdir()] == ["thesis.md"]
    (run / "prompts").unlink()
    (run / "prompts").mkdir()

    (run / "prompts" / "act.md").symlink_to(precious / "thesis.md")
    status, _, err = call(received, "resume", "received")
    assert (status, "act.md is not an ordinary file" in one_line(err)) == (2, True), one_line(err)
    (run / "prompts" / "act.md").unlink()

    (run / "run.json.tmp").symlink_to(precious / "thesis.md")
    status, _, err = call(received, "resume", "received")
    assert (status, "run.json.tmp is a link" in one_line(err)) == (2, True), one_line(err)
    assert (precious / "thesis.md").read_text() == "keep"
    (run / "run.json.tmp").unlink()

    # What is not the run's own stays.
    (run / "prompts" / "NOTES.txt").write_text("mine")
    assert call(received, "resume", "received")[0] == 0
    assert (run / "prompts" / "NOTES.txt").read_text() == "mine"
