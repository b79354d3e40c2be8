"""The reference engine: TextWorld's and ALFWorld's own code, in child processes.

The original is not thread-safe and changes the process around it (`textworld_worker` says how), so a few child
processes host the games and an engine here is a handle on one of them.
"""

import os
import re
import sys
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from langgraph_reflexion.envs.alfworld.child_process import ChildProcess
from langgraph_reflexion.envs.alfworld.engine import Game
from langgraph_reflexion.errors import ConfigurationError, EnvironmentUnavailable, the_extra

_PLACEHOLDER = "UNKNOWN GOAL"
_SCRIPT = Path(__file__).with_name("textworld_worker.py")


def unavailable() -> str | None:
    """Return why the reference engine cannot be used here and what to do, or None if it can."""
    missing = [n for n in ("alfworld", "textworld", "fast_downward") if find_spec(n) is None]
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
    for folder in (spec.submodule_search_locations or []) if spec else []:
        domain, grammar = Path(folder, "data", "alfred.pddl"), Path(folder, "data", "alfred.twl2")
        if domain.is_file() and grammar.is_file():
            return domain.read_text(encoding="utf-8"), grammar.read_text(encoding="utf-8")
    raise EnvironmentUnavailable(f"the original ALFWorld engine is missing; it comes with {the_extra('alfworld')}")


def to_tw_pddl(game: Game, domain: str, grammar: str) -> dict[str, Any]:
    """Return the content of a `game.tw-pddl` file.

    Args:
        game: The game to write.
        domain: The PDDL domain.
        grammar: The text grammar, with the task in it or "UNKNOWN GOAL" in its place.

    Raises:
        ConfigurationError: The task's text has a character that has a meaning in grammars.
    """
    if _PLACEHOLDER in grammar and (odd := sorted(set(re.findall(r'[;|<>\[\]#{}"\\\n]', game.instruction)))):
        raise ConfigurationError(f"the task of {game.id} cannot be exported with {' '.join(map(repr, odd))} in it")
    return {
        "pddl_domain": domain,
        "grammar": grammar.replace(_PLACEHOLDER, game.instruction.removesuffix(".")),
        "pddl_problem": game.problem,
        "solvable": True,
        "walkthrough": list(game.walkthrough) or None,
    }


class _Worker(ChildProcess):
    def __init__(self, patches: bool, timeout: float) -> None:
        options = [] if patches else ["--no-patches"]
        super().__init__(_SCRIPT, *options, name="the ALFWorld engine", timeout=timeout)
        self.open = 0
        self.loaded = 0
        self.closed: list[int] = []
        """Games to drop at the next load: the child may be busy when they are closed."""


class Workers:
    """The child processes of the reference engine, started when needed.

    Args:
        workers: Maximum number of children that take new games; default 2, or 1 on a single core.
        patches: Whether to cache translated games and parsed templates, which makes resets ten times faster and
            changes no observation. Without, the engine runs as installed.
        recycle: Number of games after which a child takes no new one and ends with its last open game: its memory
            only grows.
        timeout: Seconds to wait for an answer before a child is killed.
    """

    def __init__(
        self, workers: int | None = None, *, patches: bool = True, recycle: int = 64, timeout: float = 300.0
    ) -> None:
        self.workers = workers or min(2, os.cpu_count() or 1)
        self.patches = patches
        self.recycle = recycle
        self.timeout = timeout
        self._lock = threading.Lock()
        self._running: list[_Worker] = []

    def load(self, game: dict[str, Any]) -> tuple[_Worker, int]:
        """Load a game into a child; return the child and the game's number there."""
        with self._lock:
            worker = self._least_loaded()
            worker.open += 1
            worker.loaded += 1
            number, drop, worker.closed = worker.loaded, worker.closed, []
        try:
            worker.call("load", number, game, drop)
        except BaseException:
            self.release(worker, number)
            raise
        return worker, number

    def _least_loaded(self) -> _Worker:
        self._running = [worker for worker in self._running if worker.alive]
        taking = [worker for worker in self._running if worker.loaded < self.recycle]
        best = min(taking, key=lambda worker: worker.open, default=None)
        if best is None or (best.open and len(taking) < self.workers):
            best = _Worker(self.patches, self.timeout)
            self._running.append(best)
        return best

    def release(self, worker: _Worker, number: int) -> None:
        """Give up a game, without waiting for its child."""
        with self._lock:
            worker.open -= 1
            worker.closed.append(number)
            if worker.loaded >= self.recycle and not worker.open:
                worker.close()

    def close(self) -> None:
        """Kill all children. Open engines fail from now on; new engines start new children."""
        with self._lock:
            for worker in self._running:
                worker.close()
            self._running = []

    @property
    def pids(self) -> list[int]:
        """The process ids of the living children."""
        with self._lock:
            return [worker.pid for worker in self._running if worker.alive]


class TextWorldEngine:
    """A live game on the reference engine; an `Engine`.

    Args:
        game: The game to load.
        workers: The child processes to load it into.

    Raises:
        EnvironmentUnavailable: The engine is not installed, or does not run on this Python.
        EnvironmentFault: The game cannot be loaded, or the child died. All methods but `close` raise it, too; a new
            engine gets a new child.
    """

    def __init__(self, game: Game, workers: Workers) -> None:
        if reason := unavailable():
            raise EnvironmentUnavailable(reason)
        domain, grammar = game.domain, game.grammar
        if domain is None or grammar is None:
            installed_domain, installed_grammar = installed_texts()
            domain, grammar = domain or installed_domain, grammar or installed_grammar
        self._workers = workers
        self._worker, self._number = workers.load(to_tw_pddl(game, domain, grammar))
        self._started = self._closed = self._won = False

    @property
    def won(self) -> bool:
        return self._won

    def reset(self) -> str:
        self._started = True
        text, self._won = self._call("reset")
        return str(text)

    def step(self, command: str) -> str:
        text, self._won = self._call("step", command)
        return str(text)

    def admissible(self) -> list[str]:
        return list(self._call("admissible"))

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._workers.release(self._worker, self._number)

    def _call(self, function: str, *arguments: str) -> Any:
        if self._closed:
            raise RuntimeError("this engine is closed")
        if not self._started:
            raise RuntimeError("call reset() before the first step")
        return self._worker.call(function, self._number, *arguments)
