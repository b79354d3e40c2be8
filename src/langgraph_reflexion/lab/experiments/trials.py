"""A task's trials, from a graph's states or from a run folder, for notebooks and the terminal."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from markupsafe import Markup
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.text import Text

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.lab.experiments.html import fill, framed
from langgraph_reflexion.lab.experiments.prompts import Place, SentPrompt, prompt_for
from langgraph_reflexion.lab.experiments.provenance import BETWEEN, code_of, described, in_lines
from langgraph_reflexion.lab.experiments.record import ERRORS, Run, read_run
from langgraph_reflexion.lab.experiments.rows import TrialRow, trajectory_of
from langgraph_reflexion.lab.experiments.trial_view import NO_PROMPTS, TrialView, first_difference, trial_views
from langgraph_reflexion.models.recorded import add_usage
from langgraph_reflexion.support.text import printable

# The trials of a run folder are shown without LangGraph.
if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.graph.state import CompiledStateGraph

    from langgraph_reflexion.state import TrialRecord


@dataclass(frozen=True, repr=False)
class Trials:
    """A task's trials. Notebooks show them; `print` prints them in a terminal."""

    title: str
    views: tuple[TrialView, ...]
    """Its trials in order, each without the first steps that it shares with the one before."""
    caption: str = ""
    """The settings of the run."""
    run: Run | None = None
    """The run, if they are from a run folder; the title is the task's id then."""

    def __getitem__(self, trial: int) -> "Trials":
        """Return one trial, by its number from 1, with every step.

        Raises:
            ConfigurationError: there is no such trial.
        """
        found = tuple(replace(view, shared_with="") for view in self.views if view.row["trial"] == trial)
        if not found:
            numbers = ", ".join(str(view.row["trial"]) for view in self.views)
            raise ConfigurationError(f"{printable(self.title)} has no trial {trial}: it has {numbers}")
        return replace(self, views=found)

    def prompt(self, trial: int, step: Place = None) -> SentPrompt:
        """Return what a model was sent at a step; by default, for the reflection on the trial.

        Arguments and errors as for `experiments.prompts.prompt_for`.
        """
        if self.run is None:
            raise ConfigurationError("prompts are read from a run folder: take the trials from trials_of_run")
        return prompt_for(self.run, self.title, trial, step)

    def beside(self, other: "Trials") -> "SideBySide":
        """Return these trials and those of another branch or run, side by side."""
        return SideBySide(self, other)

    def print(self, console: Console | None = None) -> None:
        """Print the trials; to the terminal by default."""
        console = console or Console(highlight=False)
        console.print(Text(printable(self.title), "bold"))
        for facts in self.caption.splitlines():
            for words in in_lines(facts.split(BETWEEN), console.width):
                console.print(Text(words, "dim"))
        for view in self.views:
            for line in _lines(view):
                console.print(line)

    def html(self) -> Markup:
        trials = []
        for view in self.views:
            more = {"outcome": view.outcome, "hidden": view.hidden_steps, "facts": view.facts}
            trials.append(view.as_json() | more)
        return fill("trials.html.j2", title=printable(self.title), caption=self.caption, trials=trials)

    def __repr__(self) -> str:
        outcomes = "; ".join(f"trial {view.row['trial']}: {view.outcome}" for view in self.views)
        return f"<Trials of {printable(self.title)!r}: {outcomes}>"

    def _repr_html_(self) -> str:
        return framed(self.html())


@dataclass(frozen=True, repr=False)
class SideBySide:
    """Two branches of a task, or a task under two runs, side by side, with the first different step marked."""

    one: Trials
    other: Trials

    def __repr__(self) -> str:
        return f"{self.one!r}\n{self.other!r}"

    def _repr_html_(self) -> str:
        left = _compared(self.one, self.other, "")
        right = _compared(self.other, self.one, "on the left")
        return framed(Markup('<div class="beside">\n{}\n</div>').format(left.html() + right.html()))


def _compared(trials: Trials, other: Trials, shared_with: str) -> Trials:
    """Return trials that know how many first steps they share with the same trials of another branch or run."""
    known = {view.row["trial"]: view.row for view in other.views}
    views = []
    for view in trials.views:
        shared = first_difference(known.get(view.row["trial"]), view.row)
        views.append(replace(view, shared_steps=shared, shared_with=shared_with))
    return replace(trials, views=tuple(views))


