"""Shared by all nodes that call a model: fit the prompt into the context window and charge the usage to the node."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.errors import ContextTooLong
from langgraph_reflexion.models.calls import CallId, Reply, note, open_account
from langgraph_reflexion.models.client import Client
from langgraph_reflexion.models.sent import with_calls
from langgraph_reflexion.models.usage import CHARACTERS_PER_TOKEN, NO_USAGE, Usage, add_usage, size
from langgraph_reflexion.prompts import Prompts
from langgraph_reflexion.state import ReflexionState, Step, Update
from langgraph_reflexion.support.text import count, sanitize

KEEP_CHARS = 200
"""Number of characters kept of a truncated observation."""
LEFT_OUT = "[left out, to save room]"
"""The placeholder of an observation that was left out."""
LONGEST_TRIAL = 100_000
"""Characters of the steps of a finished trial that a prompt shows."""
SMALLER = 0.85
"""The share of a prompt's characters to keep after it was too long."""


@dataclass(frozen=True)
class Prompt:
    """A prompt that can be made shorter."""

    render: Callable[[list[Step], int], list[BaseMessage]]
    """Builds it from the steps to show and the number of things to leave out; see `prompts.few_shot.left_over`."""
    steps: Sequence[Step] = ()
    """The steps, oldest first."""

    async def ask(
        self, client: Client, budget: int | None, config: RunnableConfig, call: CallId, **options: Any
    ) -> Reply:
        """Call the model with the prompt; make it shorter until it fits.

        Long observations are truncated first; then examples are left out, and at last the oldest reflections.

        Returns:
            The reply, whose `prompt_budget` says how long the next prompt may be.

        Args:
            client: The model.
            budget: The characters that fit, if known.
            config: The node's config.
            call: The call's id.
            **options: Passed to `Client.ask`.

        Raises:
            ContextTooLong: the prompt is too long even so; permanent if the model has never replied, as then the
                context is too small for the task.
            ModelFault: as from `Client.ask`.
        """
        fits = budget
        messages, left_out = self._fitted(fits)
        while True:
            try:
                reply = await client.ask(messages, config, call, **options)
                break
            except ContextTooLong as fault:
                # The model alone knows its limit: try again with less, step by step.
                refused = messages
                # A share of what was sent, and not of the budget, which may have been much larger.
                fits = int(size(refused) * SMALLER)
                messages, left_out = self._fitted(fits)
                if messages == refused:
                    words = "(nothing more can be left out of it: the task needs a model with a larger context)"
                    raise ContextTooLong(f"{fault} {words}", permanent=not client.replied) from fault
        if fits != budget:
            note(f"{call.name}: prompt too long, shortened to {fits} characters")
        if left_out:
            note(f"{call.name}: prompt too long, {left_out} examples or reflections left out")
        return Reply(reply.message, fits)

    def _fitted(self, most: int | None) -> tuple[list[BaseMessage], int]:
        """Return the prompt in `most` characters, or as few as possible, and the number of things left out."""
        messages = self.render(list(self.steps), 0)
        if most is None or size(messages) <= most:
            return messages, 0
        # Everything else stays, so the observations alone have to become shorter by what is too much.
        too_many = size(messages) - most
        budget = _observed_characters(self.steps) - too_many
        shown = truncate_observations(self.steps, budget)
        messages = self.render(shown, 0)
        left_out = 0
        while size(messages) > most:
            fewer = self.render(shown, left_out + 1)
            if fewer == messages:
                # There is nothing more to leave out.
                break
            messages = fewer
            left_out += 1
        return messages, left_out


def truncate_observations(steps: Sequence[Step], budget: int | None) -> list[Step]:
    """Return the steps, the longest observations truncated to a budget of characters for all; None means no limit."""
    shown = list(steps)
    if budget is None:
        return shown
    too_many = _observed_characters(shown) - budget

    def roughly_by_length(index: int) -> int:
        # The number of binary digits: among observations of similar length, the oldest comes first.
        return -len(shown[index]["observation"]).bit_length()

    for index in sorted(range(len(shown)), key=roughly_by_length):
        if too_many <= 0:
            break
        observation = shown[index]["observation"]
        left_out = len(observation) - KEEP_CHARS
        short = f"{observation[:KEEP_CHARS]} [{left_out} characters left out]"
        # The note on what is left out may be longer than what it replaces.
        if len(short) < len(observation):
            shown[index] = with_observation(shown[index], short)
            too_many -= len(observation) - len(short)
    return shown


def with_observation(step: Step, observation: str) -> Step:
    """Return the step with another observation."""
    # The step itself belongs to the state, which only a node's update changes.
    changed = step.copy()
    changed["observation"] = observation
    return changed


def drop_longest(steps: Sequence[Step], tokens: int | None) -> list[Step]:
    """Return the steps without the longest observations, to fit about N tokens; None means no limit."""
    shown = list(steps)
    if tokens is None:
        return shown
    written = _written_characters(shown)
    room = tokens * CHARACTERS_PER_TOKEN - written
    observed = _observed_characters(shown)

    def by_length(index: int) -> int:
        return -len(shown[index]["observation"])

    for index in sorted(range(len(shown)), key=by_length):
        if observed <= room:
            break
        observed += len(LEFT_OUT) - len(shown[index]["observation"])
        shown[index] = with_observation(shown[index], LEFT_OUT)
    return shown


