"""The command `experiment`: all runs of an experiment file."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from langgraph_reflexion.lab.cli.basics import AsJson, fail, say_starting, sigterm_as_ctrl_c, suggest
from langgraph_reflexion.lab.cli.options import takes
from langgraph_reflexion.lab.settings import RunSettings


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
    as_json: AsJson = False,
) -> None:
    """Run every combination of an experiment file. The same command resumes it."""
    if not as_json:
        say_starting()
    import asyncio

    from rich.console import Console

    from langgraph_reflexion.lab.experiments.comparison import compare
    from langgraph_reflexion.lab.experiments.locks import locked
    from langgraph_reflexion.lab.experiments.matrix import check, estimate, estimate_table, run_experiment, total
    from langgraph_reflexion.lab.experiments.matrix_file import read_experiment
    from langgraph_reflexion.lab.experiments.progress import ExperimentProgress
    from langgraph_reflexion.lab.experiments.record import read_runs

    read = read_experiment(file, model, base_url)
    folder = out or Path("runs") / file.stem
    recorded, left_out = read_runs(like)
    for why in left_out:
        typer.echo(why, err=True)
    if dry_run:
        runs = check(read, folder, given)
        recorded += [each.run for each in runs if each.run]
        estimates = [estimate(each, recorded) for each in runs]
        if as_json:
            shown = {"runs": [vars(each) for each in estimates], "all": vars(total(estimates))}
            typer.echo(json.dumps(shown, indent=2))
        else:
            estimate_table(estimates).print(Console())
            again = ["--out", out] if out else []
            again += ["--model", model] if model else []
            again += ["--base-url", base_url] if base_url else []
            suggest("experiment", file, *again)
        raise typer.Exit(1 if any(each.refusal for each in runs) else 0)
    with locked(folder):
        runs = check(read, folder, given)
        try:
            live = ExperimentProgress(Console(stderr=True), hidden=as_json, runs=len(runs))
            with sigterm_as_ctrl_c(), live as progress:
                outcomes = asyncio.run(run_experiment(runs, progress, given))
        except KeyboardInterrupt:
            stopped = f"stopped; finished trials are kept in {folder}; the same command resumes"
            raise typer.Exit(fail(stopped, 130)) from None
    begun = any((each.folder / "trials.jsonl").exists() for each in outcomes)
    comparison = compare(folder) if begun else None
    if as_json:
        summary = comparison.as_json() if comparison else {}
        typer.echo(
            json.dumps({"dir": str(folder), "outcomes": [each.as_json() for each in outcomes], **summary}, indent=2)
        )
    elif comparison:
        comparison.print()
        typer.echo(f"Recorded in {folder}")
        suggest("report", folder, "--html", "page.html")
    if not begun:
        raise typer.Exit(2)
    raise typer.Exit(0 if all(each.status == "finished" for each in outcomes) else 1)
