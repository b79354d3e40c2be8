"""What is recorded of model calls, as plain JSON: their usage, what was sent, and what came back.

Readers of run folders import this alone: it imports no LangChain, which would take longer than the reading.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NotRequired

from typing_extensions import TypedDict  # pydantic makes schemas of these alone before Python 3.12

REJECTED = "reflection rejected"
"""How the note on a useless reflection begins, in the record of its trial."""

SAMPLED_AGAIN = "a rejected answer was sampled again"
"""How the note on an answer begins that had been rejected before, so that the model was asked again."""

TRIALS_WITHOUT_GAIN = 3
"""Trials of a task with the same score after which it stops under `Profile.stop_at_no_gain`."""

NO_GAIN = f"stopped after {TRIALS_WITHOUT_GAIN} trials with the same score"
"""How the note begins that says so, in the record of the last one; the score follows."""


USED_UP = "used up"
"""How the note on a budget ends that has ended a task."""


NO_TRUTH = "truth: unknown"
"""How the note on a trial begins whose truth could not be asked."""


def ended_on_budget(notes: Sequence[str]) -> bool:
    """Return whether these are the notes of a trial after which its task has ended on a budget."""
    # A truth that was given up when a budget was used up has ended no task.
    return any(note.endswith(USED_UP) and not note.startswith(NO_TRUTH) for note in notes)


def ended_at_no_gain(notes: Sequence[str]) -> bool:
    """Return whether these are the notes of a task's last trial, after which it has stopped at no gain."""
    return any(note.startswith(NO_GAIN) for note in notes)


class Usage(TypedDict):
    """The usage of model calls."""

    llm_calls: int
    """Calls that the model answered."""
    cached_calls: int
    """Calls whose replies came out of a cache, and are free."""
    input_tokens: int
    output_tokens: int
    cost: float
    """Money, at the prices of `ModelOptions`."""
    reused_input_tokens: NotRequired[int]
    """Tokens of the prompts of cached calls, paid for when the replies were first asked for; absent without any."""
    reused_output_tokens: NotRequired[int]
    """Tokens of their replies."""


NO_USAGE = Usage(llm_calls=0, cached_calls=0, input_tokens=0, output_tokens=0, cost=0.0)


def add_usage(*usages: Usage) -> Usage:
    """Return the sum."""
    total = NO_USAGE.copy()
    for usage in usages:
        total["llm_calls"] += usage["llm_calls"]
        total["cached_calls"] += usage["cached_calls"]
        total["input_tokens"] += usage["input_tokens"]
        total["output_tokens"] += usage["output_tokens"]
        total["cost"] += usage["cost"]
        reused_input = total.get("reused_input_tokens", 0) + usage.get("reused_input_tokens", 0)
        reused_output = total.get("reused_output_tokens", 0) + usage.get("reused_output_tokens", 0)
        if reused_input or reused_output:
            total["reused_input_tokens"] = reused_input
            total["reused_output_tokens"] = reused_output
    return total


def out_of_cache(paid: Usage) -> Usage:
    """Return the usage of a reply out of a cache.

    Args:
        paid: What the reply cost when it was first asked for.
    """
    reused = NO_USAGE.copy()
    # It may itself have come out of a cache of LangChain's.
    reused["cached_calls"] = paid["llm_calls"] + paid["cached_calls"]
    read = paid["input_tokens"] + paid.get("reused_input_tokens", 0)
    wrote = paid["output_tokens"] + paid.get("reused_output_tokens", 0)
    if read or wrote:
        reused["reused_input_tokens"] = read
        reused["reused_output_tokens"] = wrote
    return reused


def reused_tokens(usage: Usage) -> int:
    """Return the tokens of cached calls, sent and received."""
    return usage.get("reused_input_tokens", 0) + usage.get("reused_output_tokens", 0)


def all_tokens(usage: Usage) -> int:
    """Return the tokens sent and received, with those of cached calls: what the work costs without a cache."""
    return usage["input_tokens"] + usage["output_tokens"] + reused_tokens(usage)


class SentMessage(TypedDict):
    """A message of a prompt, or a reply. `langchain_core.messages.convert_to_messages` reads it."""

    role: str
    """`system`, `user`, `assistant` or `tool`."""
    content: str | list[Any]
    """The text; blocks of content as a list, where files are replaced by their size and digest."""
    tool_calls: NotRequired[list[dict[str, Any]]]
    """The tool calls of a reply: `name`, `args` and `id`."""
    invalid_tool_calls: NotRequired[list[dict[str, Any]]]
    """Those whose arguments could not be read."""
    tool_call_id: NotRequired[str]
    """The call that a message of the role `tool` answers."""
    additional_kwargs: NotRequired[dict[str, Any]]
    """What else went back to the provider, such as reasoning."""


class SentCall(TypedDict):
    """A model call that was answered: its prompt, short of what it shares with the call before, and the reply."""

    kind: str
    """What was asked for: `act`, `evaluate`, `reflect`, `condense`, `tests` or `lesson`."""
    call: str
    """The call's name within the trial, as in traces: `act 3`, `evaluate again`."""
    step: NotRequired[int]
    """The step that an `act` asked for, counted from 1."""
    same: int
    """The number of messages that this prompt shares with the beginning of the one before it in the trial."""
    same_characters: NotRequired[int]
    """The number of characters that the next message shares with the start of its counterpart in the call before."""
    added: list[SentMessage]
    """The messages after them; after `same_characters`, the first one lacks its beginning."""
    tools: NotRequired[list[dict[str, Any]]]
    """The tools that the model was offered, where they differ from those of the call before."""
    reply: SentMessage | None
    """What came back. None for an agent of your own, whose messages are the trajectory."""


@dataclass(frozen=True)
class WholeCall:
    """A model call with its whole prompt. Fields as in `SentCall`."""

    kind: str
    call: str
    step: int | None
    messages: list[SentMessage]
    tools: list[dict[str, Any]]
    reply: SentMessage | None


def whole_calls(calls: Sequence[SentCall]) -> Iterator[WholeCall]:
    """Yield a trial's calls with their whole prompts.

    Args:
        calls: All calls of the trial.
    """
    prompt: list[SentMessage] = []
    tools: list[dict[str, Any]] = []
    for call in calls:
        continue_prompt(prompt, call)
        tools = call.get("tools", tools)
        # A copy of the prompt, as the next call changes it in place.
        messages = list(prompt)
        yield WholeCall(call["kind"], call["call"], call.get("step"), messages, tools, call["reply"])


def with_content(message: SentMessage, content: str) -> SentMessage:
    """Return a message with other content."""
    changed = message.copy()
    changed["content"] = content
    return changed


def continue_prompt(prompt: list[SentMessage], call: SentCall) -> None:
    """Turn the prompt of the call before into that of this one, in place."""
    added = list(call["added"])
    characters = call.get("same_characters", 0)
    if characters:
        earlier = prompt[call["same"]]["content"]
        rest = added[0]["content"]
        added[0] = with_content(added[0], f"{earlier[:characters]}{rest}")
    # Only now, as the message that is continued was among these.
    del prompt[call["same"] :]
    prompt += added
