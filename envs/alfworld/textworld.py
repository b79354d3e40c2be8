"""The reference engine: TextWorld's and ALFWorld's own code, kept in child processes.

The original is not thread-safe, keeps memory for every game that it ever loaded and changes the process
around it (`textworld_worker` says how). So it never enters this process: a small set of children hosts the
games, and an engine here is a handle on one of them. Calls from any thread are fine; those to one child wait
for each other.
"""

import atexit
import hashlib
import importlib.util
import json
import os
import sys
import threading
import weakref
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from langgraph_reflexion.envs.alfworld.engine import Game
from langgraph_reflexion.envs.alfworld.games import installed_texts, to_tw_pddl
from langgraph_reflexion.envs.alfworld.process import ChildProcess
from langgraph_reflexion.errors import EnvironmentFault, EnvironmentUnavailable, the_extra

_WORKER = Path(__file__).with_name("textworld_worker.py")


def unavailable() -> str | None:
    """Why the reference engine cannot be used here, and what to do; None where it can."""
    missing = [n for n in ("alfworld", "textworld", "fast_downward") if importlib.util.find_spec(n) is None]
    # The latest TextWorld is 1.7, so that installing what is missing would not help on Python 3.13.
    old = bool(missing) or version("textworld").startswith("1.7.")
    if old and sys.version_info >= (3, 13):
        python = f"{sys.version_info.major}.{sys.version_info.minor}"
        return f"TextWorld 1.7, ALFWorld's engine, does not run on Python {python}: use Python 3.11 or 3.12"
    if missing:
        names = ", ".join(missing)
        return f"ALFWorld's engine is missing ({names}); it comes with {the_extra('alfworld')}"
    return None


def as_file(game: Game) -> dict[str, Any]:
    """A game as the original reads it, with the installed ALFWorld's domain and grammar where it has none."""
    domain, grammar = game.domain, game.grammar
    if domain is None or grammar is None:
        installed_domain, installed_grammar = installed_texts()
        domain, grammar = domain or installed_domain, grammar or installed_grammar
    return to_tw_pddl(game, domain, grammar)


class _Worker:
    """One child, and the games in it. Everything but `call` is guarded by the lock of `Workers`."""

    def __init__(self, patches: bool, timeout: float) -> None:
        options = [] if patches else ["--no-patches"]
        # With -P the worker's folder is not on the path, in which our textworld.py would hide the real one.
        command = [sys.executable, "-P", str(_WORKER), *options]
        self.process = ChildProcess(command, name="the ALFWorld engine", timeout=timeout)
        self.open = 0
        self.loaded = 0
        self.idle: list[tuple[str, int]] = []
        self.dropped: list[int] = []

    def call(self, do: str, **request: Any) -> dict[str, Any]:
        reply = self.process.call({"do": do, **request})
        if "error" in reply:
            raise EnvironmentFault(f"the ALFWorld engine failed to {do}: {reply['error']}")
        return reply


