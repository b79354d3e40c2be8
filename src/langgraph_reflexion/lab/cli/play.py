"""The command `play`: an environment played by a person in the terminal."""

import re
import sys
from typing import Annotated

import typer

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.lab.cli.basics import suggest
from langgraph_reflexion.lab.cli.options import takes
from langgraph_reflexion.lab.settings import RunSettings

HELP = "Type an action, `help` for the actions, `quit` to leave."
LAST_LINE = "."
SEVERAL_LINES = f"An action of several lines ends with a line that holds only `{LAST_LINE}`."


@takes(RunSettings, ("environment", "options", "split", "seed"))
def play(
    settings: RunSettings,
    task: Annotated[
        str, typer.Option(metavar="ID|N", help="The task's id, or its number from 1.", show_default=True)
    ] = "1",
) -> None:
    """Play an environment yourself."""
    from langgraph_reflexion.envs.base import Action, FinishedTrial, Task
    from langgraph_reflexion.envs.load import tasks_of
    from langgraph_reflexion.envs.pool import call_blocking
    from langgraph_reflexion.prompts import load_prompts
    from langgraph_reflexion.support.text import count

    environment = settings.make_environment()
    try:
        tasks = tasks_of(environment, settings.split)
        by_number = {str(number): each for number, each in enumerate(tasks, 1)}
        chosen = (by_number | {each["id"]: each for each in tasks}).get(task)
        if chosen is None:
            known = f"give an id, or a number from 1 to {len(tasks)}"
            raise ConfigurationError(f"{environment.name} has no task {task!r} here: {known}")
        environment.expect_programs([chosen])
        prepared = Task(**{**chosen, "prepared": call_blocking(environment, environment.prepare, chosen)})
        played = environment.for_task(prepared)
        if not played.actions():
            raise ConfigurationError(f"{settings.environment} has no actions to play: it is an agent")
        episode = call_blocking(environment, environment.start, prepared)
        forms = played.action_forms(chosen)
        long = [form for form in forms if "\n" in form]
        help = f"Actions: {'; '.join(forms)}.\n{HELP}"
        if long:
            help = "\n\n".join(["Actions:", *forms, f"{HELP} {SEVERAL_LINES}"])
        opening = load_prompts(environment.prompts_from).opening(chosen["instruction"], episode.observation)
        _say(f"{opening}\n\n{help}")
        actions: list[Action] = []
        while (text := _typed()) != "quit":
            if text in ("help", "?"):
                _say(help)
            elif text:
                if played.parse(text) is None and (begun := _beginning(text, long)):
                    text = "\n".join([begun, *iter(lambda: _typed(". "), LAST_LINE)])
                actions.append(played.parse(text) or Action(name="", args={}, text=text))
                result = call_blocking(environment, episode.step, actions[-1])
                _say(result.observation)
                if result.terminated or result.truncated:
                    won = result.reward is not None and result.reward >= 1.0
                    if result.reward is None:
                        trial = FinishedTrial(
                            number=1,
                            actions=actions,
                            snapshot=call_blocking(environment, episode.snapshot),
                            verdict=None,
                            stop_reason="terminated",
                            feedback="",
                            observation=result.observation,
                            reflection=None,
                        )
                        won = bool(call_blocking(environment, environment.review, prepared, trial).success)
                    how = "won" if won else "lost" if result.terminated else "reached the environment's limit"
                    _say(f"You {how} after {count(len(actions), 'action')}.")
                    if not won and (answer := environment.answer(chosen)):
                        _say(f"The answer:\n{answer}" if "\n" in answer else f"The answer: {answer}")
                    suggest("run", settings.environment, "--limit", 3, "--max-trials", 4)
                    break
        else:
            _say(f"You left after {count(len(actions), 'action')}.")
            suggest("play", settings.environment)
        call_blocking(environment, episode.close)
    finally:
        call_blocking(environment, environment.close)


def _typed(prompt: str = "> ") -> str:
    """Return the next line; the end of the input ends the game, or the action."""
    try:
        line = input(prompt if sys.stdin.isatty() else "")
    except EOFError:
        return "quit" if prompt == "> " else LAST_LINE
    return line.strip() if prompt == "> " else line


def _beginning(line: str, forms: list[str]) -> str:
    """Return the beginning of an action of several lines that a line is, if it is one.

    If only a name precedes the argument, the argument may begin in the same line.
    """
    for form in forms:
        first = form.partition("\n")[0]
        parts = re.split(r"\{\w+\}", first)
        if re.fullmatch(".+".join(map(re.escape, parts)), line, re.IGNORECASE):
            return line
        if re.fullmatch(r"\w+", first) and line.lower().startswith(f"{first.lower()} "):
            return f"{first}\n{line[len(first) + 1 :]}"
    return ""


def _say(text: str) -> None:
    """Print a text, in a terminal with its lines broken between words."""
    from rich.console import Console
    from rich.text import Text

    from langgraph_reflexion.support.text import printable

    Console(highlight=False).print(Text(printable(text)), soft_wrap=not sys.stdout.isatty())
