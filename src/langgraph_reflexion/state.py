"""The state of the graph: plain JSON types, so that every checkpointer and server takes it.

What does not change during a run (models, prompts, the environment) and what is live are not state: episodes are
found again by their history (`envs.pool`).
"""

from typing import Annotated, Any, Literal, NotRequired

from langchain_core.messages import AnyMessage
from typing_extensions import TypedDict  # pydantic makes schemas of these alone before Python 3.12

from langgraph_reflexion.envs.base import Action, Task
from langgraph_reflexion.models.messages import Conversation
from langgraph_reflexion.models.recorded import SentCall, Usage
from langgraph_reflexion.support.choices import Strategy as Strategy

Status = Literal["running", "solved", "failed", "budget", "fault"]
"""The state of a task, which is finished when it is not `running`."""

StopReason = str
"""Why a trial ended: `terminated` or `truncated` by the environment, stopped as `hallucination` or `inefficient
planning` by the heuristic h (or for a reason of your own heuristic), by a `budget`, or by a `fault`."""

UNANSWERED = "(no result)"
"""The observation of a tool call whose result has not come."""
LONGEST_MESSAGE = 20_000
"""Characters that a step keeps of an agent's message: its beginning."""

RECORD_PROMPTS = "record_prompts"
"""The key of `configurable` in a graph's config under which a true value keeps a trial's prompts in the state. Runs
record them so; elsewhere they would make every checkpoint several times as large."""

Update = dict[str, Any]
"""The keys of the state that a node writes."""


class Step(TypedDict):
    """One step of a trajectory."""

    number: int
    """Counted from 1 within the trial."""
    thought: str
    """The actor's thought before the action; may be empty."""
    action: Action | None
    """The action; None for a thought alone, which breaks no cycle."""
    observation: str
    """The environment's answer."""
    partial: NotRequired[bool]
    """True if the observation is not the whole result of an agent's tool, which was longer or had pictures; absent
    otherwise."""
    failed: NotRequired[bool]
    """True if an agent's tool reported an error (`ToolMessage.status`); absent otherwise."""


class Decision(TypedDict):
    """A step that was chosen and not yet taken."""

    thought: str
    action: Action | None


class Evaluation(TypedDict):
    """The evaluation of a finished trial."""

    success: bool
    """The verdict: whether the score reaches the threshold. The loop acts on this, and on nothing else."""
    score: float
    feedback: str
    """The reason in words; may be empty."""
    unverified: NotRequired[bool]
    """True if nothing could be checked, such as a program without a test; absent otherwise."""


class Reflection(TypedDict):
    """The reflection on a failed trial."""

    trial: int
    text: str


class RecalledLesson(TypedDict):
    """A lesson from other tasks, as prompts show it."""

    id: str
    """Its key in the store."""
    text: str
    """A JSON string, bounded in length."""


class TrialRecord(TypedDict):
    """The record of a finished trial: under 1 KB, without its trajectory."""

    trial: int
    success: bool | None
    """The environment's truth; None where it is not known (yet). Recorded, never acted on."""
    verdict: bool | None
    """The verdict of its evaluation; None after a fault and on a budget."""
    score: float | None
    unverified: NotRequired[bool]
    """True if nothing could be checked, so that verdict and score say nothing about the trial; absent otherwise."""
    stop_reason: StopReason
    actions: int
    """The number of actions; thoughts alone do not count."""
    usage: dict[str, Usage]
    seconds: float
    """Wall time in its nodes, up to the verdict."""
    notes: list[str]
    """Irregularities, such as a prompt that was shortened or an option that the server refuses."""
    fault: str
    """The trouble outside the agent; empty unless `stop_reason` is "fault"."""


class EpisodeState(TypedDict):
    """The current trial's episode besides its trajectory."""

    task: str
    began: float
    """The task's `seconds` when it began."""
    observation: str
    reward: float | None
    """The environment's own signal after the last action."""
    terminated: bool
    truncated: bool
    """Whether a limit of the environment ended the episode."""
    snapshot: dict[str, Any] | None
    """The episode as JSON, for environments that cannot replay their actions."""
    key: NotRequired[str]
    """Tells it from the episodes of other runs of the same task; absent in states of version 0.2.0."""


class ContinuedTrial(TypedDict):
    """A trial that was not accepted, and whose conversation and world the next one continues."""

    trial: int
    steps: list[Step]
    evaluation: Evaluation
    facts: list[str]
    """What is certain about it; none without `Memory(facts=True)`."""
    episode: EpisodeState
    """Its episode at its end, with the snapshot in which the next trial begins."""
    replies: NotRequired[dict[str, dict[str, Any]]]
    """The replies of the actor `tools`, by step."""
    messages: NotRequired[list[AnyMessage]]
    """What a wrapped agent added to the conversation. Every call of a tool has a result."""


