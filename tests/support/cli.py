"""The command line in this process or as one of its own, beside a model server on loopback."""

import contextlib
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

import pytest
from langchain_core.messages import AIMessage

from langgraph_reflexion.lab.cli import main
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.model_server import ModelServer
from tests.support.processes import until

KEY = "sk-very-secret-0123456789"

ENV = "toys.guessing:Guessing"
"""The guessing game, found by its path from where the user is. Task n is solved by saying n."""


class GuessingServer(ModelServer):
    """A server whose model counts up from trial to trial; games have faults, or are broken by the model (`drops`)."""

    def __init__(self, refuses=(), **options):
        super().__init__(ScriptedChatModel(replies=self._reply), faults=self._fault, **options)
        self.refuses = refuses
        self.faults = lambda game: None
        self.drops = set()
        self.seconds = 0.0

    def _fault(self, request):
        time.sleep(self.seconds)
        refused = (f"refused:{name}" for name in self.refuses if name in request.body)
        return self.faults(game_of(str(request.body["messages"]))) or next(refused, None)

    def _reply(self, messages):
        usage = {"input_tokens": 100, "output_tokens": 5, "total_tokens": 105}
        return AIMessage(self._said(messages[-1].text), usage_metadata=usage)

    def _said(self, text):
        if game_of(text) in self.drops:
            return "Action: drop it"
        advised = re.findall(r"I will say (\d+)", text)
        number = int(advised[-1]) if advised else 1
        if "Status: FAILED" in text:
            return f"{number} was wrong. Next time I will say {number + 1}."
        return f"Action: say {number}"


def game_of(text):
    """The number of the game that a text is about."""
    return re.findall(r"This is game (\d+)\.|$", text)[0]


@pytest.fixture
def server():
    """A model server for the game."""
    with GuessingServer() as made:
        yield made


@pytest.fixture
def home(tmp_path):
    """Where the user is."""
    return make_home(tmp_path)


def make_home(folder):
    """Where the user is: a folder with a package of his own."""
    (folder / "toys").mkdir()
    (folder / "toys" / "__init__.py").touch()
    shutil.copy(Path(__file__).with_name("game.py"), folder / "toys" / "guessing.py")
    return folder


def start(home, *args, key=None, program=("-m", "langgraph_reflexion"), environment=None, interrupted=signal.SIG_DFL):
    return subprocess.Popen(
        [sys.executable, *program, *args],
        cwd=home,
        env={**environment_with(key), **(environment or {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # What a shell starts in the background ignores the signal, and passes that on.
        preexec_fn=lambda: signal.signal(signal.SIGINT, interrupted),
    )


def call(home, *args, key=None, typed="", environment=None):
    """Run a command in this process: its exit status, its output and its errors."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.ExitStack() as around:
        around.enter_context(contextlib.chdir(home))
        around.enter_context(
            mock.patch.dict(os.environ, {**environment_with(key), **(environment or {})}, clear=True)
        )
        around.enter_context(mock.patch.multiple(sys, argv=["langgraph-reflexion", *args], path=[*sys.path]))
        around.enter_context(mock.patch.object(sys, "stdin", io.StringIO(typed)))
        around.callback(forget, home)
        around.enter_context(contextlib.redirect_stdout(out))
        around.enter_context(contextlib.redirect_stderr(err))
        try:
            main()
        except SystemExit as ended:
            return int(ended.code or 0), out.getvalue(), err.getvalue()
    raise AssertionError("the command did not exit")


def forget(home):
    """Forget the modules of a folder: the next one may have others of the same names."""
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(f"{home}{os.sep}"):
            del sys.modules[name]


def environment_with(key):
    dropped = ("OPENAI_", "COLUMNS", "FORCE_COLOR", "LANGSMITH_", "LANGCHAIN_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return environment | ({"OPENAI_API_KEY": key} if key else {})


def run_args(server, *args):
    return ["run", ENV, "--model", "openai:toy", "--base-url", server.url, *args]


def one_line(err):
    assert err.count("\n") == 1, err
    assert err.startswith("langgraph-reflexion: ")
    assert KEY not in err
    return err


def wait_for_rows(folder, rows):
    trials = folder / "trials.jsonl"
    until(lambda: trials.exists() and len(trials.read_bytes().splitlines()) >= rows, 240)
