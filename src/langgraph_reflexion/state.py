"""The state of the graph: what a checkpoint holds.

Plain JSON types and nothing else, so that it survives every checkpointer, strict msgpack, the server, and the next
version. What does not change during a run (models, prompts, the environment) is not state, and neither is anything
live: episodes are found again by their history (`envs.pool`).
"""

from enum import StrEnum
from typing import Annotated, Any, Literal, NotRequired

from typing_extensions import TypedDict  # pydantic makes schemas of these alone before Python 3.12

from langgraph_reflexion.envs.base import Action, Task
from langgraph_reflexion.models.usage import Usage

Status = Literal["running", "solved", "failed", "budget", "fault"]
"""How a task stands. It is finished when, and only when, this is not `running`."""

StopReason = str
"""Why a trial ended: `terminated` by the environment, `truncated` by a limit of the environment, stopped by the
heuristic h as `hallucination` or `inefficient planning` (or for a reason of your own heuristic), because a `budget`
was used up, or by a `fault`."""


StrategyName = Literal["retry", "last_attempt", "reflexion", "last_attempt_and_reflexion"]
"""The strategies by name."""


class Strategy(StrEnum):
    """What a retry gets to see (section 4.2, episodic memory ablation)."""

    RETRY = "retry"
    """Nothing: the baseline."""
    LAST_ATTEMPT = "last_attempt"
    """The previous trajectory (EPM)."""
    REFLEXION = "reflexion"
    """The last reflections."""
    LAST_ATTEMPT_AND_REFLEXION = "last_attempt_and_reflexion"
    """Both."""

    @property
    def reflects(self) -> bool:
        """Whether a failed trial is reflected on."""
        return self in (Strategy.REFLEXION, Strategy.LAST_ATTEMPT_AND_REFLEXION)

    @property
    def shows_last_attempt(self) -> bool:
        """Whether the actor sees its previous trajectory."""
        return self in (Strategy.LAST_ATTEMPT, Strategy.LAST_ATTEMPT_AND_REFLEXION)


Feedback = Literal["binary", "scalar", "words"]
"""How much of the verdict the actor and the self-reflection are told: that the trial failed, the score too, or the
evaluator's words as well."""

Update = dict[str, Any]
"""The keys of the state that a node writes."""


class Step(TypedDict):
    """One step of a trajectory."""

    number: int
    """Counted from 1 within the trial. A step that is written again takes the place of the one of its number."""
    thought: str
    """What the actor thought before acting; may be empty."""
    action: Action | None
    """What it did. None for a thought alone, which is no action and breaks no cycle."""
    observation: str
    """What the environment answered."""


class Decision(TypedDict):
    """A step that was chosen and not yet taken."""

    thought: str
    action: Action | None


class Evaluation(TypedDict):
    """The evaluator's verdict on a finished trial."""

    success: bool
    """Whether the score reaches the threshold. The loop acts on this, and on nothing else."""
    score: float
    """How good the trial was, 1.0 being solved."""
    feedback: str
    """Why, in words; may be empty."""


class Reflection(TypedDict):
    """A lesson from a failed trial."""

    trial: int
    """The trial that it is about, counted from 1."""
    text: str
    """The lesson."""


class RecalledLesson(TypedDict):
    """A lesson from other tasks, as prompts show it."""

    id: str
    """Its key in the store."""
    text: str
    """What it says, quoted: a JSON string, bounded in length."""


class TrialRecord(TypedDict):
    """What is kept of a finished trial: under 1 KB, its trajectory excluded."""

    trial: int
    """Counted from 1."""
    success: bool | None
    """The truth, as the environment has it; None where it is not known (yet). Recorded, never acted on."""
    verdict: bool | None
    """What the evaluator said; None where it was not asked: after a fault, and on a budget."""
    score: float | None
    """The evaluator's score."""
    stop_reason: StopReason
    """Why the trial ended."""
    actions: int
    """How many actions were taken; thoughts alone do not count."""
    usage: dict[str, Usage]
    """What its model calls have cost, by the node that made them."""
    seconds: float
    """Wall time spent in its nodes, up to the verdict."""
    notes: list[str]
    """What was not as it was meant to be: a prompt that was shortened, an option that the server refuses."""
    fault: str
    """What went wrong outside the agent; empty unless `stop_reason` is "fault"."""


class EpisodeState(TypedDict):
    """What is known of the current trial's episode besides its trajectory."""

    task: str
    """The id of the task that it belongs to."""
    began: float
    """The task's `seconds` when it began."""
    observation: str
    """What the actor saw first."""
    reward: float | None
    """The environment's own signal after the last action."""
    terminated: bool
    """The environment ended the task."""
    truncated: bool
    """A limit of the environment ended the episode."""
    snapshot: dict[str, Any] | None
    """The episode as JSON, for environments that cannot replay their actions."""


def with_steps(steps: list[Step], write: list[Step]) -> list[Step]:
    """Merge steps by number, so that a trajectory edited in Studio and written back whole does not repeat steps."""
    return list({step["number"]: step for step in [*steps, *write]}.values())


def with_trials(trials: list[TrialRecord], write: list[TrialRecord]) -> list[TrialRecord]:
    """The records with what was written to them: one for each trial, the latest."""
    return list({record["trial"]: record for record in [*trials, *write]}.values())


class ReflexionState(TypedDict, total=False):
    """The state of one task on its way through the trials.

    To begin, give `{"task": task}`. A thread that was used before begins anew with the new task.
    """

    task: Task
    """What is to be solved."""
    status: Status
    """How the task stands."""
    trial: int
    """The current trial, counted from 1."""
    episode: EpisodeState
    """The current trial's episode."""
    decision: Decision | None
    """What the actor chose, about to be done; None where it could not choose."""
    trajectory: Annotated[list[Step], with_steps]
    """The current trial's steps; after the end, the last trial's."""
    stop_reason: StopReason | None
    """Why the current trial was stopped; None while it goes on."""
    usage: dict[str, Usage]
    """What the current trial's model calls have cost so far, by the node that made them."""
    seconds: float
    """Wall time that the task has spent in nodes."""
    room: int | None
    """How many characters of observations fit into the current trial's prompts; None while all of them do."""
    notes: list[str]
    """What was not as it was meant to be in the current trial."""
    evaluation: Evaluation | None
    """The verdict on the last finished trial."""
    reflections: list[Reflection]
    """Episodic memory: the last few lessons, oldest first (section 3 of the paper, Ω of them)."""
    lessons: NotRequired[list[RecalledLesson]]
    """What was recalled for the task from other ones, the most fitting first; only with `lessons=...`."""
    learning: NotRequired[str]
    """Under which name it is written what the task teaches; made anew with every task."""
    last_attempt: NotRequired[list[Step]]
    """The previous trial's steps, kept only by the strategies that show them to the actor."""
    known: NotRequired[dict[str, Any] | None]
    """What the memory map keeps of earlier trials, where there is one (`Environment.memory_map`)."""
    trials: Annotated[list[TrialRecord], with_trials]
    """The finished trials."""
    best: int | None
    """The best trial so far: the one that the verdict accepts, or else the best score's, the latest among equals."""
    fault: str
    """What went wrong outside the agent; empty when nothing did."""
