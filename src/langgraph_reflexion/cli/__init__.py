"""The command line.

Exit status: 0 the run finished, however much was solved; 1 some task ended by a fault, an error or on a budget;
2 usage error, or nothing could start. Errors are one line on standard error. Heavy packages are imported inside the
commands, so that `--help` is quick.
"""

import contextlib
import io
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from langgraph_reflexion import __version__
from langgraph_reflexion.cli.experiment import experiment
from langgraph_reflexion.cli.grade import grade
from langgraph_reflexion.cli.init import init
from langgraph_reflexion.cli.lessons import lessons
from langgraph_reflexion.cli.options import OPEN, fail
from langgraph_reflexion.cli.play import play
from langgraph_reflexion.cli.replication import import_upstream, replay
from langgraph_reflexion.cli.report import report, show
from langgraph_reflexion.cli.run import resume, run
from langgraph_reflexion.cli.sandbox import sandbox
from langgraph_reflexion.errors import ModelFault, ReflexionError

app = typer.Typer(
    help="The Reflexion agent as a LangGraph state machine.",
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(sandbox, name="sandbox")
app.add_typer(lessons, name="lessons")
app.command()(init)
app.command(context_settings=OPEN)(run)
app.command()(resume)
app.command()(experiment)
app.command()(grade)
app.command()(report)
app.command()(show)
app.command(context_settings=OPEN)(play)
app.command("import-upstream")(import_upstream)
app.command()(replay)

# Typer brings its own copy of click in newer versions, and uses the installed one in older ones.
_UsageError: type[Exception] = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")


def main() -> None:
    """The console script."""
    # `package.module:Class` may be in the working directory, after everything that is installed.
    with contextlib.suppress(OSError):  # the directory may have been removed
        sys.path.append(os.getcwd())
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        status = app(standalone_mode=False)
    except _UsageError as error:
        status = fail(error.format_message())  # type: ignore[attr-defined]
    except ModelFault as error:
        status = fail(f"{error} (is the server up? check --model, --base-url, and the key)")
    except (typer.Abort, KeyboardInterrupt):
        status = fail("stopped", 130)
    except BrokenPipeError:
        # The reader of the output has left; the rest is discarded.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 0
    except (ReflexionError, OSError) as error:
        status = fail(str(error))
    sys.exit(status)


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        typer.echo(f"langgraph-reflexion {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)


@app.command()
def apply(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A run folder of the workspace.")],
    task: Annotated[str | None, typer.Argument(metavar="TASK", help="The task's id.  [default: all]")] = None,
) -> None:
    """Apply the patches that solved a workspace's tasks to their own folders."""
    from langgraph_reflexion.experiments.apply import apply_results

    for line in apply_results(folder, task):
        typer.echo(line)
