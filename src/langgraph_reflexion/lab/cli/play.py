"""The command `play`: an environment played by a person in the terminal."""

import re
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.lab.cli.basics import suggest
from langgraph_reflexion.lab.cli.options import takes
from langgraph_reflexion.lab.run_settings import RunSettings

if TYPE_CHECKING:
    from langgraph_reflexion.envs.base import Action, Environment, Episode, StepResult, Task

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
    from langgraph_reflexion.envs.pool import call_blocking

    environment = settings.make_environment()
    try:
        _play(environment, settings, task)
    finally:
        call_blocking(environment, environment.close)


def _play(environment: "Environment", settings: RunSettings, name: str) -> None:
    """Play a task of an environment, from its opening to its end."""
    from langgraph_reflexion.envs.base import prompts_of
    from langgraph_reflexion.envs.grammar import action_forms
    from langgraph_reflexion.envs.pool import call_blocking
    from langgraph_reflexion.envs.protocols import SupportsAnswer, expect_programs, for_task, prepare
    from langgraph_reflexion.support.text import count

    chosen = _chosen(environment, settings.split, name)
    expect_programs(environment, [chosen])
    prepared = chosen.copy()
    prepared["prepared"] = call_blocking(environment, prepare, environment, chosen)
    played = for_task(environment, prepared)
    if not played.actions():
        raise ConfigurationError(f"{settings.environment} has no actions to play: it is an agent")
    episode = call_blocking(environment, environment.start, prepared)
    forms = action_forms(played, chosen)
    help = _help(forms)
    opening = prompts_of(environment).opening(chosen["instruction"], episode.observation)
    _say(f"{opening}\n\n{help}")

    actions: list[Action] = []
    # None as long as the game goes on, and if the player leaves it.
    final: StepResult | None = None
    while action := _next_action(played, forms, help):
        actions.append(action)
        result = call_blocking(environment, episode.step, action)
        _say(result.observation)
        if result.terminated or result.truncated:
            final = result
            break
    taken = count(len(actions), "action")
    if final is None:
        _say(f"You left after {taken}.")
        suggest("play", settings.environment)
    else:
        won = _won(environment, episode, prepared, actions, final)
        _say(f"You {_ended(final, won=won)} after {taken}.")
        if isinstance(environment, SupportsAnswer) and not won:
            _say_answer(environment.answer(chosen))
        suggest("run", settings.environment, "--limit", 3, "--max-trials", 4)
    call_blocking(environment, episode.close)


def _chosen(environment: "Environment", split: str | None, name: str) -> "Task":
    """Return the task that is named by its id, or else by its number from 1.

    Raises:
        ConfigurationError: there is no such task.
    """
    from langgraph_reflexion.envs.load import tasks_of

    tasks = tasks_of(environment, split)
    named = {str(number): task for number, task in enumerate(tasks, 1)}
    # An id counts more than the same number.
    named.update({task["id"]: task for task in tasks})
    if name not in named:
        known = f"give an id, or a number from 1 to {len(tasks)}"
        raise ConfigurationError(f"{environment.name} has no task {name!r} here: {known}")
    return named[name]


def _help(forms: Sequence[str]) -> str:
    """Return the help on the actions, of which some take several lines."""
    if not _long(forms):
        return f"Actions: {'; '.join(forms)}.\n{HELP}"
    return "\n\n".join(["Actions:", *forms, f"{HELP} {SEVERAL_LINES}"])


def _long(forms: Sequence[str]) -> list[str]:
    """Return the forms of actions of several lines."""
    return [form for form in forms if "\n" in form]


def _next_action(played: "Environment", forms: Sequence[str], help: str) -> "Action | None":
    """Return the next action that is typed, after any help that is asked for; None to leave."""
    from langgraph_reflexion.envs.base import Action
    from langgraph_reflexion.envs.grammar import parse_action

    while (text := _typed()) != "quit":
        if text in ("help", "?"):
            _say(help)
            continue
        if not text:
            continue
        action = parse_action(played, text)
        if action is None:
            begun = _beginning(text, _long(forms))
            if begun:
                text = "\n".join([begun, *_further_lines()])
                action = parse_action(played, text)
        # A world answers what it does not understand.
        return action or Action(name="", args={}, text=text)
    return None


def _won(
    environment: "Environment",
    episode: "Episode",
    task: "Task",
    actions: "list[Action]",
    result: "StepResult",
) -> bool:
    """Return whether a game that has ended is won: by its reward, or by the environment's review if it has none."""
    from langgraph_reflexion.envs.base import FinishedTrial
    from langgraph_reflexion.envs.pool import call_blocking
    from langgraph_reflexion.envs.protocols import review

    if result.reward is not None:
        return result.reward >= 1.0
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
    found = call_blocking(environment, review, environment, task, trial)
    return bool(found.success)


def _ended(result: "StepResult", *, won: bool) -> str:
    """Return how the game has ended, in words."""
    if won:
        return "won"
    if result.terminated:
        return "lost"
    return "reached the environment's limit"


def _say_answer(answer: str) -> None:
    """Print the answer of a task that was not solved, if there is a single one."""
    if not answer:
        return
    if "\n" in answer:
        _say(f"The answer:\n{answer}")
    else:
        _say(f"The answer: {answer}")


def _typed() -> str:
    """Return the next line without spaces around it; the end of the input ends the game."""
    line = _line("> ")
    if line is None:
        return "quit"
    return line.strip()


def _further_lines() -> Iterator[str]:
    """Return the further lines of an action; its last line, or the end of the input, ends it."""
    while True:
        line = _line(". ")
        if line is None or line == LAST_LINE:
            return
        yield line


def _line(prompt: str) -> str | None:
    """Return the next line of the input, with a prompt in a terminal; None at the end of the input."""
    if not sys.stdin.isatty():
        prompt = ""
    try:
        return input(prompt)
    except EOFError:
        return None


def _beginning(line: str, forms: Sequence[str]) -> str:
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
