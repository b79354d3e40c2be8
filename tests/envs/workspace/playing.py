"""A small workspace whose check fails, and a trial in it."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from langgraph_reflexion.envs.base import Action, StepResult, Task
from langgraph_reflexion.envs.workspace.environment import Workspace
from langgraph_reflexion.envs.workspace.episode import WorkspaceEpisode

CODE = "def double(n):\n    return n + 2\n"
CHECK = "from code_ import double\n\nassert double(4) == 8, double(4)\n"
PYTEST = "env PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 pytest -q"


def state(folder: Path) -> dict[str, Any]:
    """All that a folder holds, byte for byte, with modes and times."""
    held: dict[str, Any] = {}
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

    def __init__(self, environment: Workspace) -> None:
        self.environment = environment
        self.task = Task(**environment.tasks()[0])
        self.task["prepared"] = environment.prepare(self.task)
        self.episode = environment.start(self.task)

    @property
    def root(self) -> Path:
        return self.episode._copy.root

    def do(self, name: str, **args: Any) -> StepResult:
        return self.episode.step(Action(name=name, args=args, text=""))

    def say(self, text: str) -> StepResult:
        action = self.environment.parse(text)
        assert action is not None, text
        return self.episode.step(action)

    def again(self, snapshot: dict[str, Any] | None = None) -> WorkspaceEpisode:
        return self.environment.restore(self.task, snapshot or self.episode.snapshot())

    def patch(self) -> str:
        return self.environment.patch(self.task, self.episode.snapshot())


Play = Callable[..., Played]
