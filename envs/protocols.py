"""What an environment may have besides the members of `Environment`: a protocol for each feature.

An environment has a feature if it has the method or the attribute: there is nothing to inherit, as the graph asks
with `isinstance`. What only `__getattr__` finds does not count. As in `typing`, `Supports...` stands for a method and
`Has...` for an attribute of that name.

For features that several callers ask for, a function at the end says what holds without the feature.
"""

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any

# In Python 3.11, `isinstance` on those of `typing` asks `__getattr__`, and hides an AttributeError of a property.
from typing_extensions import Protocol, runtime_checkable

from langgraph_reflexion.envs.base import (
    Action,
    Environment,
    Episode,
    FinishedTrial,
    MemoryMap,
    ObservedStep,
    Review,
    Task,
)

REPLY_TOKENS = 4096
"""The longest reply to a request for an action, in tokens, in environments that do not name another."""


# Tasks and episodes.


@runtime_checkable
class SupportsPrepare(Protocol):
    """An environment that makes something once for each task, before its first trial."""

    def prepare(self, task: Task) -> dict[str, Any] | Awaitable[dict[str, Any]]:
        """Prepare a task once, before its first trial; the graph keeps the JSON as `task["prepared"]`.

        Raises:
            EnvironmentFault: it could not be prepared now.
            EnvironmentUnavailable: it cannot be prepared on this machine.
        """


@runtime_checkable
class SupportsRestore(Protocol):
    """An environment whose episodes have snapshots, because their actions cannot or should not be repeated."""

    def restore(self, task: Task, snapshot: dict[str, Any]) -> Episode | Awaitable[Episode]:
        """Restore an episode of a task from what its `snapshot` returned.

        Raises:
            EnvironmentFault: it could not be restored now.
            EpisodeLost: it ended with the process that played it.
        """


@runtime_checkable
class SupportsGoOn(Protocol):
    """An environment in which a trial can go on where the one before it has ended (strategy `continue`)."""

    def go_on(self, task: Task, snapshot: dict[str, Any]) -> Episode | Awaitable[Episode]:
        """Return an episode in the world of a trial that has ended, in which actions are possible again.

        Args:
            task: The task.
            snapshot: What the `snapshot` of the trial's episode returned after its last action.

        Raises:
            EnvironmentFault: it could not be restored now.
        """


@runtime_checkable
class HasReplayable(Protocol):
    """An environment that says whether its episodes can be rebuilt."""

    replayable: bool
    """Whether an episode can be rebuilt, by replay or from a snapshot (true unless given). Otherwise a trial that is
    resumed in another process starts over, and its record has a note."""


@runtime_checkable
class HasBlocking(Protocol):
    """An environment that says whether it needs threads."""

    blocking: bool
    """Whether starting an episode or an action can take more than a few milliseconds, and so needs a thread (true
    unless given). A server sets it to true."""


@runtime_checkable
class SupportsBlocks(Protocol):
    """An environment in which it differs by task whether it needs a thread."""

    def blocks(self, task: Task) -> bool:
        """Return whether starting an episode of this task or an action can take more than a few milliseconds."""


@runtime_checkable
class HasOwnTasksOnly(Protocol):
    """An environment whose tasks name folders, commands or hosts, and which can refuse foreign ones."""

    own_tasks_only: bool
    """Whether tasks that it did not make itself are refused; false in the class. A server sets it to true, as its
    clients write tasks and edit states: respect it wherever a task is used."""


@runtime_checkable
class SupportsExpectPrograms(Protocol):
    """An environment whose tasks need programs on this machine."""

    def expect_programs(self, tasks: Sequence[Task]) -> None:
        """Expect that the programs which these tasks need are installed. Called before a run begins.

        Raises:
            EnvironmentUnavailable: a program is missing.
        """


@runtime_checkable
class SupportsPlayedBy(Protocol):
    """An environment that has a choice of engines, or of whoever else plays its tasks."""

    def played_by(self, tasks: Sequence[Task]) -> str:
        """Return the name of the engine that plays the tasks, for `run.json`.

        Raises:
            EnvironmentUnavailable: a task cannot be played on this machine.
        """


