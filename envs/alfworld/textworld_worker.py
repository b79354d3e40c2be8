"""Child process that plays games on the original ALFWorld engine, one at a time.

The engine prints, replaces `sys.stdout`, rewrites `sys.argv`, parses with a module-level parser and keeps several
megabytes for each game it ever loaded; in a separate process none of this matters. The file is run by its path and
imports nothing of this package, so that the child starts in under a second.

It receives the name of a method of `Engine` with its arguments, answers with the result and an error message, and
ends when the connection closes.
"""

import os
import signal
import sys
import tempfile
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any


class Engine:
    """The original engine."""

    def __init__(self) -> None:
        # ALFWorld creates this folder at import, by default in the user's home. Nothing is written to it.
        os.environ["ALFWORLD_DATA"] = tempfile.gettempdir()
        # Not import statements: whether a type checker finds these modules depends on the extra.
        self._textworld = import_module("textworld")
        self._original = import_module("alfworld.agents.environment.alfred_tw_env")
        self._pddl = import_module("textworld.envs.pddl")
        self._game: Any = None
        self._state: Any = None

    def load(self, game: dict[str, Any]) -> None:
        """Load the content of a game.tw-pddl file."""
        infos = self._textworld.EnvInfos(won=True, admissible_commands=True, extras=["gamefile"])
        demangled = self._original.AlfredDemangler(self._pddl.PddlEnv(infos), shuffle=False)
        self._game = self._original.AlfredInfos(demangled)
        self._game.load(game)

    def reset(self) -> tuple[str, bool]:
        """Return the opening text and whether the game is won."""
        self._state = self._game.reset()
        return self._state.feedback, bool(self._state["won"])

    def step(self, command: str) -> tuple[str, bool]:
        """Return the observation and whether the game is won."""
        self._state, *_ = self._game.step(command)
        return self._state.feedback, bool(self._state["won"])

    def admissible(self) -> list[str]:
        """Return the commands that are possible now."""
        return list(self._state["admissible_commands"])


def serve(connection: Any) -> None:
    """Answer calls until the connection closes."""
    # Ctrl-C reaches the whole process group; the parent decides when this process ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    engine = None
    while True:
        try:
            function, arguments = connection.recv()
        except EOFError:
            return
        result = None
        failure = ""
        try:
            # Not before the first call, so that a failed import is answered like any other failure.
            engine = engine or Engine()
            result = getattr(engine, function)(*arguments)
        except Exception as error:
            failure = f"{type(error).__name__}: {error}"
        connection.send((result, failure))


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])))
