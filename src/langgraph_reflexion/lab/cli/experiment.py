"""The command `experiment`: all runs of an experiment file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.lab.cli.basics import AsJson, fail, print_json, say_starting, sigterm_as_ctrl_c, suggest
from langgraph_reflexion.lab.cli.gate import FailBelow, NotWorseThan, gate_of
from langgraph_reflexion.lab.cli.help import spelt
from langgraph_reflexion.lab.cli.options import takes
from langgraph_reflexion.lab.run_settings import RunSettings

if TYPE_CHECKING:
    from langgraph_reflexion.lab.experiments.matrix import PlannedRun, RunOutcome
    from langgraph_reflexion.lab.experiments.runs import Run


@takes(RunSettings, only=RunSettings.resumable("free"))
def experiment(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The experiment file; see docs/experiments.md.")],
    given: dict[str, Any],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="The experiment's folder; runs in it are resumed.  [default: runs/FILE's name]"
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The model to use instead of the file's, as in `run --model`.", show_default=False
        ),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Address of the model's OpenAI-compatible server.", show_default=False),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check every run and estimate time and cost; run nothing.")
    ] = False,
    like: Annotated[
        list[Path],
        typer.Option(metavar="DIR", help="A recorded run or experiment on which --dry-run bases its estimate."),
    ] = [],  # noqa: B006 - typer copies it
    fail_below: FailBelow = None,
    not_worse_than: NotWorseThan = None,
    as_json: AsJson = False,
) -> None:
    """Run every combination of an experiment file. The same command resumes it."""
    if not as_json:
        say_starting()
    from langgraph_reflexion.lab.experiments.locks import locked
    from langgraph_reflexion.lab.experiments.matrix import check
    from langgraph_reflexion.lab.experiments.matrix_file import read_experiment
    from langgraph_reflexion.lab.experiments.runs import holds_run, read_run, read_runs

    gated = fail_below is not None or not_worse_than is not None
    _expect_of_dry_run(dry_run, like=bool(like), gated=gated)
    read = read_experiment(file, model, base_url)
    folder = out or Path("runs") / file.stem
    gate = gate_of(fail_below, not_worse_than, folder)
    recorded, left_out = read_runs(like)
    for why in left_out:
        typer.echo(why, err=True)
    if dry_run:
        runs = check(read, folder, given)
        possible = _estimate(runs, recorded, as_json=as_json)
        if not as_json:
            _suggest_run(file, out, model, base_url, given)
        if not possible:
            raise typer.Exit(1)
        raise typer.Exit(0)
    with locked(folder):
        runs = check(read, folder, given)
        outcomes = _run_all(runs, folder, given, as_json=as_json)
    # Trials of an earlier invocation say nothing of one whose every run was refused.
    played = [each for each in outcomes if each.status != "refused"]
    begun = any((each.folder / "trials.jsonl").exists() for each in played)
    complaints: list[str] = []
    if gate and begun:
        # Not the runs in `folder`: it may hold some that the file no longer has.
        judged = [read_run(each.folder) for each in outcomes if holds_run(each.folder)]
        complaints = gate.complaints(judged)
    _print_results(folder, outcomes, complaints, begun=begun, as_json=as_json)
    if not begun:
        raise typer.Exit(2)
    if complaints:
        why = "; ".join(complaints)
        raise typer.Exit(fail(why, 1))
    finished = all(each.status == "finished" for each in outcomes)
    if not finished:
        raise typer.Exit(1)
    raise typer.Exit(0)


def _expect_of_dry_run(dry_run: bool, *, like: bool, gated: bool) -> None:
    """Refuse options that would do nothing, with `--dry-run` or without it."""
    if like and not dry_run:
        raise ConfigurationError("--like is a basis of estimates: give --dry-run with it")
    if gated and dry_run:
        raise ConfigurationError("--dry-run runs nothing that --fail-below or --not-worse-than could judge")


def _estimate(runs: "list[PlannedRun]", recorded: "list[Run]", *, as_json: bool) -> bool:
    """Print the time and cost that the runs may take, and return whether all of them can begin."""
    from rich.console import Console

    from langgraph_reflexion.lab.experiments.estimates import estimate, estimate_table, total

    # What a run itself has done so far says most about the rest of it.
    begun = [each.run for each in runs if each.run]
    known = recorded + begun
    estimates = [estimate(each, known) for each in runs]
    if as_json:
        shown = {"runs": [vars(each) for each in estimates], "all": vars(total(estimates))}
        print_json(shown)
    else:
        estimate_table(estimates).print(Console())
    return not any(each.refusal for each in runs)


def _suggest_run(
    file: Path, out: Path | None, model: str | None, base_url: str | None, given: dict[str, Any]
) -> None:
    """Suggest the same command without `--dry-run`."""
    words: list[object] = ["experiment", file]
    if out:
        words += ["--out", out]
    if model:
        words += ["--model", model]
    if base_url:
        words += ["--base-url", base_url]
    for name, value in given.items():
        words += [spelt(name), value]
    suggest(*words)


def _run_all(runs: "list[PlannedRun]", folder: Path, given: dict[str, Any], *, as_json: bool) -> "list[RunOutcome]":
    """Run what is left of an experiment, with a progress line.

    Raises:
        typer.Exit: somebody has stopped it.
    """
    import asyncio

    from rich.console import Console

    from langgraph_reflexion.lab.experiments.matrix import run_experiment
    from langgraph_reflexion.lab.experiments.progress import ExperimentProgress

    live = ExperimentProgress(Console(stderr=True), hidden=as_json, runs=len(runs))
    try:
        with sigterm_as_ctrl_c(), live as progress:
            return asyncio.run(run_experiment(runs, progress, given))
    except KeyboardInterrupt:
        stopped = f"stopped; finished trials are kept in {folder}; the same command resumes"
        raise typer.Exit(fail(stopped, 130)) from None


def _print_results(
    folder: Path, outcomes: "list[RunOutcome]", complaints: list[str], *, begun: bool, as_json: bool
) -> None:
    """Print the outcomes and, if any run has begun, the comparison."""
    from langgraph_reflexion.lab.experiments.comparison import compare

    if as_json:
        results: dict[str, Any] = {"dir": str(folder), "outcomes": [each.as_json() for each in outcomes]}
        if begun:
            results.update(compare(folder).as_json())
        results["below_gate"] = complaints
        print_json(results)
    elif begun:
        compare(folder).print()
        typer.echo(f"Recorded in {folder}")
        suggest("report", folder, "--html", "page.html")
