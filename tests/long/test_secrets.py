"""No key or password is written to records, checkpoints, caches, logs or process arguments."""

import json
from base64 import b64encode
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.support.cli import GuessingServer, make_home, run_args, start
from tests.support.guessing import timeless
from tests.support.loopback import ErrorAnswer

# Encoded differently in JSON, in addresses and in headers.
KEY = 'sk-very"secret/0123+456789='

PASSWORD = "pa55word/with+more"

PROGRAM = "import logging; {}; from langgraph_reflexion.lab.cli import main; main()"
EVERYTHING = "logging.basicConfig(level=logging.DEBUG)"
"""Clients log, too. What they make of keys is known to be harmless; addresses they log as they are."""
OURS = "logging.basicConfig(); logging.getLogger('langgraph_reflexion').setLevel(logging.DEBUG)"


def spellings(key):
    """The encodings in which a key can appear."""
    shifted = {b64encode(b" " * before + key.encode())[4:-4].decode() for before in range(3)}
    escaped = {json.dumps(key)[1:-1], repr(key)[1:-1], quote(key), quote(key, safe="")}
    return {each.encode() for each in {key, key.encode().hex()} | escaped | shifted}


def found(folder, key):
    """The files below a folder that contain a key in any encoding."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    return [str(path.name) for path in files if any(each in path.read_bytes() for each in spellings(key))]


class Telltale(GuessingServer):
    """A server that quotes a secret in game 2, and reads its client's command line."""

    def __init__(self):
        super().__init__()
        self.secret = None
        self.process = None
        self.arguments = b""

    def _fault(self, request):
        cmdline = Path(f"/proc/{self.process.pid}/cmdline") if self.process else Path()
        if cmdline.is_file():
            self.arguments += cmdline.read_bytes()
        return super()._fault(request)

    def _reply(self, messages):
        if self.secret and "This is game 2." in str(messages):
            raise ErrorAnswer(500, f"upstream said no to '{self.secret}' at /?key={quote(self.secret, safe='')}")
        return super()._reply(messages)


@pytest.fixture
def server():
    with Telltale() as made:
        yield made


def logged(home, server, what, *args):
    # A space before a pasted key is stripped.
    server.process = start(home, *args, key=f" {KEY}", program=("-c", PROGRAM.format(what)))
    out, err = server.process.communicate(timeout=240)
    return server.process.returncode, out, err


def test_key_is_not_written_to_any_file(tmp_path, server):
    home = make_home(tmp_path)
    args = run_args(server, "--option", "highest=5", "--max-trials", "2", "--concurrency", "1", "--retries", "2")
    args += ["--checkpoints", "history", "--cache", "answers/kept.db", "--out", "run"]
    server.secret = KEY
    # Game 2 has a fault that quotes the key; at game 4 the key is refused, and quoted.
    server.faults = {"4": "wrong-key"}.get
    said = ""
    for number, (command, status) in enumerate([(args, 2), (["resume", "run"], 0)]):
        ended, out, err = logged(home, server, EVERYTHING, *command)
        assert ended == status, err
        said += out + err
        if number == 0:
            assert "401" in err.splitlines()[-1]
            faults = [row["fault"] for row in timeless(home / "run") if row["fault"]]
            assert "upstream said no to " in faults[0]
            assert "DEBUG:" in err
            assert "INFO:langgraph_reflexion.waiting:retry 1 of " in err
            assert found(home, KEY) == []
            server.secret, server.faults = None, {}.get
    assert {request.key for request in server.requests} == {KEY}
    assert {path.name for path in (home / "run").iterdir()} >= {"run.json", "trials.jsonl", "checkpoints.db"}
    assert found(home, KEY) == []
    assert [each for each in spellings(KEY) if each in said.encode()] == []
    assert b"openai:toy" in server.arguments or not Path("/proc/self/cmdline").exists()
    assert [each for each in spellings(KEY) if each in server.arguments] == []


def test_password_of_an_address_is_not_written_to_any_file(tmp_path, server):
    # The process's arguments contain it, because the user typed it there. Keys come from the environment.
    home = make_home(tmp_path)
    server.secret = PASSWORD
    args = run_args(server, "--max-trials", "2", "--concurrency", "1", "--retries", "2", "--cache", "kept.db")
    args[args.index(server.url)] = server.url.replace("//", f"//someone:{quote(PASSWORD, safe='')}@")
    status, out, err = logged(home, server, OURS, *args)
    assert (status, "1 ended by a fault" in out) == (1, True), err
    assert "retry 1 of 1 in " in err
    assert "upstream said no to " in next(home.glob("runs/*/trials.jsonl")).read_text()
    assert found(home, PASSWORD) == []
    assert [each for each in spellings(PASSWORD) if each in (out + err).encode()] == []
