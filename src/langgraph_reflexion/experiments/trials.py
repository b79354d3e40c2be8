"""A task's trials, from a graph's states or from a run folder, as a notebook and a terminal show them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, cast

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph
from markupsafe import Markup
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.experiments.facts import code_of, described
from langgraph_reflexion.experiments.html import fill, framed
from langgraph_reflexion.experiments.printable import printable
from langgraph_reflexion.experiments.record import Run, read_run
from langgraph_reflexion.experiments.rows import TrajectoryRow, TrialRow
from langgraph_reflexion.experiments.show import choose, lines
from langgraph_reflexion.experiments.trajectories import Story, parting, stories_of
from langgraph_reflexion.models.usage import add_usage
from langgraph_reflexion.state import TrialRecord


class _View(NamedTuple):
    """How a trial is told beside others."""

    story: Story
    same: int | None
    """In so many of its first steps it is another trial."""
    skipped: int = 0
    """So many of them are left out."""
    of: str = ""
    """Whose they are."""


@dataclass(frozen=True, repr=False)
class Trials:
    """A task's trials. A notebook shows them, and `print` prints them in a terminal.

    Attributes:
        title: The task.
        stories: Its trials, in their order. Each is told from where it leaves the one before.
        caption: Under what they ran.
    """

    title: str
    stories: tuple[Story, ...]
    caption: str = ""

    def __getitem__(self, trial: int) -> "Trials":
        """One trial alone, told whole.

        Args:
            trial: Its number, counted from 1.

        Raises:
            ConfigurationError: there is none of that number.
        """
        found = tuple(replace(story, same=None) for story in self.stories if story.row["trial"] == trial)
        if not found:
            has = ", ".join(str(story.row["trial"]) for story in self.stories)
            raise ConfigurationError(f"{printable(self.title)} has no trial {trial}: it has {has or 'none'}")
        return replace(self, stories=found)

    def beside(self, other: "Trials") -> "Beside":
        """These trials and those of another branch or run, side by side."""
        return Beside(self, other)

    def print(self, console: Console | None = None) -> None:
        """Print them.

        Args:
            console: Where; the terminal unless given.
        """
        (console or Console(highlight=False)).print(self._told(self._views()))

    def __repr__(self) -> str:
        told = "; ".join(f"trial {story.row['trial']}: {story.outcome}" for story in self.stories)
        return f"<Trials of {printable(self.title)!r}: {told}>"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return framed(self._html(self._views()))

    def _views(self) -> list[_View]:
        return [
            _View(story, story.same, story.same or 0, f"those of trial {story.row['trial'] - 1}")
            for story in self.stories
        ]

    def _told(self, views: Sequence[_View]) -> Group:
        heading = [Text(printable(self.title), "bold")]
        heading += [Text(self.caption, "dim")] if self.caption else []
        return Group(*heading, *(line for view in views for line in lines(*view)))

    def _html(self, views: Sequence[_View]) -> Markup:
        trials = [
            view.story.as_json()
            | {"same": view.same, "skipped": view.skipped, "of": view.of}
            | {"outcome": view.story.outcome, "kind": _KINDS[view.story.solved]}
            for view in views
        ]
        return fill("trials.html.j2", title=printable(self.title), caption=self.caption, trials=trials)


@dataclass(frozen=True, repr=False)
class Beside:
    """Two branches of a task, or a task under two runs, side by side. Marked is the first step in which they part.

    Attributes:
        one: Those on the left.
        other: Those on the right. They are told from where they leave those of the same number on the left.
    """

    one: Trials
    other: Trials

    def print(self, console: Console | None = None) -> None:
        """Print them in two columns.

        Args:
            console: Where; the terminal unless given.
        """
        table = Table.grid(padding=(0, 2, 0, 0), expand=True)
        for _ in range(2):
            table.add_column(ratio=1)
        left, right = self._views()
        table.add_row(self.one._told(left), self.other._told(right))
        (console or Console(highlight=False)).print(table)

    def __repr__(self) -> str:
        return f"{self.one!r}\n{self.other!r}"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        left, right = self._views()
        columns = self.one._html(left) + self.other._html(right)
        return framed(Markup('<div class="beside">\n{}\n</div>').format(columns))

    def _views(self) -> tuple[list[_View], list[_View]]:
        left = {story.row["trial"]: story for story in self.one.stories}
        right = {story.row["trial"]: story for story in self.other.stories}

        def same(trial: int) -> int | None:
            both = trial in left and trial in right
            return parting(left[trial].trajectory, right[trial].trajectory) if both else None

        return (
            [_View(story, same(trial)) for trial, story in left.items()],
            [_View(story, same(trial), same(trial) or 0, "those on the left") for trial, story in right.items()],
        )


_KINDS = {True: "solved", False: "failed", None: "unknown"}


def trials_of(states: Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> Trials:
    """The trials that a graph's states tell of.

    Args:
        states: The states of `graph.stream(..., stream_mode="values")`, for every trial with its steps; or a final
            state, which has those of the last trial alone.

    Raises:
        ConfigurationError: they are no states of this graph, or tell of no trial.
    """
    last: dict[int, Mapping[str, Any]] = {}
    several: Iterable[Mapping[str, Any]] = [states] if isinstance(states, Mapping) else states
    for state in several:
        # The first state is the input alone.
        if "episode" in state and "trial" in state:
            if last and (state["trial"] < max(last) or state["task"]["id"] != last[max(last)]["task"]["id"]):
                last.clear()  # another task began on the thread
            last[state["trial"]] = state
    if not last:
        raise ConfigurationError('no trial was begun: give a final state, or those of stream_mode="values"')
    final = list(last.values())[-1]
    lessons = {each["trial"]: each["text"] for state in last.values() for each in state["reflections"]}
    records = {record["trial"]: record for record in final["trials"]}
    told: list[Story] = []
    for trial in range(1, final["trial"] + 1):
        at = last.get(trial)
        trajectory = _trajectory(at) if at else None
        told.append(
            Story(
                _row(final["task"]["id"], trial, records.get(trial), lessons.get(trial)),
                trajectory,
                remembered=[each["trial"] for each in at["reflections"] if each["trial"] < trial] if at else [],
                last_attempt=trial - 1 if at and at.get("last_attempt") else None,
                same=parting(told[-1].trajectory, trajectory) if told else None,
            )
        )
    name: str = final["task"]["instruction"] or final["task"]["id"]
    return Trials(name.partition("\n")[0], tuple(told))


def trials_of_thread(graph: CompiledStateGraph[Any, Any, Any, Any], config: RunnableConfig) -> Trials:
    """The trials of a thread: of its newest branch, or of the one that leads to a checkpoint.

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
        ConfigurationError: there is no such task.
    """
    run = run if isinstance(run, Run) else read_run(run)
    name = choose(run, task)
    return Trials(name, tuple(stories_of(run, name)), f"{described(run.settings)} · {code_of(run.info)}")


def _row(task: str, trial: int, record: TrialRecord | None, lesson: str | None) -> TrialRow:
    made: dict[str, Any] = {"task_id": task, "trial": trial, "measures": {}, "reflection": lesson}
    if record is None:
        made |= dict.fromkeys(("success", "verdict", "score")) | {"stop_reason": "going on", "actions": 0}
        made |= {"usage": {}, "seconds": 0.0, "notes": [], "fault": "", **add_usage()}
    else:
        made |= {**record, **add_usage(*record["usage"].values())}
    return cast(TrialRow, made)


def _trajectory(state: Mapping[str, Any]) -> TrajectoryRow:
    return TrajectoryRow(
        task_id=state["task"]["id"],
        trial=state["trial"],
        observation=state["episode"]["observation"],
        steps=state["trajectory"],
        # Before the verdict, the last one is that of the trial before.
        evaluation=state["evaluation"]
        if state["trials"] and state["trials"][-1]["trial"] == state["trial"]
        else None,
    )


def _id(config: RunnableConfig) -> str:
    return str(config["configurable"]["checkpoint_id"])
