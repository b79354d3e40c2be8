"""The command `judge`: evaluators on recorded trials, compared with the truth."""

from pathlib import Path
from typing import Annotated, Any

import typer

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.lab.cli.basics import AsJson, print_json, say_starting, sigterm_as_ctrl_c
from langgraph_reflexion.lab.cli.help import GROUPS
from langgraph_reflexion.lab.cli.options import takes
from langgraph_reflexion.lab.in_turn import model_names
from langgraph_reflexion.lab.settings import ReflexionSettings
from langgraph_reflexion.support.text import printable

OF_MODELS = {"seed", *GROUPS["Model"]} - {"reflection_model"}
"""The options of `run` that say which model judges, and how it is called."""


@takes(ReflexionSettings, only=OF_MODELS)
def judge(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A run folder.")],
    given: dict[str, Any],
    evaluator: Annotated[
        list[str],
        typer.Option(metavar="NAME", help="What judges, as for the run of an agent; give two to compare them."),
    ],
    truth: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What knows the truth: exact, FILE.py:FUNCTION or 'command: LINE'.  [default: the record]",
        ),
    ] = None,
    tasks: Annotated[str | None, typer.Option(metavar="FILE", help="The task file, for reference answers.")] = None,
    answer_field: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Its column of reference answers.  [default: answer]")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Number of tasks.  [default: all]")] = None,
    concurrency: Annotated[int, typer.Option(min=1, metavar="N", help="Trials to judge concurrently.")] = 8,
    as_json: AsJson = False,
) -> None:
    """Let an evaluator judge the trials of a run, and compare it with the truth.

    No agent is called. Prints how often right trials are rejected and wrong ones accepted, and which to read.
    """
    if not as_json:
        say_starting()
    import asyncio

    from rich.console import Console
    from rich.progress import Progress

    from langgraph_reflexion.lab.experiments.judging import Judging

    if answer_field is not None and tasks is None:
        raise ConfigurationError("--answer-field names a column of the task file: give --tasks with it")
    settings = ReflexionSettings(**given)
    model = None
    if "model" in given:
        names = model_names(settings.model)
        if len(names) > 1:
            raise ConfigurationError(f"--model: one model judges all trials, and {settings.model!r} names several")
        model = settings.load(settings.model)
    console = Console(stderr=True)
    with (
        sigterm_as_ctrl_c(),
        Progress(console=console, transient=True, disable=as_json or not console.is_terminal) as progress,
    ):
        bar = progress.add_task("judging", total=None)
        judging = Judging(
            folder,
            model=model,
            options=settings.model_options(),
            truth=truth,
            tasks=tasks,
            answer_field=answer_field,
            concurrency=concurrency,
            on_judged=lambda: progress.advance(bar),
        )
        progress.update(bar, total=len(evaluator) * judging.number_of_trials(limit))
        judged = asyncio.run(judging.judge(evaluator, limit))
    if as_json:
        print_json(judged.as_json())
        return
    for table in judged.tables():
        table.print(Console(highlight=False))
    for line in judged.words():
        typer.echo(printable(line))
