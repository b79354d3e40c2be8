"""The command `grade`: pass@k of a file of solutions to programming problems."""

from pathlib import Path
from typing import Annotated

import typer

from langgraph_reflexion.lab.cli.basics import AsJson, print_json, sigterm_as_ctrl_c
from langgraph_reflexion.support.text import printable


def grade(
    problems: Annotated[
        Path, typer.Argument(metavar="FILE", help="Problems: HumanEval, MBPP, MultiPL-E, EvalPlus, or your own.")
    ],
    solutions: Annotated[
        Path,
        typer.Argument(
            metavar="SOLUTIONS",
            help="JSON Lines with task_id (or name), and completion or solution; or samples, a list of them.",
        ),
    ],
    ignore_incomplete: Annotated[
        bool, typer.Option("--ignore-incomplete", help="Leave problems without a solution out of the rates.")
    ] = False,
    concurrency: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Programs to grade at once.  [default: the number of processors]"),
    ] = None,
    sandbox: Annotated[
        str | None, typer.Option(metavar="NAME", help="bubblewrap or landlock.  [default: the first that works]")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Grade a file of solutions to programming problems.

    Prints why each solution failed, and pass@1; with enough solutions for each problem, pass@10 and pass@100, too.
    """
    from rich.console import Console
    from rich.progress import Progress

    from langgraph_reflexion.envs.programming.solutions import grade_file

    console = Console(stderr=True)
    with (
        sigterm_as_ctrl_c(),
        Progress(console=console, transient=True, disable=not console.is_terminal) as progress,
    ):
        bar = progress.add_task("grading", total=None)
        grades = grade_file(
            problems,
            solutions,
            ignore_incomplete=ignore_incomplete,
            concurrency=concurrency,
            sandbox=sandbox,
            on_sample=lambda done, total: progress.update(bar, completed=done, total=total),
        )
    if as_json:
        print_json(grades.as_json())
        return
    for problem in grades.problems:
        for number, failure in enumerate(problem.failures, 1):
            if failure is not None:
                sample = f", sample {number}" if problem.n > 1 else ""
                typer.echo(printable(f"{problem.id}{sample}: {failure}"))
    for name, rate in grades.rates().items():
        typer.echo(f"{name} {rate:.1%}")
    typer.echo(f"{grades.c} of {grades.n} solutions passed; problems: {len(grades.problems)}")
    if grades.missing:
        typer.echo(printable(f"left out, without a solution: {', '.join(grades.missing)}"))
    if grades.ungradable:
        typer.echo(printable(f"left out, without hidden tests that run here: {', '.join(grades.ungradable)}"))
