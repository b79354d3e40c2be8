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
        if sys.argv[1:2] == ["sandbox"]:
            # Agents run a sandbox for every command, and should not wait for the imports of the other commands.
            status = sandbox(sys.argv[2:], "langgraph-reflexion sandbox", standalone_mode=False)
        else:
            from langgraph_reflexion.lab.cli.commands import app

            status = app(prog_name="langgraph-reflexion", standalone_mode=False)
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
    except SystemExit as error:  # of an agent, an evaluator or a tool
        if isinstance(error.__context__, BrokenPipeError):
            sys.exit(0)  # Rich exits when the reader of the output has left
        if COMPLETION in os.environ:
            sys.exit(error.code)
        *_, frame = walk_tb(error.__traceback__)
        place = f"{frame[0].f_code.co_filename}, line {frame[1]}"
        status = fail(f"{place}, called sys.exit({error.code!r}), which ends the run; recorded trials are kept", 1)
    sys.exit(status)


def _usage(error: Any) -> str:
    """Return a usage error in words, with the help text of an argument that is missing."""
    if (spelt := getattr(error, "option_name", "")) and getattr(error.ctx, "info_name", "") == "resume":
        from langgraph_reflexion.lab.cli.run import FIXED

        if similar := difflib.get_close_matches(spelt, FIXED, 1, cutoff=0.75):
            return f"No such option: {spelt} ({similar[0]} cannot change when a run is resumed)"
    wrong = re.match(
        r"Invalid value for '([^']+)': Input should be (.*?)(?:, unable to .*)?$", error.format_message()
    )
    if wrong:
        return f"{wrong[1]} must be {wrong[2]}"
    argument = getattr(error, "param", None)
    missing = type(error).__name__ == "MissingParameter" and getattr(argument, "help", None)
    return f"{error.format_message()}{f' {missing}' if missing else ''}"


def _with_options(message: str) -> str:
    """Return a message that begins with a Python argument, `actor='x'`, with the option instead."""
    from langgraph_reflexion.lab.settings import RunSettings

    named = re.match(r"(\w+)=", message)
    if named and named[1] in RunSettings.model_fields:
        return f"--{named[1].replace('_', '-')} {message[named.end() :]}"
    return message
