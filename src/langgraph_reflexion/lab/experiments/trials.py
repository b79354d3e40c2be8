"""A task's trials, from a graph's states or from a run folder, for notebooks and the terminal."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.text import Text

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.lab.experiments.html import fill, framed
from langgraph_reflexion.lab.experiments.prompts import Place, SentPrompt, prompt_for
from langgraph_reflexion.lab.experiments.provenance import BETWEEN, code_of, described, in_lines
from langgraph_reflexion.lab.experiments.record import ERRORS
from langgraph_reflexion.lab.experiments.rows import TrialRow, add_reused_tokens, add_trajectory
from langgraph_reflexion.lab.experiments.runs import Run, read_run
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
        for view in self.views:
            if view.row["trial"] == trial:
                with_every_step = replace(view, shared_with="")
                return replace(self, views=(with_every_step,))
        numbers = ", ".join(str(view.row["trial"]) for view in self.views)
        raise ConfigurationError(f"{printable(self.title)} has no trial {trial}: it has {numbers}")

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
        for said in self.caption.splitlines():
            facts = said.split(BETWEEN)
            for words in in_lines(facts, console.width):
                console.print(Text(words, "dim"))
        for view in self.views:
            for line in _lines(view):
                console.print(line)

    def html(self) -> Markup:
        trials = []
        for view in self.views:
            trial = view.as_json()
            trial["outcome"] = view.outcome
            trial["hidden"] = view.hidden_steps
            trial["facts"] = view.facts
            trials.append(trial)
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
        both = left.html() + right.html()
        beside = Markup('<div class="beside">\n{}\n</div>').format(both)
        return framed(beside)


def _compared(trials: Trials, other: Trials, shared_with: str) -> Trials:
    """Return trials that know how many first steps they share with the same trials of another branch or run."""
    known = {view.row["trial"]: view.row for view in other.views}
    views: list[TrialView] = []
    for view in trials.views:
        same_trial = known.get(view.row["trial"])
        shared = first_difference(same_trial, view.row)
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
    final = last[max(last)]
    task = final["task"]
    # A state may hold the last few reflections only, so those of all states are gathered.
    reflections: dict[int, str] = {}
    for state in last.values():
        for reflection in state["reflections"]:
            reflections[reflection["trial"]] = reflection["text"]
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
        if last and _begins_again(state, last):
            last.clear()
        last[state["trial"]] = state
    return last


def _begins_again(state: Mapping[str, Any], last: Mapping[int, Mapping[str, Any]]) -> bool:
    """Return whether a state belongs to another task, which began on the thread after these trials."""
    latest = max(last)
    if state["trial"] < latest:
        return True
    task: str = state["task"]["id"]
    before: str = last[latest]["task"]["id"]
    return task != before


def _view(row: TrialRow, state: Mapping[str, Any] | None, before: TrialRow | None) -> TrialView:
    """Return a trial with what its last state knows of it, if there is one."""
    trial = row["trial"]
    remembered: list[int] = []
    attempt = None
    continued: list[int] = []
    if state:
        row = row.copy()
        add_trajectory(row, state)
        for reflection in state["reflections"]:
            if reflection["trial"] < trial:
                remembered.append(reflection["trial"])
        if state.get("last_attempt"):
            attempt = trial - 1
        for earlier in state.get("continued", []):
            # Its own is there as well, once it was not accepted.
            if earlier["trial"] < trial:
                continued.append(earlier["trial"])
    shared = first_difference(before, row)
    return TrialView(row, remembered, attempt, shared, f"of trial {trial - 1}", continued)


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
    if not tasks:
        raise ConfigurationError(f"{run.folder}: the run has no tasks")
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
    for place, step in enumerate(trial["steps"][hidden:], hidden):
        number, thought, action, observation = step
        # The first step that differs stands out.
        style = "dim"
        if place == view.shared_steps:
            style = "bold yellow"
        mark = Text(f"{number:>3} ", style)
        # What is appended has the mark's style, too, unless its own says otherwise.
        yield mark.append(thought or "(no thought)", "italic not bold default")
        if action is not None:
            yield _indented(Text(f"> {action}", "bold cyan"))
        yield _indented(Text(observation))
    yield from _end("Feedback", trial["feedback"])
    for note in trial["notes"]:
        yield from _end("Note", note)
    yield from _end("Fault", trial["fault"])
    yield from _end("Reflection", trial["reflection"])


def _indented(text: Text) -> Padding:
    """Return a text below the number of its step."""
    return Padding(text, (0, 0, 0, 4), expand=False)


def _end(name: str, text: str) -> Iterator[Text]:
    """Yield what is said at the end of a trial, if there is anything to say."""
    if text:
        yield Text(f"{name}: ", "bold").append(text, "not bold")


def _row(task: str, trial: int, record: "TrialRecord | None", lesson: str | None) -> TrialRow:
    """Return the row of a trial from its record, which an unfinished one does not have yet."""
    if record is None:
        record = {
            "trial": trial,
            "success": None,
            "verdict": None,
            "score": None,
            "stop_reason": "unfinished",
            "actions": 0,
            "usage": {},
            "seconds": 0.0,
            "notes": [],
            "fault": "",
        }
    usage = add_usage(*record["usage"].values())
    row = TrialRow(
        task_id=task,
        trial=trial,
        success=record["success"],
        verdict=record["verdict"],
        score=record["score"],
        stop_reason=record["stop_reason"],
        actions=record["actions"],
        llm_calls=usage["llm_calls"],
        cached_calls=usage["cached_calls"],
        input_tokens=usage["input_tokens"],
        output_tokens=usage["output_tokens"],
        cost=usage["cost"],
        usage=record["usage"],
        measures={},
        reflection=lesson,
        notes=record["notes"],
        fault=record["fault"],
        seconds=record["seconds"],
    )
    add_reused_tokens(row, usage)
    if record.get("unverified"):
        row["unverified"] = True
    return row


def _id(config: "RunnableConfig") -> str:
    return str(config["configurable"]["checkpoint_id"])