class Workers:
    """The child processes of the reference engine. They are started when needed, and end with this process.

    Args:
        workers: How many children take new games at most; at most two unless given, fewer on a single core.
        patches: Whether the children may remember translated games and parsed templates, which makes resets
            ten times faster and changes no observation. Without, the engine runs as installed.
        recycle: A child that loaded this many games gets no new one, and ends when its last engine is closed:
            its memory only grows.
        keep: How many games each child keeps loaded after their engines were closed, for the next engine of
            the same game.
        timeout: After how many seconds without an answer a child is given up.
    """

    def __init__(
        self,
        workers: int | None = None,
        *,
        patches: bool = True,
        recycle: int = 64,
        keep: int = 8,
        timeout: float = 300.0,
    ) -> None:
        self.workers = workers or min(2, os.cpu_count() or 1)
        self.patches = patches
        self.recycle = recycle
        self.keep = keep
        self.timeout = timeout
        self._lock = threading.Lock()
        self._running: list[_Worker] = []
        self._number = 0
        _all.add(self)

    def take(self, game: dict[str, Any], key: str) -> tuple[_Worker, int]:
        """Find a child for a game, and load it there unless it still is."""
        with self._lock:
            self._running = [worker for worker in self._running if worker.process.alive]
            for worker in sorted(self._running, key=lambda worker: worker.open):
                for entry in worker.idle:
                    if entry[0] == key:
                        worker.idle.remove(entry)
                        worker.open += 1
                        return worker, entry[1]
            worker = self._least_loaded()
            worker.open += 1
            worker.loaded += 1
            self._number += 1
            number, drop = self._number, worker.dropped
            worker.dropped = []
        try:
            worker.call("load", env=number, game=game, drop=drop)
        except BaseException:
            self.give_back(worker, number, None)
            raise
        return worker, number

    def _least_loaded(self) -> _Worker:
        taking = [worker for worker in self._running if worker.loaded < self.recycle]
        best = min(taking, key=lambda worker: worker.open, default=None)
        if best is not None and (best.open == 0 or len(taking) >= self.workers):
            return best
        self._running.append(_Worker(self.patches, self.timeout))
        return self._running[-1]

    def give_back(self, worker: _Worker, number: int, key: str | None) -> None:
        """Take back a game of a closed engine. Never waits for a child."""
        with self._lock:
            worker.open -= 1
            if worker.loaded >= self.recycle and worker.open == 0:
                if worker in self._running:
                    self._running.remove(worker)
                worker.process.close()
            elif key is None:
                worker.dropped.append(number)
            else:
                worker.idle.append((key, number))
                while len(worker.idle) > self.keep:
                    # The child is told with the next load; it may be busy now.
                    worker.dropped.append(worker.idle.pop(0)[1])

    def close(self) -> None:
        """End all children. Engines that are still open fail from now on; new ones start new children."""
        with self._lock:
            ended, self._running = self._running, []
        for worker in ended:
            worker.process.close()

    def forget(self) -> None:
        """After a fork: the children belong to the parent. Its pipes must close here, or they outlive it."""
        self._lock = threading.Lock()
        for worker in self._running:
            worker.process.forget()
        self._running = []

    @property
    def pids(self) -> list[int]:
        """The children's process ids."""
        with self._lock:
            return [worker.process.pid for worker in self._running if worker.process.alive]


_all: "weakref.WeakSet[Workers]" = weakref.WeakSet()


@cache
def shared_workers() -> Workers:
    """The children that engines share which were not given any of their own."""
    return Workers()


@atexit.register
def _close_all() -> None:
    for workers in list(_all):
        workers.close()


def _forget_all() -> None:
    for workers in list(_all):
        workers.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)


class TextWorldEngine:
    """A live game on the reference engine; an `Engine`.

    Args:
        game: What is played.
        workers: Where it runs; the shared children unless given.

    Raises:
        EnvironmentUnavailable: the engine is not installed, or does not run on this Python.
        EnvironmentFault: the game cannot be loaded, or the child died. So do all methods but `close`; a new
            engine then gets a new child.
    """

    def __init__(self, game: Game, workers: Workers | None = None) -> None:
        if reason := unavailable():
            raise EnvironmentUnavailable(reason)
        self.game = game
        self._workers = workers or shared_workers()
        data = as_file(game)
        self._key = hashlib.sha256(json.dumps(data).encode()).hexdigest()
        self._worker, self._number = self._workers.take(data, self._key)
        self._won = False
        self._started = False
        self._closed = False

    @property
    def won(self) -> bool:
        """Whether the goal holds now."""
        return self._won

    def reset(self) -> str:
        """Go back to the initial state; the opening text."""
        self._started = True
        return self._told(self._call("reset"))

    def step(self, command: str) -> str:
        """Carry out a command; "Nothing happens." where it is not possible now."""
        return self._told(self._call("step", command=command))

    def admissible(self) -> list[str]:
        """The commands that are possible now, sorted."""
        commands: list[str] = self._call("admissible")["commands"]
        return commands

    def close(self) -> None:
        """Give the game back to its child. Closing twice is fine."""
        if not self._closed:
            self._closed = True
            self._workers.give_back(self._worker, self._number, self._key)

    def _call(self, do: str, **request: Any) -> dict[str, Any]:
        if self._closed:
            raise RuntimeError("this engine is closed")
        if not self._started:
            raise RuntimeError("reset() comes before the first step")
        return self._worker.call(do, env=self._number, **request)

    def _told(self, reply: dict[str, Any]) -> str:
        self._won = reply["won"]
        text: str = reply["text"]
        return text
