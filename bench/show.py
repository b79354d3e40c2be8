"""A task's trials in the terminal."""

from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from langgraph_reflexion.bench.facts import code_of, described
from langgraph_reflexion.bench.printable import printable
from langgraph_reflexion.bench.record import Run, read_run
from langgraph_reflexion.bench.story import ON_PROMPTS, Story, stories_of
from langgraph_reflexion.errors import ConfigurationError


def show_task(console: Console, folder: Path, wanted: str, trial: int | None = None) -> None:
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
        _print_story(console, story, same=(story.same or 0) if trial is None else 0)


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


def _print_story(console: Console, story: Story, same: int) -> None:
    trial = story.as_json()
    console.print()
    console.print(Text(f"Trial {trial['trial']}: {_outcome(story)}", "bold reverse"))
    if story.last_attempt:
        console.print(Text(f"In the prompt: every step of trial {story.last_attempt}.", "dim"))
    if story.remembered:
        numbers = ", ".join(map(str, story.remembered))
        console.print(Text(f"In the prompt: reflections on trial {numbers}.", "dim"))
    if not trial["recorded"]:
        console.print(Text("Its steps were not recorded.", "dim"))
    if not same:
        console.print(Text(trial["observation"]))
    else:
        console.print(Text(f"The first {same} steps are those of trial {trial['trial'] - 1}.", "dim"))
    for place, (number, thought, action, observation) in enumerate(trial["steps"]):
        if place < same:
            continue
        differs = place == story.same
        mark = Text(f"{number:>3} ", "bold yellow" if differs else "dim")
        console.print(mark.append(thought or "(no thought)", "italic not bold default"))
        if action is not None:
            console.print(Padding(Text(f"> {action}", "bold cyan"), (0, 0, 0, 4)))
        console.print(Padding(Text(observation), (0, 0, 0, 4)))
    if trial["feedback"]:
        console.print(Text(f"Feedback: {trial['feedback']}"))
    for note in trial["notes"]:
        console.print(Text(f"Note: {note}", "yellow"))
    if trial["fault"]:
        console.print(Text(f"Fault: {trial['fault']}", "red"))
    if trial["reflection"]:
        console.print(Text("Reflection: ", "bold magenta").append(trial["reflection"], "not bold default"))


def _outcome(story: Story) -> str:
    row = story.row
    verdict = {True: "accepted", False: "not accepted", None: "no verdict"}[row["verdict"]]
    truth = {True: "solved", False: "not solved", None: "not known"}[row["success"]]
    parts = [
        f"verdict: {verdict}",
        f"truth: {truth}",
        story.as_json()["reason"],
        f"{row['actions']} action{'s' * (row['actions'] != 1)}",
    ]
    return ", ".join(part for part in parts if part)
