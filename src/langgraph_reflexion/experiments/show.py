"""A task's trials in the terminal."""

from collections.abc import Iterator
from pathlib import Path

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.text import Text

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.experiments.facts import code_of, described
from langgraph_reflexion.experiments.printable import printable
from langgraph_reflexion.experiments.record import Run, read_run
from langgraph_reflexion.experiments.trajectories import ON_PROMPTS, Story, stories_of


def show_task(console: Console, folder: Path | str, wanted: str, trial: int | None = None) -> None:
    """Print a task's trials.

    Args:
        console: Where.
        folder: The run folder.
        wanted: The task's id, or its number counted from 1.
        trial: This trial only; all of them unless given.

    Raises:
        ConfigurationError: there is no such run, task or trial.
    """
    run = read_run(folder)
    task = choose(run, wanted)
    told = stories_of(run, task)
    shown = [story for story in told if trial in (None, story.row["trial"])]
    if not shown:
        has = f"it has {len(told)}" if told else "none is finished yet"
        raise ConfigurationError(f"{folder} has no trial {trial or 1} of {printable(task)}: {has}")
    console.print(Text(printable(task), "bold").append(f"  {printable(str(folder))}", "not bold dim"), soft_wrap=True)
    console.print(Text(f"{described(run.settings)} · {code_of(run.info)}", "dim"))
    if any(story.remembered or story.last_attempt for story in shown):
        console.print(Text(f"What was in the prompt: {ON_PROMPTS[0].lower()}{ON_PROMPTS[1:]}", "dim"))
    for story in shown:
        # A trial that stands alone is told whole, and others from where they leave the one before.
        skipped = (story.same or 0) if trial is None else 0
        for line in lines(story, story.same, skipped, f"those of trial {story.row['trial'] - 1}"):
            console.print(line)


def choose(run: Run, wanted: str) -> str:
    """The id of the task that is meant.

    Raises:
        ConfigurationError: there is no such task.
    """
    tasks: list[str] = run.info["tasks"]
    if wanted in tasks:
        return wanted
    if wanted.isdecimal() and 1 <= int(wanted) <= len(tasks):
        return tasks[int(wanted) - 1]
    raise ConfigurationError(
        f"{run.folder} has no task {wanted!r}: give an id such as {tasks[0]!r}, or a number from 1 to {len(tasks)}"
    )


def lines(story: Story, same: int | None, skipped: int = 0, of: str = "") -> Iterator[RenderableType]:
    """A trial in the terminal, line by line.

    Args:
        story: The trial.
        same: In so many of its first steps it is another trial; the step after them is marked.
        skipped: So many of them are left out.
        of: Whose they are.
    """
    trial = story.as_json()
    yield ""
    yield Text(f"Trial {trial['trial']}: {story.outcome}", "bold reverse")
    if story.last_attempt:
        yield Text(f"In the prompt: every step of trial {story.last_attempt}.", "dim")
    if story.remembered:
        numbers = ", ".join(map(str, story.remembered))
        yield Text(f"In the prompt: reflections on trial {numbers}.", "dim")
    if lessons := story.row.get("lessons"):
        yield Text(f"In the prompt: lessons {', '.join(map(printable, lessons))}.", "dim")
    if not trial["recorded"]:
        yield Text("Its steps were not recorded.", "dim")
    if not skipped:
        yield Text(trial["observation"])
    else:
        yield Text(f"The first {skipped} steps are {of}.", "dim")
    for place, (number, thought, action, observation) in enumerate(trial["steps"]):
        if place < skipped:
            continue
        mark = Text(f"{number:>3} ", "bold yellow" if place == same else "dim")
        yield mark.append(thought or "(no thought)", "italic not bold default")
        if action is not None:
            yield Padding(Text(f"> {action}", "bold cyan"), (0, 0, 0, 4))
        yield Padding(Text(observation), (0, 0, 0, 4))
    if trial["feedback"]:
        yield Text(f"Feedback: {trial['feedback']}")
    for note in trial["notes"]:
        yield Text(f"Note: {note}", "yellow")
    if trial["fault"]:
        yield Text(f"Fault: {trial['fault']}", "red")
    if trial["reflection"]:
        yield Text("Reflection: ", "bold magenta").append(trial["reflection"], "not bold default")
