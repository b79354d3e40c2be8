"""The command `grade`: verdicts on a file of solutions to programming problems."""

import json
from pathlib import Path
from typing import Annotated

import typer

from langgraph_reflexion.cli.basics import AsJson


def grade(
    problems: Annotated[
        Path, typer.Argument(metavar="PROBLEMS", help="HumanEval, MBPP, MultiPL-E or EvalPlus: .jsonl or .jsonl.gz.")
    ],
    solutions: Annotated[
        Path,
        typer.Argument(
            metavar="SOLUTIONS",
            help="One row each: task_id or name, and completion or solution (a function or its body).",
        ),
    ],
    language: Annotated[str | None, typer.Option(help="Problems in this language only.")] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Solutions graded at once.  [default: number of processors]")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run hidden tests on solutions, in the sandbox."""
    from rich.console import Console
    from rich.progress import Progress

    from langgraph_reflexion.experiments.grade import grade as grade_files

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=as_json or not console.is_terminal) as shown:
        bar = shown.add_task("grading", total=None)
        grades = grade_files(
            problems,
            solutions,
            language=language,
            jobs=jobs,
            progress=lambda done, total: shown.update(bar, completed=done, total=total),
        )
    if as_json:
        typer.echo(json.dumps(grades.as_json(), indent=2))
        return
    for row in grades.rows:
        if not row.verdict.passed:
            typer.echo(f"{row.task_id}: {' '.join(row.verdict.reason.split())}")
    rates = ", ".join(f"pass@{k} {100 * rate:.1f} %" for k, rate in grades.pass_at().items())
    typer.echo(f"{grades.passed} of {len(grades.rows)} passed{f' ({rates})' if rates else ''}")
    if grades.ungradable:
        typer.echo(f"not gradable on this machine, not counted: {', '.join(grades.ungradable)}")
