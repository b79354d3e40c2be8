"""The command `play`: an environment played by a person in the terminal."""

import sys
from typing import Annotated

import typer

from langgraph_reflexion.cli.options import takes
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.settings import RunSettings

HELP = "Type an action, `help` for the actions, `quit` to leave."


@takes(RunSettings, ("environment", "options", "split", "seed"))
def play(
    settings: RunSettings,
    task: Annotated[
        str, typer.Option(metavar="ID|N", help="The task's id, or its number from 1.", show_default=True)
    ] = "1",
) -> None:
    """Play an environment yourself."""
    from langgraph_reflexion.envs.base import Action, Task
    from langgraph_reflexion.envs.pool import call_blocking
    from langgraph_reflexion.prompts import load_prompts

    environment = settings.make_environment()
    try:
        tasks = environment.tasks(settings.split)
        by_number = {str(number): each for number, each in enumerate(tasks, 1)}
        chosen = (by_number | {each["id"]: each for each in tasks}).get(task)
        if chosen is None:
            known = f"give an id, or a number from 1 to {len(tasks)}"
            raise ConfigurationError(f"{environment.name} has no task {task!r} here: {known}")
        prepared = Task(**{**chosen, "prepared": call_blocking(environment, environment.prepare, chosen)})
        played = environment.for_task(prepared)
        if not played.actions():
            raise ConfigurationError(f"{settings.environment} has no actions to play: it is an agent")
        episode = call_blocking(environment, environment.start, prepared)
        help = f"Actions: {'; '.join(played.action_forms(chosen))}.\n{HELP}"
        opening = load_prompts(environment.prompts_from).opening(chosen["instruction"], episode.observation)
        typer.echo(f"{opening}\n\n{help}")
        actions = 0
        while (text := _typed()) != "quit":
            if text == "help":
                typer.echo(help)
            elif text:
                actions += 1
                action = played.parse(text) or Action(name="", args={}, text=text)
                result = call_blocking(environment, episode.step, action)
                typer.echo(result.observation)
                if result.terminated or result.truncated:
                    won = result.reward is not None and result.reward >= 1.0
                    how = "won" if won else "lost" if result.terminated else "reached the environment's limit"
                    typer.echo(f"You {how} after {actions} action{'s' * (actions != 1)}.")
                    break
        call_blocking(environment, episode.close)
    finally:
        call_blocking(environment, environment.close)


def _typed() -> str:
    try:
        return input("> " if sys.stdin.isatty() else "").strip()
    except EOFError:
        return "quit"