# Actions.


@runtime_checkable
class SupportsForTask(Protocol):
    """An environment whose actions differ by task."""

    def for_task(self, task: Task) -> Environment:
        """Return the environment with the actions of this task; itself if all tasks have the same ones."""


@runtime_checkable
class HasActors(Protocol):
    """An environment with actors of its own, besides those that play every environment."""

    actors: tuple[str, ...]
    """Their names."""

    def for_actor(self, name: str) -> Environment:
        """Return the same tasks with other actions, first observations or prompts.

        Args:
            name: One of `actors`.

        Raises:
            ConfigurationError: it has no such actor.
        """


@runtime_checkable
class Strict(Protocol):
    """An environment that can be as strict about actions as the code of the original paper."""

    def strictly(self) -> Environment:
        """Return the same tasks, played strictly; itself if whoever made it has said how strict it is."""


@runtime_checkable
class SupportsActionForms(Protocol):
    """An environment whose tasks write the same actions in different text forms."""

    def action_forms(self, task: Task) -> list[str]:
        """Return the text forms of a task's actions, one for each action.

        Raises:
            ConfigurationError: the task's data is wrong.
        """


@runtime_checkable
class SupportsParse(Protocol):
    """An environment that reads more texts as actions than their forms: other spellings, a block of code."""

    def parse(self, text: str) -> Action | None:
        """Read an action written as text; return None if it is not an allowed one.

        `grammar.parse_forms` reads what is written in a form.
        """


@runtime_checkable
class SupportsEquivalent(Protocol):
    """An environment in which different arguments can mean the same, such as two spellings of an answer."""

    def equivalent(self, one: Action, other: Action) -> bool:
        """Return whether two actions mean the same; their texts are ignored."""


@runtime_checkable
class SupportsFinalAnswer(Protocol):
    """An environment in which a trial hands in an answer, whose verdict depends on that answer alone."""

    def final_answer(self, task: Task, action: Action) -> str | None:
        """Return the answer that an action hands in, or None if it hands in none.

        Two answers that cannot have different verdicts are the same text: leave out what makes no difference, such as
        blanks and capital letters. An action that hands in a world, such as "submit" with files, has no answer.

        Args:
            task: The task.
            action: An action that may not be allowed.
        """


# What it knows about trials.


@runtime_checkable
class SupportsMemoryMap(Protocol):
    """An environment that draws memory maps: what trajectories have revealed, in words."""

    def memory_map(
        self, task: Task, opening: str, steps: Sequence[ObservedStep], known: Mapping[str, Any]
    ) -> MemoryMap:
        """Summarize what a trajectory has revealed about the world: places, pages, dead ends.

        Only the texts are used, as the actor sees them, so that the map is the same after resuming and forking, and
        respects observations that a person has edited.

        Args:
            task: The task.
            opening: The first observation.
            steps: The trial's steps so far.
            known: `MemoryMap.known` of the task's previous trial; empty in the first one.
        """


@runtime_checkable
class SupportsFacts(Protocol):
    """An environment that knows something for certain about failed trials."""

    def facts(self, task: Task, steps: Sequence[ObservedStep]) -> list[str]:
        """Return what is certain about a failed trial, in sentences, which the self-reflection sees.

        Only what the actor has read counts, and never the solution: for example, that it has not seen what it was
        told to find.

        Args:
            task: The task.
            steps: The trial's steps.
        """


@runtime_checkable
class Factual(Protocol):
    """An environment that knows what a failed trial has missed, beyond what every reflection is told (`facts`)."""

    def trial_facts(self, task: Task, opening: str, steps: Sequence[ObservedStep]) -> list[str]:
        """Return what is certain about a failed trial, in sentences, for `Memory(facts=True)`.

        For example, places that were never visited. As for `facts`, only what the actor has read counts, and never
        the solution. Lists are short: a sentence of more than 300 characters is cut.

        Args:
            task: The task.
            opening: The first observation.
            steps: The trial's steps.
        """