def bounded_trial(steps: Sequence[Step]) -> list[Step]:
    """Return the steps of a finished trial as a prompt shows them, in about `LONGEST_TRIAL` characters.

    Long observations are truncated first. Then steps in the middle are left out, and the last step before the gap
    says how many.
    """
    written = _written_characters(steps)
    if written + _observed_characters(steps) <= LONGEST_TRIAL:
        return list(steps)
    for_observations = max(LONGEST_TRIAL - written, 0)
    shown = truncate_observations(steps, for_observations)
    sizes = [_written(step) + len(step["observation"]) for step in shown]
    if sum(sizes) <= LONGEST_TRIAL:
        return shown
    # How a trial ended says more than how it began: the beginning gets a quarter of the room, and the end the rest.
    beginning = _fitting(sizes, LONGEST_TRIAL // 4)
    room = LONGEST_TRIAL - sum(sizes[:beginning])
    # The end grows from the last step back. The step that was too long for the beginning is not in it.
    after_gap = sizes[beginning + 1 :]
    after_gap.reverse()
    end = _fitting(after_gap, room)
    # Whatever their sizes, the first and the last step are shown.
    beginning = max(beginning, 1)
    end = max(end, 1)
    left_out = len(shown) - beginning - end
    if left_out <= 0:
        return shown
    head = shown[:beginning]
    tail = shown[-end:]
    before_gap = head[-1]
    words = f"{before_gap['observation']}\n[{count(left_out, 'step')} left out here]"
    head[-1] = with_observation(before_gap, words)
    return head + tail


def _fitting(sizes: Sequence[int], room: int) -> int:
    """Return how many of the first things fit."""
    fitting = 0
    for each in sizes:
        room -= each
        if room < 0:
            break
        fitting += 1
    return fitting


def _observed_characters(steps: Sequence[Step]) -> int:
    """Return the number of characters of all observations."""
    return sum(len(step["observation"]) for step in steps)


def _written_characters(steps: Sequence[Step]) -> int:
    """Return the number of characters that the actor wrote in all steps."""
    return sum(_written(step) for step in steps)


def _written(step: Step) -> int:
    """Return the number of characters that the actor wrote in a step."""
    written = len(step["thought"])
    if step["action"]:
        written += len(step["action"]["text"])
    return written


def opening_of(state: ReflexionState, prompts: Prompts) -> str:
    """Return the trial's opening: the first observation, preceded by the instruction if it does not contain that."""
    return prompts.opening(sanitize(state["task"]["instruction"]), state["episode"]["observation"])


def with_lessons(prompt: str, state: ReflexionState, prompts: Prompts) -> str:
    """Return a prompt preceded by the lessons recalled from other tasks, if any."""
    lessons = state.get("lessons")
    if not lessons:
        return prompt
    recalled = prompts.render("recalled", lessons=lessons)
    return f"{recalled}\n\n{prompt}"


def with_facts(prompt: str, facts: Sequence[str], prompts: Prompts) -> str:
    """Return a prompt preceded by what is certain about the last trial, if anything."""
    if not facts:
        return prompt
    told = prompts.render("facts", facts=facts)
    return f"{told}\n\n{prompt}"


def with_usage(state: ReflexionState | Update, node: str, usage: Usage) -> dict[str, Usage]:
    """Return the trial's usage by node, with `usage` added to `node`."""
    usage_by_node = state["usage"]
    if usage == NO_USAGE:
        return usage_by_node
    before = usage_by_node.get(node, NO_USAGE)
    # The state changes only by a node's update, so its own usage stays as it is.
    changed = dict(usage_by_node)
    changed[node] = add_usage(before, usage)
    return changed


@contextmanager
def charging(state: ReflexionState | Update, node: str) -> Iterator[Update]:
    """Charge the model calls inside `with` to a node, whatever comes of them.

    Yields:
        The node's update for them, which is empty until `with` ends: the trial's usage, its notes if there are new
        ones, and its calls in a trial whose prompts are recorded.
    """
    paid: Update = {}
    with open_account() as account:
        try:
            yield paid
        finally:
            # In `finally`, as calls before a fault were paid for.
            paid["usage"] = with_usage(state, node, account.usage)
            if account.notes:
                # Each note once, in the order in which they were first made.
                notes: list[str] = []
                for each in state["notes"] + account.notes:
                    if each not in notes:
                        notes.append(each)
                paid["notes"] = notes
            # A call that failed has nothing to show.
            answered = [call for call in account.calls if call.reply is not None]
            # `reset` makes this field only where prompts are recorded.
            if answered and "sent_prompts" in state:
                # Of all calls only the actor's belong to a step: the one that it chooses.
                step = None
                if node == "act":
                    step = len(state["trajectory"]) + 1
                paid["sent_prompts"] = with_calls(state["sent_prompts"], answered, step)


def for_record(paid: Update) -> Update:
    """Return the part of an update by `charging` that a `TrialRecord` has, too."""
    kept: Update = {"usage": paid["usage"]}
    if "notes" in paid:
        kept["notes"] = paid["notes"]
    return kept
