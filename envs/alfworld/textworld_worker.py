"""Child process that hosts the original ALFWorld engine.

The engine prints, replaces `sys.stdout`, rewrites `sys.argv`, parses with a module-level parser and keeps several
megabytes for each game it ever loaded; in a process of its own none of this matters. The file is run by its path and
imports nothing of this package, so that the child starts in under a second.

It receives pairs of a method of `Engines` and its arguments, answers with pairs of the result and an error message,
and ends with the process that started it.
"""

import copy
import functools
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from multiprocessing.connection import Connection
from typing import Any

_PATCHED = {"textworld": "1.7.", "fast-downward-textworld": "20.6."}
_POLL_SECONDS = 2.0


class Engines:
    """The live games of this process, by number."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._environments: dict[int, Any] = {}
        self._commands: dict[int, list[str]] = {}

    def load(self, number: int, game: dict[str, Any], drop: list[int]) -> None:
        """Load the content of a game.tw-pddl file, after dropping closed games."""
        for closed in drop:
            self._environments.pop(closed, None)
            self._commands.pop(closed, None)
        environment = self._make()
        environment.load(game)
        self._environments[number] = environment

    def reset(self, number: int) -> tuple[str, bool]:
        """Return the opening text and whether the game is won."""
        return self._result(number, self._environments[number].reset())

    def step(self, number: int, command: str) -> tuple[str, bool]:
        """Return the observation and whether the game is won."""
        return self._result(number, self._environments[number].step(command)[0])

    def admissible(self, number: int) -> list[str]:
        """Return the commands that are possible now, which the engine has computed already."""
        return self._commands[number]

    def _result(self, number: int, state: Any) -> tuple[str, bool]:
        self._commands[number] = list(state["admissible_commands"])
        return state.feedback, bool(state["won"])


def import_engine(patches: bool) -> Callable[[], Any]:
    """Import TextWorld and ALFWorld, which takes most of a second, and return a factory of environments."""
    # ALFWorld creates this folder at import, by default in the user's home. Games come over the connection, so
    # nothing is written to it.
    os.environ["ALFWORLD_DATA"] = tempfile.gettempdir()
    # Not import statements: whether a type checker finds these modules depends on the extra.
    textworld = import_module("textworld")
    original = import_module("alfworld.agents.environment.alfred_tw_env")
    pddl = import_module("textworld.envs.pddl")
    if patches:
        speed_up()

    def make() -> Any:
        infos = textworld.EnvInfos(won=True, admissible_commands=True, extras=["gamefile"])
        return original.AlfredInfos(original.AlfredDemangler(pddl.PddlEnv(infos), shuffle=False))

    return make


def speed_up() -> None:
    """Cache the translation of games, computed at each load and reset, and of text templates, parsed at each step.

    Observations stay the same to the character. Only the versions that this was tested with are patched.
    """
    if any(not version(name).startswith(known) for name, known in _PATCHED.items()):
        return
    fast_downward: Any = import_module("fast_downward")
    textgen: Any = import_module("textworld.envs.pddl.textgen")
    translate = getattr(fast_downward, "pddl2sas", None)
    parse = getattr(textgen, "_parse_and_convert", None)
    if translate is not None:
        fast_downward.pddl2sas = functools.lru_cache(16)(translate)
    if parse is not None:
        parsed = functools.lru_cache(4096)(parse)
        # The engine modifies the result of parsing, hence the copies.
        textgen._parse_and_convert = lambda *args, **options: copy.deepcopy(parsed(*args, **options))


def serve(connection: Any, patches: bool) -> None:
    """Answer calls until the connection closes or the parent process dies."""
    # Ctrl-C reaches the whole process group; the parent decides when this process ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent, engines = os.getppid(), None
    # A fork of the parent may hold the connection open when the parent is gone.
    while connection.poll(_POLL_SECONDS) or os.getppid() == parent:
        if not connection.poll():
            continue
        try:
            function, arguments = connection.recv()
        except EOFError:
            return
        try:
            engines = engines or Engines(import_engine(patches))
            answer = getattr(engines, function)(*arguments), ""
        except Exception as error:
            answer = None, f"{type(error).__name__}: {error}"
        try:
            connection.send(answer)
        except BrokenPipeError:
            return


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])), patches="--no-patches" not in sys.argv[2:])
