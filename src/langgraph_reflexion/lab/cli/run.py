"""The command line's `run` and `resume`."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langgraph_reflexion.errors import ModelFault
from langgraph_reflexion.lab.cli.basics import AsJson, fail, print_json, say_starting, sigterm_as_ctrl_c, suggest
from langgraph_reflexion.lab.cli.gate import FailBelow, NotWorseThan, gate_of
from langgraph_reflexion.lab.cli.options import flag, takes
from langgraph_reflexion.lab.run_settings import RunSettings

if TYPE_CHECKING:
    from langgraph_reflexion.lab.experiments.gate import Gate
    from langgraph_reflexion.lab.experiments.runner import Summary

RESUMABLE = [*RunSettings.resumable("free", "raise"), "base_url", "database", "lessons"]
"""The options of `resume`. `run.json` has no passwords, so that addresses may have to be given again."""

FIXED = [flag(name, field) for name, field in RunSettings.model_fields.items() if name not in RESUMABLE]
"""The options of `run` that `resume` does not have."""


@takes(RunSettings)
def run(
    settings: RunSettings,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Run folder; a run in it is resumed.  [default: runs/ENV-SPLIT-STRATEGY-N]"),
    ] = None,
    fail_below: FailBelow = None,
    not_worse_than: NotWorseThan = None,
    as_json: AsJson = False,
) -> None:
    """Run an agent on tasks, and record every trial.

    The tasks are an environment's, or those of a file for your own agent.
    """
    gate = gate_of(fail_below, not_worse_than, out)
    from langgraph_reflexion.lab.experiments.runner import run

    raise typer.Exit(_run(lambda progress: run(settings, out, progress), as_json, gate))


@takes(RunSettings, only=RESUMABLE)
def resume(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A run folder.")],
    given: dict[str, Any],
    as_json: AsJson = False,
) -> None:
    """Resume a run that was stopped, or had faults.

    Continues unfinished tasks, and retries those that ended with a fault, an error, or a budget that is now raised.
    """
    from langgraph_reflexion.lab.experiments.runner import resume

    raise typer.Exit(_run(lambda progress: resume(folder, progress, **given), as_json))


def _run(work: Callable[[Any], Any], as_json: bool, gate: "Gate | None" = None) -> int:
    """Run or resume with a progress line, print the results and return the exit status, which a gate may decide."""
    if not as_json:
        say_starting()
    from rich.console import Console

    from langgraph_reflexion.lab.experiments.progress import LiveProgress
    from langgraph_reflexion.lab.experiments.runs import read_run

    progress = LiveProgress(Console(stderr=True), hidden=as_json)
    try:
        with sigterm_as_ctrl_c(), progress:
            summary = work(progress)
    except KeyboardInterrupt:
        return fail(f"stopped; {_kept(progress.folder, progress.rows)}", 130)
    except ModelFault as error:
        if not progress.rows:
            raise
        raise ModelFault(f"{error}; {_kept(progress.folder, progress.rows)}", permanent=True) from error
    complaints: list[str] = []
    if gate:
        complaints = gate.complaints([read_run(summary.report.folder)])
    if as_json:
        results = summary.as_json()
        results["below_gate"] = complaints
        print_json(results)
    else:
        _print_summary(summary)
    if complaints:
        return fail("; ".join(complaints), 1)
    if summary.clean:
        return 0
    return 1


def _print_summary(summary: "Summary") -> None:
    """Print the results of a run, the faults, and where all is recorded."""
    from langgraph_reflexion.lab.experiments.comparison import compare
    from langgraph_reflexion.support.text import count, printable

    folder = summary.report.folder
    compare(folder).print()
    for cause, number in summary.faults.items():
        typer.echo(f"{count(number, 'task')} ended by a fault: {printable(cause)}")
    ended_before = summary.clean and not summary.statuses["unfinished"]
    if ended_before and not summary.recorded:
        typer.echo("Nothing was left to do: every task had ended.")
    typer.echo(f"{summary.in_words} in {summary.seconds:.1f} s. Recorded in {folder}")
    suggest("show", folder)


def _kept(folder: Path | None, rows: int) -> str:
    """Return where the finished trials of a stopped run are, in words."""
    from langgraph_reflexion.support.text import count

    if folder is None or not folder.exists():
        return "nothing was recorded"
    return f"{count(rows, 'finished trial')} kept in {folder}: continue with langgraph-reflexion resume {folder}"
