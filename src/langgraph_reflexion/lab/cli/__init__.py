"""The command line.

Exit status: 0 the run finished, however much was solved; 1 some task ended by a fault, an error or on a budget;
2 usage error, or nothing could start. Errors are one line on standard error.
"""

import contextlib
import difflib
import io
import os
import re
import sys
from traceback import walk_tb
from typing import Any

import typer

from langgraph_reflexion.errors import ReflexionError
from langgraph_reflexion.lab.cli.basics import fail
from langgraph_reflexion.lab.cli.sandbox import sandbox

# Typer brings its own copy of click in newer versions, and uses the installed one in older ones.
_UsageError: type[Exception] = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")

COMPLETION = "_LANGGRAPH_REFLEXION_COMPLETE"
"""The variable by which a shell asks for completions."""


def main() -> None:
    """The console script."""
    # `package.module:Class` may be in the working directory, after everything that is installed.
    with contextlib.suppress(OSError):  # the directory may have been removed
        sys.path.append(os.getcwd())
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        status = _command()
    except _UsageError as error:
        status = fail(_usage(error))
    except (typer.Abort, KeyboardInterrupt):
        status = fail("stopped", 130)
    except BrokenPipeError:
        # The reader of the output has left; the rest is discarded.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 0
    except (ReflexionError, OSError) as error:
        status = fail(_with_options(str(error)))
    except SystemExit as error:
        status = _after_exit(error)
    sys.exit(status)


def _command() -> Any:
    """Run the command that the command line names. Returns the exit status."""
    # Agents run a sandbox for every command. Typer needs the functions of all commands before it reads the first
    # word, and importing them takes three times as long as importing the sandbox alone: so this word is read here.
    # Where it is not the first word nothing is lost but that time, as the full command line has `sandbox`, too.
    if sys.argv[1:2] == ["sandbox"]:
        return sandbox(sys.argv[2:], "langgraph-reflexion sandbox", standalone_mode=False)
    from langgraph_reflexion.lab.cli.commands import app

    return app(prog_name="langgraph-reflexion", standalone_mode=False)


def _after_exit(error: SystemExit) -> Any:
    """Return the exit status after somebody called `sys.exit`: Rich, completion, or an agent, evaluator or tool."""
    if isinstance(error.__context__, BrokenPipeError):
        return 0  # Rich exits when the reader of the output has left
    if COMPLETION in os.environ:
        return error.code
    *_, (frame, line) = walk_tb(error.__traceback__)
    place = f"{frame.f_code.co_filename}, line {line}"
    return fail(f"{place}, called sys.exit({error.code!r}), which ends the run; recorded trials are kept", 1)


def _usage(error: Any) -> str:
    """Return a usage error in words, with the help text of an argument that is missing."""
    message: str = error.format_message()
    if fixed := _fixed_option(error):
        return fixed
    wrong = re.match(r"Invalid value for '([^']+)': Input should be (.*?)(?:, unable to .*)?$", message)
    if wrong:
        return f"{wrong[1]} must be {wrong[2]}"
    if type(error).__name__ != "MissingParameter":
        return message
    help = getattr(error.param, "help", None)
    if not help:
        return message
    return f"{message} {help}"


def _fixed_option(error: Any) -> str:
    """Say of an option of `run` that `resume` does not have it; empty for other errors."""
    spelt = getattr(error, "option_name", "")
    if not spelt or getattr(error.ctx, "info_name", "") != "resume":
        return ""
    from langgraph_reflexion.lab.cli.run import FIXED

    similar = difflib.get_close_matches(spelt, FIXED, 1, cutoff=0.75)
    if not similar:
        return ""
    return f"No such option: {spelt} ({similar[0]} cannot change when a run is resumed)"


def _with_options(message: str) -> str:
    """Return a message that begins with a Python argument, `actor='x'`, with the option instead."""
    from langgraph_reflexion.lab.run_settings import RunSettings

    named = re.match(r"(\w+)=", message)
    if named and named[1] in RunSettings.model_fields:
        return f"--{named[1].replace('_', '-')} {message[named.end() :]}"
    return message
