"""The command line, as real processes against a real model server on loopback."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from langgraph_reflexion import __version__
from langgraph_reflexion.cli import main

KEY = "sk-very-secret-0123456789"

# Found by its path from where the user is. The task n is solved by saying n.
TOYS = '''
from typing import Annotated
from langgraph_reflexion import Environment, Episode, StepResult, Task, action

class Guess(Episode):
    def __init__(self, number):
        self.observation = f"I think of a number. This is game {number}."
        self.number = number

    @action("say {number}")
    def say(self, number: Annotated[int, "the guess"]) -> StepResult:
        """Say a number."""
        right = number == self.number
        return StepResult("Right." if right else "Wrong.", float(right), terminated=True)

    @action("wait")
    def wait(self) -> str:
        """Wait."""
        return "You wait."

    @action("drop it", name="drop")
    def drop(self) -> str:
        """Break the game."""
        raise OSError("the game fell on the floor")

class Guessing(Environment):
    name = "guessing"
    splits = ("numbers", "letters")
    episode = Guess

    def __init__(self, seed=0, highest=3):
        self.seed, self.highest = seed, highest

    def tasks(self, split=None, limit=None):
        numbers = range(1, self.highest + 1)
        return [Task(id=f"g{n}", instruction="Guess it.", data={"number": n}) for n in numbers][:limit]

    def start(self, task):
        return Guess(task["data"]["number"])
'''
ENV = "toys.guessing:Guessing"


class ModelServer(ThreadingHTTPServer):
    """An OpenAI-compatible server whose model counts up from trial to trial."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"
        self.keys: list[str] = []
        self.refuse_keys = False
        self.drops: set[str] = set()
        self.overloaded: set[str] = set()
        self.seconds = 0.0
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(BaseHTTPRequestHandler):
    server: ModelServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.keys.append(self.headers["Authorization"])
        time.sleep(self.server.seconds)
        if self.server.refuse_keys:
            said = f"Incorrect API key provided: {self.headers['Authorization'].split()[1]}"
            return self.answer(401, {"error": {"message": said, "code": "invalid_api_key"}})
        if any(f"This is game {number}." in body["messages"][1]["content"] for number in self.server.overloaded):
            return self.answer(400, {"error": {"message": "not now"}})
        message = {"role": "assistant", "content": self.reply(body["messages"][-1]["content"])}
        answer = {
            "id": "1",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105},
        }
        return self.answer(200, answer)

    def reply(self, text: str) -> str:
        if any(f"This is game {number}." in text for number in self.server.drops):
            return "Action: drop it"
        advised = re.findall(r"I will say (\d+)", text)
        number = int(advised[-1]) if advised else 1
        if "Status: FAILED" in text:
            return f"{number} was wrong. Next time I will say {number + 1}."
        return f"Action: say {number}"

    def answer(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[ModelServer]:
    made = ModelServer()
    yield made
    made.shutdown()
    made.server_close()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Where the user is: a folder with a package of his own."""
    (tmp_path / "toys").mkdir()
    (tmp_path / "toys" / "__init__.py").touch()
    (tmp_path / "toys" / "guessing.py").write_text(TOYS)
    return tmp_path


def start(home: Path, *args: str, key: str | None = None) -> subprocess.Popen[str]:
    dropped = ("OPENAI_", "COLUMNS", "FORCE_COLOR", "LANGSMITH_", "LANGCHAIN_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    if key:
        environment["OPENAI_API_KEY"] = key
    return subprocess.Popen(
        [sys.executable, "-m", "langgraph_reflexion", *args],
        cwd=home,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # What a shell starts in the background ignores the signal, and passes that on.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def call(home: Path, *args: str, key: str | None = None, typed: str = "") -> tuple[int, str, str]:
    process = start(home, *args, key=key)
    out, err = process.communicate(typed, timeout=60)
    return process.returncode, out, err


def run_args(server: ModelServer, *args: str) -> list[str]:
    return ["run", ENV, "--model", "openai:toy", "--base-url", server.url, *args]


def one_line(err: str) -> str:
    assert err.count("\n") == 1, err
    assert err.startswith("langgraph-reflexion: ")
    assert KEY not in err
    return err


def timeless(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "trials.jsonl").read_text().splitlines()
    return [{**json.loads(line), "seconds": 0} for line in lines]


def wait_for_rows(folder: Path, rows: int) -> None:
    trials = folder / "trials.jsonl"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (trials.exists() and len(trials.read_bytes().splitlines()) >= rows):
        time.sleep(0.02)


def test_a_run_is_recorded_and_reported_without_the_key(home: Path, server: ModelServer) -> None:
    status, out, err = call(home, *run_args(server, "--trials", "2"), key=KEY)
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
    assert set(server.keys) == {f"Bearer {KEY}"}
    assert not [path for path in folder.iterdir() if KEY.encode() in path.read_bytes()]
    settings = json.loads((folder / "run.json").read_text())["settings"]
    assert (settings["environment"], settings["split"], settings["trials"]) == (ENV, "numbers", 2)

    status, out, err = call(home, "report", str(folder), str(folder), "--json")
    assert (status, err) == (0, "")
    one, other = json.loads(out)["runs"]
    assert one == other
    assert (one["tasks"], one["solved"], one["faults"]) == (3, [1, 2], 0)
    assert one["failures"] == [{"terminated": 2}, {"terminated": 1}]


def test_json_is_all_that_is_printed_and_the_record_does_not_depend_on_the_concurrency(
    home: Path, server: ModelServer
) -> None:
    args = run_args(server, "--option", "highest=5", "--limit", "4", "--seed", "7", "--json")
    folders = []
    for concurrency in ("1", "8"):
        status, out, err = call(home, *args, "--out", concurrency, "--concurrency", concurrency)
        assert (status, err) == (0, "")
        summary = json.loads(out)
        assert (summary["dir"], summary["tasks"], summary["demo"]) == (concurrency, 4, False)
        assert summary["solved"] == [1, 2, 3] + [4] * 9
        assert summary["statuses"] == {"solved": 4, "failed": 0, "fault": 0, "budget": 0, "unfinished": 0}
        assert (summary["settings"]["seed"], summary["settings"]["options"]) == (7, {"highest": 5})
        assert summary["llm_calls"] == 10 + 6
        folders.append(home / concurrency)
    one, eight = folders
    assert timeless(one) == timeless(eight)
    assert (one / "trajectories.jsonl").read_bytes() == (eight / "trajectories.jsonl").read_bytes()


def test_the_demo_model_plays_and_is_called_no_llm(home: Path) -> None:
    status, out, err = call(home, "run", "alfworld", "--limit", "4", "--trials", "3", "--out", "run")
    assert (status, err) == (0, "")
    assert "alfworld generated-134, 4 tasks · demo model, not an LLM" in out
    assert "not an LLM" in json.loads((home / "run" / "run.json").read_text())["note"]
    assert {row["task_id"] for row in timeless(home / "run") if row["success"]}


def test_all_tasks_advance_together_until_nothing_new_is_solved(home: Path, server: ModelServer) -> None:
    args = run_args(server, "--strategy", "retry", "--stop-without-improvement", "--json")
    status, out, _ = call(home, *args)
    summary = json.loads(out)
    assert (status, summary["solved"], summary["unfinished"]) == (0, [1, 1], 2)


def test_a_task_that_ends_as_a_fault_shows_in_the_status(home: Path, server: ModelServer) -> None:
    server.drops = {"2"}
    status, out, err = call(home, *run_args(server))
    assert (status, err) == (1, "")
    assert "2 solved, 1 fault in" in out
    assert "fell on the floor" in [row["fault"] for row in timeless(home / "runs/guessing-numbers-reflexion-1")][1]


def test_a_wrong_key_is_one_line_without_the_key(home: Path, server: ModelServer) -> None:
    server.refuse_keys = True
    status, out, err = call(home, *run_args(server), key=KEY)
    assert (status, out) == (2, "")
    assert "401" in one_line(err)
    assert len(server.keys) <= 3
    assert not list((home / "runs").glob("*"))


def test_a_server_that_is_not_there_is_one_line(home: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
        status, out, err = call(home, "run", ENV, "--model", "openai:toy", "--base-url", url)
    assert (status, out) == (2, "")
    assert "has not answered once" in one_line(err)
    assert "--base-url" in err


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
        (["run", ENV, "--profile", "mine"], "paper, preprint, upstream"),
        (["run", ENV, "--agent", "secret"], "react, tools"),
        (["run", ENV, "--evaluator", "me"], "environment, llm"),
        (["run", ENV, "--feedback", "loud"], "binary, scalar, words"),
        (["run", ENV, "--trials", "0"], "--trials"),
        (["run", ENV, "--limit", "many"], "--limit"),
        (["run", ENV, "--colour", "red"], "--colour"),
        (["run"], "ENV"),
        (["sing"], "sing"),
        (["report"], "DIR"),
        (["report", "nowhere"], "nowhere holds no run"),
        (["report", "toys"], "toys holds no run"),
        (["play", ENV, "--task", "g9"], "no task 'g9'"),
        (["run", ENV, "--checkpoints", "some"], "history, latest"),
        (["resume"], "DIR"),
        (["resume", "nowhere"], "nowhere holds no run: there is no run.json"),
        (["resume", "toys"], "toys holds no run: there is no run.json"),
        (["resume", "toys", "--strategy", "retry"], "--strategy"),
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
    # In this process, as every other one spends two seconds on imports.
    monkeypatch.chdir(home)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "argv", ["langgraph-reflexion", *args])
    with pytest.raises(SystemExit) as ended:
        main()
    out, err = capsys.readouterr()
    assert (ended.value.code, out) == (2, "")
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


def test_a_folder_that_holds_something_else_is_refused(home: Path, server: ModelServer) -> None:
    (home / "run").mkdir()
    (home / "run" / "run.json").write_text("{}")
    status, out, err = call(home, *run_args(server, "--out", "run"))
    assert (status, out) == (2, "")
    assert "run holds no run that can go on" in one_line(err)
    assert (home / "run" / "run.json").read_text() == "{}"
    assert server.keys == []


def test_a_killed_run_goes_on_by_either_command_and_on_another_machine(home: Path, server: ModelServer) -> None:
    args = run_args(server, "--option", "highest=5", "--trials", "4", "--concurrency", "2", "--out")
    assert call(home, *args, "whole")[0] == 0
    asked = len(server.keys)
    server.seconds = 0.1
    process = start(home, *args, "run")
    wait_for_rows(home / "run", 4)
    server.seconds = 60.0  # what is asked now is in flight until the end
    for command in ([*args, "run"], ["resume", "run"]):
        status, out, err = call(home, *command)
        assert (status, out) == (2, "")
        assert "another process is at work on run" in one_line(err)
    process.kill()
    process.communicate()
    shutil.copytree(home / "run", home / "elsewhere")
    server.seconds = 0.0
    for command in ([*args, "run"], ["resume", "elsewhere"]):
        server.keys.clear()
        status, out, err = call(home, *command)
        assert (status, err) == (0, "")
        assert "4 solved, 1 failed in " in out
        assert timeless(home / command[-1]) == timeless(home / "whole")
        assert 0 < len(server.keys) < asked - 4
    # A finished run has nothing left to do.
    server.keys.clear()
    status, out, _ = call(home, "resume", "run", "--json")
    assert (status, json.loads(out)["solved"], server.keys) == (0, [1, 2, 3, 4], [])
    # More trials: the last failed one gets its reflection first.
    status, out, _ = call(home, "resume", "run", "--trials", "5", "--concurrency", "1")
    assert (status, len(server.keys)) == (0, 2)
    assert "5 solved in " in out
    reflections = [row["reflection"] for row in timeless(home / "run")]
    assert reflections[-2:] == [
        "4 was wrong. Next time I will say 5.",
        None,
    ]


def test_a_fault_is_tried_again_and_its_row_replaced(home: Path, server: ModelServer) -> None:
    assert call(home, *run_args(server, "--out", "whole"))[0] == 0
    server.overloaded = {"2"}
    # One after the other: were the one that is refused the first to be answered, nothing could start.
    status, out, _ = call(home, *run_args(server, "--concurrency", "1", "--out", "run"))
    assert (status, [bool(row["fault"]) for row in timeless(home / "run")].count(True)) == (1, 1)
    for command in (["resume", "run"], run_args(server, "--out", "run")):
        if command[0] == "run":
            server.overloaded = set()
        status, out, _ = call(home, *command, "--json")
        summary = json.loads(out or "{}")
        assert (status, summary.get("faults")) == ((2, None) if command[0] == "resume" else (0, 0))
    assert timeless(home / "run") == timeless(home / "whole")


def test_a_run_goes_on_only_under_its_own_settings(home: Path, server: ModelServer) -> None:
    args = run_args(server, "--out", "run", "--trials", "2")
    assert call(home, *args)[0] == 0
    before = {path.name: path.read_bytes() for path in (home / "run").iterdir()}
    for more, says in (
        (["--strategy", "retry", "--seed", "7"], "strategy was reflexion, is retry; seed was 0, is 7"),
        (["--trials", "1"], "trials was 2, is 1, and can only be raised"),
        (["--option", "highest=2"], 'options was {}, is {"highest": 2}'),
    ):
        status, out, err = call(home, *args, *more)
        assert (status, out) == (2, "")
        assert f"run holds a run with other settings: {says}" in one_line(err)
    assert {path.name: path.read_bytes() for path in (home / "run").iterdir()} == before


def test_a_run_that_is_interrupted_before_any_answer_leaves_nothing(home: Path, server: ModelServer) -> None:
    server.seconds = 0.3
    process = start(home, *run_args(server, "--option", "highest=1", "--out", "run"))
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not server.keys:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    # No answer had come yet, so there is nothing to keep.
    assert "nothing had begun" in one_line(err)
    assert not (home / "run").exists()


def test_an_interrupted_run_says_where_its_rows_are(home: Path, server: ModelServer) -> None:
    server.seconds = 0.2
    args = run_args(server, "--option", "highest=50", "--trials", "5", "--concurrency", "4", "--out", "run")
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
    assert out.splitlines()[:2] == ["I think of a number. This is game 2.", "Guess it."]
    assert out.count("Actions: say {number}; wait; drop it.") == 2
    assert "Invalid action" in out
    assert out.splitlines()[-2:] == ["Right.", "You won after 3 actions."]


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
    status, out, _ = call(home, "run", "alfworld", "--limit", "1", "--trials", "1")
    assert status == 0
    assert "demo model, not an LLM" in out