@runtime_checkable
class SupportsReview(Protocol):
    """An environment that finds out more about a finished trial than its reward: hidden tests, measures, files."""

    def review(self, task: Task, trial: FinishedTrial) -> Review:
        """Find out what is recorded of a finished trial, and never shown to a model. May be called repeatedly.

        Raises:
            EnvironmentFault: the review is impossible now. The trial is not recorded, and the run stops.
        """


@runtime_checkable
class SupportsAnswer(Protocol):
    """An environment that can tell a person the answers of its tasks."""

    def answer(self, task: Task) -> str:
        """Return a task's answer in words, for a person who has lost; empty if it has no single one."""


# Numbers and rules.


@runtime_checkable
class HasReplyTokens(Protocol):
    """An environment that needs longer replies than others, or shorter ones."""

    reply_tokens: int
    """The longest reply to a request for an action, in tokens, unless the model has a limit of its own."""


@runtime_checkable
class HasProfileDefaults(Protocol):
    """An environment with numbers and rules of its own."""

    profile_defaults: Mapping[str, Any]
    """Values of `Profile` fields in this environment, where a profile does not give them."""


@runtime_checkable
class HasProfileOverrides(Protocol):
    """An environment in which a profile has other numbers and rules than elsewhere."""

    profile_overrides: Mapping[str, Mapping[str, Any]]
    """Values of `Profile` fields in this environment, by profile ("upstream") or profile and actor ("upstream/cot").
    A heuristic is given by its fields."""


# What holds with or without a feature.


def prepare(environment: Environment, task: Task) -> dict[str, Any] | Awaitable[dict[str, Any]]:
    """Return what `SupportsPrepare` makes once for a task; nothing without it."""
    if isinstance(environment, SupportsPrepare):
        return environment.prepare(task)
    return {}


def is_replayable(environment: Environment) -> bool:
    """Return whether episodes can be rebuilt; see `HasReplayable`."""
    if isinstance(environment, HasReplayable):
        return environment.replayable
    return True


def blocks(environment: Environment, task: Task) -> bool:
    """Return whether episodes of a task need a thread; see `SupportsBlocks` and `HasBlocking`."""
    if isinstance(environment, SupportsBlocks):
        return environment.blocks(task)
    if isinstance(environment, HasBlocking):
        return environment.blocking
    return True


def expect_programs(environment: Environment, tasks: Sequence[Task]) -> None:
    """Expect that the programs which tasks need are installed; see `SupportsExpectPrograms`.

    Raises:
        EnvironmentUnavailable: a program is missing.
    """
    if isinstance(environment, SupportsExpectPrograms):
        environment.expect_programs(tasks)


def for_task(environment: Environment, task: Task) -> Environment:
    """Return the environment with the actions of a task; itself without `SupportsForTask`."""
    if isinstance(environment, SupportsForTask):
        return environment.for_task(task)
    return environment


def actors_of(environment: Environment | type[Environment]) -> tuple[str, ...]:
    """Return the names of an environment's own actors; see `HasActors`."""
    if isinstance(environment, HasActors):
        return environment.actors
    return ()


def for_actor(environment: Environment, name: str) -> Environment:
    """Return the environment as one of its own actors plays it; itself if the actor plays every environment."""
    if isinstance(environment, HasActors) and name in environment.actors:
        return environment.for_actor(name)
    return environment


def review(environment: Environment, task: Task, trial: FinishedTrial) -> Review:
    """Return what `SupportsReview` finds out about a finished trial; nothing without it.

    Raises:
        EnvironmentFault: the review is impossible now.
    """
    if isinstance(environment, SupportsReview):
        return environment.review(task, trial)
    return Review()


def reply_tokens(environment: Environment) -> int:
    """Return the longest reply to a request for an action, in tokens; see `HasReplyTokens`."""
    if isinstance(environment, HasReplyTokens):
        return environment.reply_tokens
    return REPLY_TOKENS
