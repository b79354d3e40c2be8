"""The child process in which the real ALFWorld engine lives.

It reads requests and writes replies, one JSON object per line, and ends when its input ends: so it does not
outlive the process that started it, however that one died. The engine prints, replaces `sys.stdout`, rewrites
`sys.argv`, parses with a module-level parser and keeps several megabytes for every game that it ever loaded;
none of it matters here.

This file is run by its path, without the package around it, so that a child is ready in under a second. It
must therefore import nothing of ours.

Requests, each with a number `id` that the reply repeats:

    {"do": "load", "env": 3, "game": {...}, "drop": [1]}    the game as in a game.tw-pddl file; forget game 1
    {"do": "reset", "env": 3}                               -> {"text": ..., "won": ...}
    {"do": "step", "env": 3, "command": "look"}             -> {"text": ..., "won": ...}
    {"do": "admissible", "env": 3}                          -> {"commands": [...]}

A reply holds `error` instead where the engine raised.
"""

import copy
import functools
import json
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from typing import Any

_PATCHED = {"textworld": "1.7.", "fast-downward-textworld": "20.6."}


class Engines:
    """The live games of this process, by the number that the parent gave them."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._environments: dict[int, Any] = {}
        self._commands: dict[int, list[str]] = {}

    def load(self, env: int, game: dict[str, Any], drop: list[int]) -> dict[str, Any]:
        """Load a game, and forget others."""
        for old in drop:
            self._environments.pop(old, None)
            self._commands.pop(old, None)
        environment = self._make()
        environment.load(game)
        self._environments[env] = environment
        return {}

    def reset(self, env: int) -> dict[str, Any]:
        """Go back to the initial state."""
        return self._reply(env, self._environments[env].reset())

    def step(self, env: int, command: str) -> dict[str, Any]:
        """Carry out a command."""
        return self._reply(env, self._environments[env].step(command)[0])

    def admissible(self, env: int) -> dict[str, Any]:
        """List the commands that are possible now; the engine has computed them already."""
        return {"commands": self._commands[env]}

    def _reply(self, env: int, state: Any) -> dict[str, Any]:
        self._commands[env] = list(state["admissible_commands"])
        return {"text": state.feedback, "won": bool(state["won"])}


def import_engine(patches: bool) -> Callable[[], Any]:
    """Import TextWorld and ALFWorld, which takes most of a second.

    Args:
        patches: Whether to apply the speed-ups of `speed_up`.

    Returns:
        What makes an environment to load a game into.
    """
    # ALFWorld makes this folder at import, in the user's home unless told otherwise. Games come over the
    # channel, so that no folder is needed: this one exists, and nothing is written to it.
    os.environ["ALFWORLD_DATA"] = tempfile.gettempdir()
    # Not import statements: their types are unknown, and whether a type checker minds depends on the extra.
    textworld = import_module("textworld")
    original = import_module("alfworld.agents.environment.alfred_tw_env")
    pddl = import_module("textworld.envs.pddl")

    if patches:
        speed_up()

    def make() -> Any:
        wanted = textworld.EnvInfos(won=True, admissible_commands=True, extras=["gamefile"])
        return original.AlfredInfos(original.AlfredDemangler(pddl.PddlEnv(wanted), shuffle=False))

    return make


def speed_up() -> None:
    """Remember what the engine computes again and again.

    Translating a game, which load and reset each do anew, and parsing the text templates, which every step
    does for every possible action. Observations stay the same to the character. Done only for the versions
    that this was tried with; others run as they are.
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
        # What was parsed is written to afterwards, hence a copy each time.
        textgen._parse_and_convert = lambda *args, **options: copy.deepcopy(parsed(*args, **options))


def serve(patches: bool) -> None:
    """Answer requests until the input ends."""
    # Ctrl-C reaches the whole process group; the parent decides when this process ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # From here on nothing that is printed, in Python or in C, reaches the channel.
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    engines: Engines | None = None
    for line in requests:
        request = json.loads(line)
        number, do = request.pop("id"), request.pop("do")
        try:
            engines = engines or Engines(import_engine(patches))
            reply = getattr(engines, do)(**request)
        except Exception as error:
            traceback.print_exc()
            reply = {"error": f"{type(error).__name__}: {error}"}
        try:
            replies.write(json.dumps({"id": number, **reply}).encode() + b"\n")
            replies.flush()
        except BrokenPipeError:
            return


if __name__ == "__main__":
    serve(patches="--no-patches" not in sys.argv[1:])
