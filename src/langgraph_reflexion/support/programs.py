"""Missing programs, which say nothing about the work that a shell command checks."""

import os
import re
import subprocess

from langgraph_reflexion.errors import EnvironmentUnavailable

_NOT_RUN = (126, 127)
"""The exit statuses of a shell that cannot run a program."""
_SEVERAL = re.compile(r"[;|&\n]")
"""What separates programs, of which the first may be missing although the command succeeds."""
_VALUE = r"""(?:[^\s'"`$()\\;|&<>]|\$\w+|'[^']*'|"(?:[^"`$\\]|\$\w+)*+")*+"""
_FIRST = re.compile(rf"\s*(?:(?:env|(?!PATH=)\w+={_VALUE})\s+)*(?!\d+[<>])(['\"]?)(\w[\w.+-]*)\1(?=[\s;|&<>]|$)")
"""The program that a command line begins with, after `env` and plain assignments other than of the PATH."""


def expect_program(command: str, path: str | None = None, status: int | None = None) -> None:
    """Expect that `/bin/sh` can run the program that a command begins with.

    A program that is named by its path, or may be in a relative folder of the PATH, may be part of the work, and is
    not looked for.

    Args:
        command: The command line. `env` and assignments before the program are skipped.
        path: The PATH; this process's unless given.
        status: The exit status of the command if it has run, as a shell returns it.

    Raises:
        EnvironmentUnavailable: the program or its interpreter is missing, and the command cannot succeed or has not
            succeeded.
    """
    first = _FIRST.match(command)
    if not first or _says_nothing(command, status):
        return
    program = first[2]
    variables = dict(os.environ)
    if path is not None:
        variables = {"PATH": path}
    path = variables.get("PATH", "")
    folders = path.split(os.pathsep)
    if not all(os.path.isabs(folder) for folder in folders):
        return
    look = ["/bin/sh", "-c", 'command -v "$1"', "sh", program]
    looked = subprocess.run(look, env=variables, capture_output=True, check=False)
    found = os.fsdecode(looked.stdout.strip())
    if not found:
        why = f"there is no program {program}"
    else:
        missing = _missing_interpreter(found)
        if not missing:
            return
        why = f"{found} needs {missing}, which does not exist"
    raise EnvironmentUnavailable(
        f"the command {command!r:.200}: {why}: install it, or correct the command (PATH is {path})"
    )


def _says_nothing(command: str, status: int | None) -> bool:
    """Return whether it does not matter if the first program is missing: the command has run, or may do without."""
    if status is not None:
        return status not in _NOT_RUN
    return _SEVERAL.search(command.strip()) is not None


def _missing_interpreter(program: str) -> str:
    """Return the interpreter that a script names and that does not exist; empty for any other program."""
    if not os.path.isabs(program):
        # A part of the shell.
        return ""
    try:
        with open(program, "rb") as file:
            first = file.readline(4096)
    except OSError:
        return ""
    words = first[2:].split()
    if not first.startswith(b"#!") or not words:
        return ""
    interpreter = os.fsdecode(words[0])
    if not os.path.isabs(interpreter) or os.path.exists(interpreter):
        return ""
    return interpreter
