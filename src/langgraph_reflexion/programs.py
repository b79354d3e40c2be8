"""Missing programs, which say nothing about the work that a shell command checks."""

import os
import re
import shlex
import subprocess

from langgraph_reflexion.errors import EnvironmentUnavailable

_NOT_RUN = (126, 127)
"""The exit statuses of a shell that cannot run a program."""
_SEVERAL = re.compile(r"[;|&\n]")
"""What separates programs, of which the first may be missing although the command succeeds."""
_ASSIGNMENT = re.compile(r"\w+=")
_NAME = re.compile(r"\w[\w.+-]*")


def expect_program(command: str, path: str | None = None, status: int | None = None) -> None:
    """Expect that `/bin/sh` finds the program that a command begins with.

    A program that is named by its path may be part of the work, and is not looked for.

    Args:
        command: The command line. `env` and assignments before the program are skipped.
        path: The PATH; this process's unless given.
        status: The exit status of the command if it has run, as a shell returns it.

    Raises:
        EnvironmentUnavailable: there is no such program, and the command cannot succeed or did not.
    """
    if status not in _NOT_RUN if status is not None else _SEVERAL.search(command):
        return
    try:
        words = shlex.split(command)
    except ValueError:
        return
    program = next((word for word in words if word != "env" and not _ASSIGNMENT.match(word)), "")
    if not _NAME.fullmatch(program) or any(word.startswith("PATH=") for word in words):
        return
    path = os.environ.get("PATH", os.defpath) if path is None else path
    look = ["/bin/sh", "-c", 'command -v "$1"', "sh", program]
    if subprocess.run(look, env={"PATH": path}, stdout=subprocess.DEVNULL, check=False).returncode:
        raise EnvironmentUnavailable(
            f"the command {command!r}: there is no program {program}: install it, or correct the command (PATH is "
            f"{path})"
        )
