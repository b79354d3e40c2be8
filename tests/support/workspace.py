"""A small workspace whose check fails, and a trial in it."""

import hashlib
import os

import pytest

from langgraph_reflexion.envs.base import Action, Task
from langgraph_reflexion.envs.workspace.environment import Workspace
from tests.support.tools import need

CODE = "def double(n):\n    return n + 2\n"
CHECK = "from code_ import double\n\nassert double(4) == 8, double(4)\n"
FAILING = {"instruction": "Make the check pass.", "verify": ["PYTHONPATH=. python3 tests/check.py"]}
PYTEST = "env PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 pytest -q"


def state(folder):
    """All that a folder holds, byte for byte, with modes and times."""
    held = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        if path.is_symlink():
            content = os.readlink(path)
        else:
            content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        held[str(path.relative_to(folder))] = (status.st_mode, status.st_mtime_ns, status.st_size, content)
    return held


class Played:
    """A task with its environment, played from Python."""

    def __init__(self, environment):
        self.environment = environment
        self.task = Task(**environment.tasks()[0])
        self.task["prepared"] = environment.prepare(self.task)
        self.episode = environment.start(self.task)

    @property
    def root(self):
        return self.episode._copy.root

    def do(self, name, **args):
        return self.episode.step(Action(name=name, args=args, text=""))

    def say(self, text):
        action = self.environment.parse(text)
        assert action is not None, text
        return self.episode.step(action)

    def again(self, snapshot=None):
        return self.environment.restore(self.task, snapshot or self.episode.snapshot())

    def patch(self):
        return self.environment.patch(self.task, self.episode.snapshot())


def write_folder(folder):
    """Write a small workspace whose check fails."""
    (folder / "tests").mkdir(parents=True)
    (folder / "code_.py").write_text(CODE)
    (folder / "tests" / "check.py").write_text(CHECK)
    return folder


@pytest.fixture
def folder(tmp_path):
    """A small workspace whose check fails."""
    return write_folder(tmp_path / "original")


@pytest.fixture
def tested(folder):
    """The same with a test for pytest."""
    (folder / "tests" / "check.py").unlink()
    (folder / "tests" / "test_code.py").write_text(
        "from code_ import double\n\n\ndef test():\n    assert double(4) == 8\n"
    )
    (folder / "pyproject.toml").write_text('[tool.pytest.ini_options]\npythonpath = ["."]\n')
    return folder


@pytest.fixture
def play(folder, tmp_path):
    """Begins a trial in the workspace."""
    need("bubblewrap")
    begun = []

    def begin(**more):
        played = Played(Workspace({**FAILING, "path": folder, **more}, store=tmp_path / "store"))
        begun.append(played)
        return played

    yield begin
    for played in begun:
        played.episode.close()
        played.environment.close()
