"""A task's trials, from a graph's states or from a run folder, for notebooks and the terminal."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph
from markupsafe import Markup
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.experiments.html import fill, framed
from langgraph_reflexion.experiments.printable import printable
from langgraph_reflexion.experiments.provenance import code_of, described
from langgraph_reflexion.experiments.record import Run, read_run
from langgraph_reflexion.experiments.rows import TrajectoryRow, TrialRow
from langgraph_reflexion.experiments.trajectories import ON_PROMPTS, TrialView, first_difference, trial_views
from langgraph_reflexion.models.usage import add_usage
from langgraph_reflexion.state import TrialRecord

_CLASSES = {True: "solved", False: "failed", None: "unknown"}


@dataclass(frozen=True, repr=False)
class Trials:
    """A task's trials. Notebooks show them; `print` prints them in a terminal.

    Attributes:
        title: The task.
        views: Its trials in order, each without the first steps that it shares with the one before.
        caption: The settings of the run.
    """

    title: str
    views: tuple[TrialView, ...]
    caption: str = ""

    def __getitem__(self, trial: int) -> "Trials":
        """Return one trial, with every step.

        Args:
            trial: Its number, counted from 1.

        Raises:
            ConfigurationError: there is no such trial.
        """
        found = tuple(replace(view, shared_with="") for view in self.views if view.row["trial"] == trial)
        if not found:
            numbers = ", ".join(str(view.row["trial"]) for view in self.views)
            raise ConfigurationError(f"{printable(self.title)} has no trial {trial}: it has {numbers}")
        return replace(self, views=found)

    def beside(self, other: "Trials") -> "SideBySide":
        """Return these trials and those of another branch or run, side by side."""
        return SideBySide(self, other)

    def print(self, console: Console | None = None) -> None:
        """Print the trials; to the terminal by default."""
        (console or Console(highlight=False)).print(self.text())

    def text(self) -> Group:
        """Return the trials as text for a terminal."""
        heading = [Text(printable(self.title), "bold")]
        heading += [Text(self.caption, "dim")] if self.caption else []
        return Group(*heading, *(line for view in self.views for line in _lines(view)))

    def html(self) -> Markup:
        """Return the trials as HTML."""
        trials = [
            view.as_json()
            | {"outcome": view.outcome, "class": _CLASSES[view.solved]}
            | {"hidden": view.hidden_steps, "shared_with": view.shared_with}
            for view in self.views
        ]
        return fill("trials.html.j2", title=printable(self.title), caption=self.caption, trials=trials)

    def __repr__(self) -> str:
        outcomes = "; ".join(f"trial {view.row['trial']}: {view.outcome}" for view in self.views)
        return f"<Trials of {printable(self.title)!r}: {outcomes}>"

    def _repr_html_(self) -> str:
        return framed(self.html())


@dataclass(frozen=True, repr=False)
class SideBySide:
    """Two branches of a task, or a task under two runs, side by side, with the first different step marked.

    Attributes:
        one: The trials on the left.
        other: The trials on the right, without the first steps that they share with those on the left.
    """

    one: Trials
    other: Trials

    def print(self, console: Console | None = None) -> None:
        """Print both in two columns; to the terminal by default."""
        table = Table.grid(padding=(0, 2, 0, 0), expand=True)
        for _ in range(2):
            table.add_column(ratio=1)
        table.add_row(*(trials.text() for trials in self._columns()))
        (console or Console(highlight=False)).print(table)

    def __repr__(self) -> str:
        return f"{self.one!r}\n{self.other!r}"

    def _repr_html_(self) -> str:
        left, right = (trials.html() for trials in self._columns())
        return framed(Markup('<div class="beside">\n{}\n</div>').format(left + right))

    def _columns(self) -> tuple[Trials, Trials]:
        left, right = ({view.row["trial"]: view for view in each.views} for each in (self.one, self.other))
        shared = {
            trial: first_difference(left[trial].trajectory, right[trial].trajectory)
            for trial in left.keys() & right.keys()
        }

        def column(trials: Trials, shared_with: str) -> Trials:
            views = (
                replace(view, shared_steps=shared.get(view.row["trial"]), shared_with=shared_with)
                for view in trials.views
            )
            return replace(trials, views=tuple(views))

        return column(self.one, ""), column(self.other, "on the left")


def trials_of(states: Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> Trials:
    """Return the trials in a graph's states.

    Args:
        states: The states of `graph.stream(..., stream_mode="values")`, for every trial with its steps; or a final
            state, which has the steps of the last trial only.

    Raises:
        ConfigurationError: they are not states of this graph, or no trial has begun.
    """
    last: dict[int, Mapping[str, Any]] = {}
    several: Iterable[Mapping[str, Any]] = [states] if isinstance(states, Mapping) else states
    for state in several:
        # The first state holds the input only.
        if "episode" in state and "trial" in state:
            if last and (state["trial"] < max(last) or state["task"]["id"] != last[max(last)]["task"]["id"]):
                last.clear()  # another task began on the thread
            last[state["trial"]] = state
    if not last:
        raise ConfigurationError('no trial was begun: give a final state, or those of stream_mode="values"')
    final = list(last.values())[-1]
    lessons = {each["trial"]: each["text"] for state in last.values() for each in state["reflections"]}
    records = {record["trial"]: record for record in final["trials"]}
    views: list[TrialView] = []
    for trial in range(1, final["trial"] + 1):
        at = last.get(trial)
        trajectory = _trajectory(at) if at else None
        view = TrialView(
            _row(final["task"]["id"], trial, records.get(trial), lessons.get(trial)),
            trajectory,
            remembered=[each["trial"] for each in at["reflections"] if each["trial"] < trial] if at else [],
            last_attempt=trial - 1 if at and at.get("last_attempt") else None,
            shared_steps=first_difference(views[-1].trajectory, trajectory) if views else None,
            shared_with=f"of trial {trial - 1}",
        )
        views.append(view)
    name: str = final["task"]["instruction"] or final["task"]["id"]
    return Trials(name.partition("\n")[0], tuple(views))


def trials_of_thread(graph: CompiledStateGraph[Any, Any, Any, Any], config: RunnableConfig) -> Trials:
    """Return the trials of a thread: those of its newest branch, or of the one that leads to a checkpoint.

    Args:
        graph: Compiled with a checkpointer that keeps the history.
        config: Names the thread; with a `checkpoint_id` (as of a fork), the end of the branch.

    Raises:
        ConfigurationError: nothing has run on the thread.
    """
    end = graph.get_state(config)
    thread = RunnableConfig(configurable={"thread_id": config["configurable"]["thread_id"]})
    known = {_id(each.config): each for each in graph.get_state_history(thread)}
    branch = [end]
    while (before := branch[-1].parent_config) and _id(before) in known:
        branch.append(known[_id(before)])
    return trials_of(each.values for each in reversed(branch))


def trials_of_run(run: Run | Path | str, task: str) -> Trials:
    """Return the trials of a task of a run.

    Args:
        run: The run or its folder.
        task: The task's id, or its number counted from 1.

    Raises:
        ConfigurationError: there is no such task, or none of its trials is finished.
    """
    run = run if isinstance(run, Run) else read_run(run)
    tasks: list[str] = run.info["tasks"]
    if task not in tasks:
        if not (task.isdecimal() and 1 <= int(task) <= len(tasks)):
            known = f"give an id such as {tasks[0]!r}, or a number from 1 to {len(tasks)}"
            raise ConfigurationError(f"{run.folder} has no task {task!r}: {known}")
        task = tasks[int(task) - 1]
    views = trial_views(run.settings, [row for row in run.trials if row["task_id"] == task], run.trajectories())
    if not views:
        raise ConfigurationError(f"{run.folder}: no trial of {printable(task)} is finished yet")
    caption = f"{described(run.settings)} · {code_of(run.info)}"
    if any(view.remembered or view.last_attempt for view in views):
        caption += f"\n{ON_PROMPTS}"
    return Trials(task, tuple(views), caption)


def _lines(view: TrialView) -> Iterator[RenderableType]:
    """Yield a trial for a terminal, line by line."""
    trial = view.as_json()
    yield ""
    yield Text(f"Trial {trial['trial']}: {view.outcome}", "bold reverse")
    if view.last_attempt:
        yield Text(f"In the prompt: every step of trial {view.last_attempt}.", "dim")
    if view.remembered:
        yield Text(f"In the prompt: reflections on trial {', '.join(map(str, view.remembered))}.", "dim")
    if lessons := view.row.get("lessons"):
        yield Text(f"In the prompt: lessons {', '.join(map(printable, lessons))}.", "dim")
    if not trial["recorded"]:
        yield Text("Its steps were not recorded.", "dim")
    if view.hidden_steps:
        yield Text(f"The first {view.hidden_steps} steps are those {view.shared_with}.", "dim")
    else:
        yield Text(trial["observation"])
    for place, (number, thought, action, observation) in enumerate(trial["steps"]):
        if place < view.hidden_steps:
            continue
        mark = Text(f"{number:>3} ", "bold yellow" if place == view.shared_steps else "dim")
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


def _row(task: str, trial: int, record: TrialRecord | None, lesson: str | None) -> TrialRow:
    row: dict[str, Any] = {"task_id": task, "trial": trial, "measures": {}, "reflection": lesson}
    if record is None:
        row |= dict.fromkeys(("success", "verdict", "score")) | {"stop_reason": "unfinished", "actions": 0}
        row |= {"usage": {}, "seconds": 0.0, "notes": [], "fault": "", **add_usage()}
    else:
        row |= {**record, **add_usage(*record["usage"].values())}
    return cast(TrialRow, row)


def _trajectory(state: Mapping[str, Any]) -> TrajectoryRow:
    # Before its verdict, a trial's state holds the evaluation of the trial before.
    evaluated = state["trials"] and state["trials"][-1]["trial"] == state["trial"]
    return TrajectoryRow(
        task_id=state["task"]["id"],
        trial=state["trial"],
        observation=state["episode"]["observation"],
        steps=state["trajectory"],
        evaluation=state["evaluation"] if evaluated else None,
    )


def _id(config: RunnableConfig) -> str:
    return str(config["configurable"]["checkpoint_id"])
