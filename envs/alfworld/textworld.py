"""The reference engine: TextWorld's and ALFWorld's own code, in child processes.

The original is not thread-safe and changes the process around it (`textworld_worker` says how), so each live game is
played in a child process.
"""

import os
import re
import subprocess
import sys
import tempfile
import threading
import weakref
from importlib.util import find_spec
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

from langgraph_reflexion.envs.alfworld.engine import Game
from langgraph_reflexion.errors import ConfigurationError, EnvironmentFault, EnvironmentUnavailable, the_extra

RECYCLE = 64
"""Number of games after which a child ends: its memory only grows."""
_PLACEHOLDER = "UNKNOWN GOAL"
_SCRIPT = Path(__file__).with_name("textworld_worker.py")


def unavailable() -> str | None:
    """Return why the reference engine cannot be used here and what to do, or None if it can."""
    missing = [name for name in ("alfworld", "textworld", "fast_downward") if find_spec(name) is None]
    if not missing:
        return None
    if sys.version_info >= (3, 13):
        python = f"{sys.version_info.major}.{sys.version_info.minor}"
        return f"TextWorld 1.7, ALFWorld's engine, does not run on Python {python}: use Python 3.11 or 3.12"
    return f"ALFWorld's engine is missing ({', '.join(missing)}); it comes with {the_extra('alfworld')}"


def installed_texts() -> tuple[str, str]:
    """Return the PDDL domain and the text grammar of the installed ALFWorld, without importing it.

    Raises:
        EnvironmentUnavailable: ALFWorld is not installed.
    """
    spec = find_spec("alfworld")
    folders: list[str] = []
    if spec and spec.submodule_search_locations:
        folders = list(spec.submodule_search_locations)
    for folder in folders:
        domain = Path(folder, "data", "alfred.pddl")
        grammar = Path(folder, "data", "alfred.twl2")
        if domain.is_file() and grammar.is_file():
            return domain.read_text(encoding="utf-8"), grammar.read_text(encoding="utf-8")
    raise EnvironmentUnavailable(f"the original ALFWorld engine is missing; it comes with {the_extra('alfworld')}")


def to_tw_pddl(game: Game, domain: str, grammar: str) -> dict[str, Any]:
    """Return the content of a `game.tw-pddl` file; the grammar has the task in it, or "UNKNOWN GOAL" in its place.

    Raises:
        ConfigurationError: The task's text has a character that has a meaning in grammars.
    """
    odd = set(re.findall(r'[;|<>\[\]#{}"\\\n]', game.instruction))
    # Where the grammar has the task already, it is not written into it.
    if odd and _PLACEHOLDER in grammar:
        shown = " ".join(map(repr, sorted(odd)))
        raise ConfigurationError(f"the task of {game.id} cannot be exported with {shown} in it")
    task = game.instruction.removesuffix(".")
    return {
        "pddl_domain": domain,
        "grammar": grammar.replace(_PLACEHOLDER, task),
        "pddl_problem": game.problem,
        "solvable": True,
        "walkthrough": list(game.walkthrough) or None,
    }


class Worker:
    """A child process that plays one game at a time.

    Its script is run by its path because `multiprocessing.Process` imports the caller's main module in the child,
    which runs a script without a `__main__` guard a second time. It ends when its connection closes.

    Args:
        timeout: Seconds to wait for an answer before the child is killed.
    """

    def __init__(self, timeout: float) -> None:
        self.games = 0
        self._timeout = timeout
        self._output = tempfile.TemporaryFile()  # noqa: SIM115
        weakref.finalize(self, self._output.close)
        self._connection, theirs = Pipe()
        with theirs:
            # -P keeps the script's folder off the import path, where our textworld.py would hide the real one.
            self._process = subprocess.Popen(
                [sys.executable, "-P", str(_SCRIPT), str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=subprocess.STDOUT,
                pass_fds=[theirs.fileno()],
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def call(self, function: str, *arguments: Any) -> Any:
        """Call a function in the child and return its result.

        Raises:
            EnvironmentFault: The function raised, or the child died or did not answer in time.
        """
        try:
            self._connection.send((function, arguments))
            if not self._connection.poll(self._timeout):
                raise EnvironmentFault(f"the ALFWorld engine gave no answer for {self._timeout:g} s and was killed")
            result, error = self._connection.recv()
        except (OSError, EOFError) as lost:
            raise EnvironmentFault(f"the ALFWorld engine died {self._last_words()}") from lost
        except BaseException:
            # After an interrupt, the next call would read this one's answer.
            self.close()
            raise
        if error:
            raise EnvironmentFault(f"the ALFWorld engine failed to {function}: {error}")
        return result

    def close(self) -> None:
        """Kill the child. Closing twice is fine."""
        self._process.kill()
        self._process.wait()

    def _last_words(self) -> str:
        self.close()
        output = self._output.fileno()
        size = os.fstat(output).st_size
        # The file's position is the child's.
        end = os.pread(output, 2000, max(0, size - 2000))
        last = end.decode("utf-8", "replace").strip()
        return f"(exit status {self._process.returncode}) {last}".strip()


class Workers:
    """The child processes of the reference engine: one for each live game, started when needed and used again."""

    def __init__(self, timeout: float = 300.0) -> None:
        self._timeout = timeout
        self._lock = threading.Lock()
        self._all: list[Worker] = []
        self._idle: list[Worker] = []

    def take(self) -> Worker:
        """Return a child that plays no game."""
        with self._lock:
            self._all = [worker for worker in self._all if worker.alive]
            self._idle = [worker for worker in self._idle if worker.alive]
            if self._idle:
                return self._idle.pop()
            self._all.append(Worker(self._timeout))
            return self._all[-1]

    def give_back(self, worker: Worker) -> None:
        """Take back a child whose game is over."""
        worker.games += 1
        if worker.games < RECYCLE:
            with self._lock:
                self._idle.append(worker)
        else:
            worker.close()

    def close(self) -> None:
        """Kill all children. Live games fail from now on; new ones start new children."""
        with self._lock:
            for worker in self._all:
                worker.close()
            self._idle = []

    @property
    def pids(self) -> list[int]:
        """The process ids of the living children."""
        return [worker.pid for worker in self._all if worker.alive]


class TextWorldEngine:
    """A live game on the reference engine; an `Engine`.

    Raises:
        EnvironmentFault: The game cannot be loaded, or the child died. All methods but `close` raise it, too; a new
            engine gets a new child.
    """

    def __init__(self, game: Game, workers: Workers) -> None:
        domain, grammar = game.domain, game.grammar
        if domain is None or grammar is None:
            domain, grammar = installed_texts()
        self._workers = workers
        self._worker: Worker | None = workers.take()
        self.won = False
        try:
            self._call("load", to_tw_pddl(game, domain, grammar))
        except BaseException:
            self.close()
            raise

    def reset(self) -> str:
        text, self.won = self._call("reset")
        return str(text)

    def step(self, command: str) -> str:
        text, self.won = self._call("step", command)
        return str(text)

    def admissible(self) -> list[str]:
        return list(self._call("admissible"))

    def close(self) -> None:
        if self._worker:
            self._workers.give_back(self._worker)
            self._worker = None

    def _call(self, function: str, *arguments: Any) -> Any:
        if self._worker is None:
            raise RuntimeError("this engine is closed")
        return self._worker.call(function, *arguments)