class Attempt(TypedDict):
    """A trial of a wrapped agent."""

    messages: list[AnyMessage]
    """The messages that it added to the conversation."""
    ended: str
    """`terminated` by itself, `truncated` by a limit of its own; empty if it was stopped."""
    result: Any
    """Its result."""
    state: dict[str, Any]
    """The state in which it ended, without its messages."""
    cut_off: NotRequired[bool]
    """Whether the model reached the limit of a reply in the middle of its answer."""
    kept: NotRequired[list[AnyMessage]]
    """What it has left of the conversation before the task, such as a summary, if it has shortened that."""
    world: NotRequired[dict[str, Any] | None]
    """The saved world of a trial that could not be evaluated, to be evaluated later."""


def with_steps(steps: list[Step], write: list[Step]) -> list[Step]:
    """Merge steps by number, so that a trajectory edited in Studio and written back whole repeats no step."""
    # A dict keeps the order in which its keys first came, so a step that is written again stays in its place.
    by_number = {step["number"]: step for step in steps}
    for step in write:
        by_number[step["number"]] = step
    return list(by_number.values())


def with_trials(trials: list[TrialRecord], write: list[TrialRecord]) -> list[TrialRecord]:
    """Merge records by trial; the latest counts."""
    # A task that is resumed writes its last record again, without the note that says why it had stopped.
    by_trial = {record["trial"]: record for record in trials}
    for record in write:
        by_trial[record["trial"]] = record
    return list(by_trial.values())


# Not total, as LangGraph hands a node only the keys that have been written so far.
class ReflexionState(TypedDict, total=False):
    """The state of a task, in this order: the outcome, what was learned, the current or last trial, bookkeeping."""

    status: Status
    result: Any
    """The result of the best trial so far: its last action and observation, or a wrapped agent's result."""
    messages: Conversation
    """The conversation around the task. The answer is added to it at the end."""
    task: Task
    trials: Annotated[list[TrialRecord], with_trials]
    best: int | None
    """The best trial so far: the one that the verdict accepts, or the highest score, the latest among equals."""
    evaluation: Evaluation | None
    """That of the last finished trial."""
    proposed_evaluation: NotRequired[Evaluation | None]
    """That of the current trial, while it waits for a person (`Approval.verdicts`)."""
    proposed_truth: NotRequired[bool | None]
    """Whether that trial has truly solved its task; None if it is not known."""
    reflections: list[Reflection]
    """Episodic memory: the last Ω reflections, oldest first (section 3 of the paper)."""
    lessons: NotRequired[list[RecalledLesson]]
    """Lessons from other tasks, the most fitting first."""
    last_attempt: NotRequired[list[Step]]
    """The previous trial's steps, for strategies that show them."""
    trial_facts: NotRequired[list[str]]
    """What is certain about the last failed trial, in sentences (`Memory(facts=True)`)."""
    continued: NotRequired[list[ContinuedTrial]]
    """The earlier trials, oldest first, for the strategy `continue`."""
    trial: int
    trajectory: Annotated[list[Step], with_steps]
    decision: Decision | None
    """The actor's choice, about to be done; None after a fault."""
    stop_reason: StopReason | None
    """Why the trial was stopped; None while it continues."""
    fault: str
    notes: list[str]
    episode: EpisodeState
    usage: dict[str, Usage]
    """The usage of the current trial's model calls, by node."""
    seconds: float
    """Wall time in the task's nodes."""
    prompt_budget: int | None
    """The characters that fit into the current trial's prompts; None while none was too long."""
    answers: NotRequired[list[str]]
    """Digests of a wrapped agent's answers, one for each trial that was reflected on, in their order; with
    `Memory(facts=True)`, one for each failed trial."""
    rejected: NotRequired[list[str]]
    """Digests of the answers that a check of code has rejected, for `Profile.rejects_answers`."""
    attempt: NotRequired[Attempt | None]
    """The current trial of a wrapped agent."""
    memory_map: NotRequired[dict[str, Any] | None]
    """The part of the memory map that earlier trials have drawn (`SupportsMemoryMap`)."""
    replies: NotRequired[dict[str, dict[str, Any]]]
    """The replies of the actor `tools` in the current trial, by step: they go back to the model as they came."""
    sent_prompts: NotRequired[list[SentCall]]
    """What models were sent in the current trial, and their replies, if the config asks for it (`RECORD_PROMPTS`)."""
    account: NotRequired[str]
    """The name of the task's account in the run's budget, where no thread tells it from the same task at once."""
    approved: NotRequired[int | None]
    """The last trial of the task whose reflection a person has decided about (`Approval.reflections`)."""
    lesson_key: NotRequired[str]
    """The name under which the task's own lessons are written."""


def steps_so_far(state: ReflexionState) -> list[Step]:
    """Return the steps of the current trial, after those of the trials that it continues."""
    steps: list[Step] = []
    for trial in state.get("continued", []):
        steps += trial["steps"]
    return [*steps, *state["trajectory"]]