def trials_of(states: Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> Trials:
    """Return the trials in a graph's states.

    Args:
        states: The states of `graph.stream(..., stream_mode="values")`, for every trial with its steps; or a final
            state, which has the steps of the last trial only.

    Raises:
        ConfigurationError: no trial has begun.
    """
    if isinstance(states, Mapping):
        states = [states]
    last = _last_states(states)
    if not last:
        raise ConfigurationError('no trial was begun: give a final state, or those of stream_mode="values"')
    # The state that came last, whichever trial it is of.
    final = list(last.values())[-1]
    task = final["task"]
    reflections: dict[int, str] = {}
    for state in last.values():
        reflections.update({each["trial"]: each["text"] for each in state["reflections"]})
    records = {record["trial"]: record for record in final["trials"]}
    views: list[TrialView] = []
    before: TrialRow | None = None
    for trial in range(1, final["trial"] + 1):
        row = _row(task["id"], trial, records.get(trial), reflections.get(trial))
        view = _view(row, last.get(trial), before)
        views.append(view)
        before = view.row
    name: str = task["instruction"] or task["id"]
    return Trials(name.partition("\n")[0], tuple(views))


def _last_states(states: Iterable[Mapping[str, Any]]) -> dict[int, Mapping[str, Any]]:
    """Return the last state of each trial of the last task."""
    last: dict[int, Mapping[str, Any]] = {}
    for state in states:
        # The first state holds the input only.
        if "episode" not in state or "trial" not in state:
            continue
        if last:
            latest = max(last)
            if state["trial"] < latest or state["task"]["id"] != last[latest]["task"]["id"]:
                last.clear()  # another task began on the thread
        last[state["trial"]] = state
    return last


def _view(row: TrialRow, state: Mapping[str, Any] | None, before: TrialRow | None) -> TrialView:
    """Return a trial with what its last state knows of it, if there is one."""
    trial = row["trial"]
    remembered: list[int] = []
    attempt = None
    if state:
        row = cast(TrialRow, {**row, **trajectory_of(state)})
        remembered = [each["trial"] for each in state["reflections"] if each["trial"] < trial]
        if state.get("last_attempt"):
            attempt = trial - 1
    shared = first_difference(before, row)
    return TrialView(row, remembered, attempt, shared, f"of trial {trial - 1}")


def trials_of_thread(graph: "CompiledStateGraph[Any, Any, Any, Any]", config: "RunnableConfig") -> Trials:
    """Return the trials of a thread: those of its newest branch, or of the one that leads to a checkpoint.

    Args:
        graph: Compiled with a checkpointer that keeps the history.
        config: Names the thread; with a `checkpoint_id` (as of a fork), the end of the branch.

    Raises:
        ConfigurationError: nothing has run on the thread.
    """
    end = graph.get_state(config)
    thread: RunnableConfig = {"configurable": {"thread_id": config["configurable"]["thread_id"]}}
    known = {_id(each.config): each for each in graph.get_state_history(thread)}
    branch = [end]
    before = end.parent_config
    while before and _id(before) in known:
        snapshot = known[_id(before)]
        branch.append(snapshot)
        before = snapshot.parent_config
    return trials_of(each.values for each in reversed(branch))


def trials_of_run(run: Run | Path | str, task: str) -> Trials:
    """Return the trials of a task of a run.

    Args:
        run: The run or its folder.
        task: The task's id, or its number counted from 1.

    Raises:
        ConfigurationError: there is no such task, or none of its trials is finished.
    """
    if not isinstance(run, Run):
        run = read_run(run)
    task = _task_of(run, task)
    ended = ""
    if task in run.errors:
        ended = f"ended by an error: {printable(run.errors[task])} ({run.folder / ERRORS})"
    views = trial_views(run.settings, run.whole_trials(task))
    if not views and ended:
        raise ConfigurationError(f"{run.folder}: {printable(task)} {ended}")
    if not views:
        raise ConfigurationError(f"{run.folder}: no trial of {printable(task)} is finished yet")
    caption = f"{described(run.settings)}{BETWEEN}{code_of(run.info)}"
    if ended:
        caption += f"\nThe task {ended}"
    if not run.has_prompts:
        caption += f"\n{NO_PROMPTS}"
    return Trials(task, tuple(views), caption, run)


def _task_of(run: Run, name: str) -> str:
    """Return the id of a task of a run that is named by its id, or by its number from 1."""
    tasks: list[str] = run.info["tasks"]
    if name in tasks:
        return name
    if name.isdecimal() and 1 <= int(name) <= len(tasks):
        return tasks[int(name) - 1]
    known = f"give an id such as {tasks[0]!r}, or a number from 1 to {len(tasks)}"
    raise ConfigurationError(f"{run.folder} has no task {name!r}: {known}")


def _lines(view: TrialView) -> Iterator[RenderableType]:
    """Yield a trial for a terminal, line by line."""
    trial = view.as_json()
    yield ""
    yield Text(f"Trial {trial['trial']}: {view.outcome}", "bold reverse")
    for fact in view.facts:
        yield Text(fact, "dim")
    if not view.hidden_steps:
        yield Text(trial["observation"])
    hidden = view.hidden_steps
    shown = enumerate(trial["steps"][hidden:], hidden)
    for place, (number, thought, action, observation) in shown:
        # The first step that differs stands out.
        style = "bold yellow" if place == view.shared_steps else "dim"
        mark = Text(f"{number:>3} ", style)
        yield mark.append(thought or "(no thought)", "italic not bold default")
        if action is not None:
            yield Padding(Text(f"> {action}", "bold cyan"), (0, 0, 0, 4), expand=False)
        yield Padding(Text(observation), (0, 0, 0, 4), expand=False)
    ends = [("Feedback", trial["feedback"])]
    ends += [("Note", note) for note in trial["notes"]]
    ends.append(("Fault", trial["fault"]))
    ends.append(("Reflection", trial["reflection"]))
    for name, text in ends:
        if text:
            yield Text(f"{name}: ", "bold").append(text, "not bold")


def _row(task: str, trial: int, record: "TrialRecord | None", lesson: str | None) -> TrialRow:
    """Return the row of a trial from its record, which an unfinished one does not have yet."""
    made: dict[str, Any] = {
        "success": None,
        "verdict": None,
        "score": None,
        "stop_reason": "unfinished",
        "actions": 0,
        "usage": {},
        "notes": [],
        "fault": "",
    }
    if record:
        made = dict(record)
    row = {"task_id": task, "trial": trial, "reflection": lesson} | made
    row |= add_usage(*made["usage"].values())
    return cast(TrialRow, row)


def _id(config: "RunnableConfig") -> str:
    return str(config["configurable"]["checkpoint_id"])
