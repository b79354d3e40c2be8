"""The command `init`: a small project of your own."""

from pathlib import Path
from typing import Annotated

import typer

from langgraph_reflexion.errors import ConfigurationError, one_of
from langgraph_reflexion.files import own_table


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
    files: dict[str, str] = {name: text.lstrip("\n") for name, text in projects[kind].items()}
    if there := [name for name in files if (folder / name).exists()]:
        raise ConfigurationError(f"{folder / there[0]} is already there: nothing was written, choose another folder")
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        with (folder / name).open("x", encoding="utf-8") as file:
            file.write(text)
    commands = files["README.md"].partition("```bash\n")[2].partition("```")[0]
    change = [] if folder.resolve() == Path.cwd() else [f"cd {folder}"]
    typer.echo(f"Wrote {', '.join(files)}. Next:\n")
    for line in [*change, *commands.splitlines()]:
        typer.echo(f"    {line}")
