"""All commands of the command line. Heavy packages are imported inside them, so that `--help` is quick."""

from pathlib import Path
from typing import Annotated

import typer

from langgraph_reflexion import __version__
from langgraph_reflexion.errors import ConfigurationError, one_of
from langgraph_reflexion.lab.cli.basics import suggest
from langgraph_reflexion.lab.cli.demo import demo
from langgraph_reflexion.lab.cli.doctor import doctor
from langgraph_reflexion.lab.cli.experiment import experiment
from langgraph_reflexion.lab.cli.grade import grade
from langgraph_reflexion.lab.cli.help import OPEN, ExampledCommand, GroupedCommand
from langgraph_reflexion.lab.cli.judge import judge
from langgraph_reflexion.lab.cli.learn import learn as learn_from_feedback
from langgraph_reflexion.lab.cli.lessons import lessons
from langgraph_reflexion.lab.cli.listing import list_runs
from langgraph_reflexion.lab.cli.play import play
from langgraph_reflexion.lab.cli.report import report, show
from langgraph_reflexion.lab.cli.review import learn as learn
from langgraph_reflexion.lab.cli.run import resume, run
from langgraph_reflexion.lab.cli.sandbox import sandbox
from langgraph_reflexion.support.files import own_table


def init(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="The folder; the working directory unless given.", show_default=False),
    ] = Path("."),
    kind: Annotated[str, typer.Option(metavar="agent|environment", help="What the project is about.")] = "agent",
) -> None:
    """Write a small project that runs without a key.

    It has an agent or an environment, tasks and a test.
    """
    projects = own_table(__file__, "projects.toml")
    one_of("kind", kind, projects)
    templates: dict[str, str] = projects[kind]
    files = {name: text.lstrip("\n") for name, text in templates.items()}
    for name in files:
        path = folder / name
        if path.exists():
            raise ConfigurationError(f"{path} is already there: nothing was written, choose another folder")
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        with (folder / name).open("x", encoding="utf-8") as file:
            file.write(text)
    typer.echo(f"Wrote {', '.join(files)}. Next:\n")
    if folder.resolve() != Path.cwd():
        typer.echo(f"    cd {folder}")
    # The first commands of its README.
    _, _, after = files["README.md"].partition("```bash\n")
    commands, _, _ = after.partition("```")
    for line in commands.splitlines():
        typer.echo(f"    {line}")


app = typer.Typer(
    help="The Reflexion agent as a LangGraph state machine.",
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(sandbox, name="sandbox")
app.add_typer(lessons, name="lessons")
app.command(cls=ExampledCommand)(demo)
app.command(cls=ExampledCommand)(doctor)
app.command(cls=ExampledCommand)(init)
app.command(cls=GroupedCommand, context_settings=OPEN)(run)
app.command(cls=GroupedCommand)(resume)
app.command(cls=GroupedCommand)(experiment)
app.command(cls=ExampledCommand)(report)
app.command(cls=ExampledCommand)(show)
app.command(cls=GroupedCommand)(judge)
app.command("learn", cls=GroupedCommand)(learn_from_feedback)
app.command("list", cls=ExampledCommand)(list_runs)
app.command(cls=GroupedCommand, context_settings=OPEN)(play)
app.command(cls=ExampledCommand)(grade)


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


@app.command(cls=ExampledCommand)
def apply(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A run folder of the workspace.")],
    task: Annotated[str | None, typer.Argument(metavar="TASK", help="The task's id.  [default: all]")] = None,
) -> None:
    """Apply the patches of a workspace run.

    Each patch that solved a task is applied to the task's own folder. Built-in tasks have none: their repositories
    are in a cache, which is left alone.
    """
    from langgraph_reflexion.lab.experiments.apply import apply_results

    for line in apply_results(folder, task):
        typer.echo(line)
    if task:
        suggest("show", folder, task)
    else:
        suggest("show", folder)
