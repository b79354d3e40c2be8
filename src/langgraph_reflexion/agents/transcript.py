"""An agent's messages as a trajectory: tool calls are the actions, tool results the observations."""

import json
from collections.abc import Collection, Iterable, Sequence
from typing import Any, TypeVar, cast

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    ToolCall,
    ToolMessage,
    convert_to_messages,
)
from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from langgraph_reflexion.envs.base import Action
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.models.limits import is_cut
from langgraph_reflexion.state import LONGEST_MESSAGE, UNANSWERED, Step
from langgraph_reflexion.support.text import call_text, plain, sanitize

ANSWERED = "That was the answer."
"""The observation after a message that calls no tool."""

_Message = TypeVar("_Message", bound=BaseMessage)
_SERVED: TypeAdapter[AnyMessage] = TypeAdapter(AnyMessage)


class Transcript:
    """A growing conversation as steps.

    Each message is read once, when it comes: a trial of N messages that is looked at after each of them costs N
    readings. A message that is changed in place later is not read again.
    """

    def __init__(self) -> None:
        self._read: list[BaseMessage] = []
        self._steps: list[Step] = []
        # Some servers give all calls the same id: a result belongs to the last open call of its id.
        self._open_calls: dict[str, int] = {}

    def steps_of(self, messages: Sequence[BaseMessage]) -> list[Step]:
        """Return the steps of all messages, which are those of the last time and mostly some more."""
        if list(messages[: len(self._read)]) != self._read:
            # The agent has changed what it had said.
            self._read.clear()
            self._steps.clear()
            self._open_calls.clear()
        for message in messages[len(self._read) :]:
            self._add(message)
            self._read.append(message)
        return list(self._steps)

    def _add(self, message: BaseMessage) -> None:
        text = sanitize(message.text.strip())[:LONGEST_MESSAGE]
        if isinstance(message, ToolMessage):
            self._add_result(message, text)
        elif not isinstance(message, AIMessage):
            self._add_step("", None, text)
        elif not message.tool_calls:
            self._add_step(text, None, ANSWERED)
        else:
            self._add_calls(message.tool_calls, text)

    def _add_calls(self, calls: Sequence[ToolCall], thought: str) -> None:
        for call in calls:
            name = sanitize(call["name"])
            args = as_plain(call["args"])
            written = sanitize(call_text(name, args))[:LONGEST_MESSAGE]
            action = Action(name=name, args=args, text=written)
            self._open_calls[call["id"] or ""] = len(self._steps)
            self._add_step(thought, action, UNANSWERED)
            # It precedes the first of several calls.
            thought = ""

    def _add_result(self, message: ToolMessage, text: str) -> None:
        place = self._open_calls.pop(message.tool_call_id, None)
        if place is None:
            self._add_step("", None, text)
            return
        # Another step: the one that was returned before the result came stays as it was.
        step = self._steps[place].copy()
        step["observation"] = text
        if _says_more(message):
            step["partial"] = True
        if message.status == "error":
            step["failed"] = True
        self._steps[place] = step

    def _add_step(self, thought: str, action: Action | None, observation: str) -> None:
        number = len(self._steps) + 1
        self._steps.append(Step(number=number, thought=thought, action=action, observation=observation))


def _says_more(message: ToolMessage) -> bool:
    """Return whether a tool's result is more than the text that a step keeps of it."""
    if len(message.text) > LONGEST_MESSAGE:
        return True
    if isinstance(message.content, str):
        return False
    return any(isinstance(block, dict) and block.get("type") != "text" for block in message.content)


def steps_of(messages: Sequence[BaseMessage]) -> list[Step]:
    """Return the steps of an agent's messages."""
    return Transcript().steps_of(messages)


def input_messages(given: Any) -> list[BaseMessage]:
    """Return an agent's input as messages for the record."""
    said = given
    if isinstance(given, dict):
        said = given.get("messages")
    if isinstance(said, list) and all(map(is_message, said)):
        return [as_message(each) for each in said]
    if isinstance(given, dict) and len(given) == 1:
        # The only field of an agent's input is the task.
        given = next(iter(given.values()))
    if isinstance(given, str):
        return [HumanMessage(given)]
    return [HumanMessage(json.dumps(plain(given), ensure_ascii=False))]


def result_of(output: Any, messages: Sequence[BaseMessage], *, stopped: bool = False) -> Any:
    """Return an agent's result as JSON-like data: its structured response, its last message's text, or its output.

    Args:
        output: The agent's output.
        messages: Its messages.
        stopped: Whether it was stopped before it came to its end: then only what it has answered is its result.
    """
    if isinstance(output, dict) and output.get("structured_response") is not None:
        return as_plain(output["structured_response"])
    if _talk(output) is not None:
        if stopped:
            return _last_answer(messages)
        return _last_words(messages)
    if isinstance(output, str):
        return sanitize(output)
    return as_plain(output)


def _last_words(messages: Sequence[BaseMessage]) -> str:
    # A tool with `return_direct` leaves the answer in a tool message.
    for message in reversed(messages):
        if isinstance(message, AIMessage | ToolMessage):
            return sanitize(message.text)
    return ""


def _last_answer(messages: Sequence[BaseMessage]) -> str:
    """Return the agent's last message that calls no tool: what a tool has returned is not the agent's answer."""
    for message in reversed(messages):
        if isinstance(message, AIMessage) and not message.tool_calls:
            return sanitize(message.text)
    return ""


def is_cut_off(messages: Sequence[BaseMessage]) -> bool:
    """Return whether the model reached the limit of a reply in the middle of its answer."""
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            return is_cut(message)
    return False


def state_of(output: Any, own_keys: Collection[str]) -> dict[str, Any]:
    """Return an agent's state without its messages; empty if its output is not a state.

    The values of its own keys, which a caller may give, are returned as they are; others as JSON-like data.
    """
    if not isinstance(output, dict):
        return {}
    state: dict[str, Any] = {}
    for key, value in output.items():
        name = str(key)
        if name == "messages":
            continue
        if name not in own_keys:
            value = as_plain(value)
        state[name] = value
    return state


def messages_in(output: Any, given: Sequence[BaseMessage], sent: Sequence[BaseMessage] = ()) -> dict[str, AnyMessage]:
    """Return the messages that an agent added to the given ones, by their ids, or by their places if they have none.

    Args:
        output: The agent's output.
        given: The conversation that it was given, with ids.
        sent: Its input as messages. One that was built by `make_input` has no ids, and is known by place and text.

    Raises:
        ConfigurationError: the output has `messages` that are not messages.
    """
    said = _by_id(_talk(output) or [])
    known = {message.id for message in given if message.id}
    newest_given = _place_of_newest(given, said.values())
    added = {}
    # What comes after a message of the agent's own was not sent, even if it says the same as one in its place.
    leading = True
    for place, (key, message) in enumerate(said.items()):
        is_given = message.id in known
        if place > newest_given and isinstance(message, AIMessage | ToolMessage):
            # Its own, even if it gives all of its messages the same id.
            is_given = False
        leading = leading and (is_given or _was_sent(message, place, sent))
        if not is_given and not leading:
            added[key] = message
    return added


def _place_of_newest(given: Sequence[BaseMessage], said: Iterable[BaseMessage]) -> int:
    """Return the place of the newest given message in an output; -1 if the output leaves it out."""
    if not given or not given[-1].id:
        return -1
    found = -1
    for place, message in enumerate(said):
        if message.id == given[-1].id:
            found = place
    return found


def _by_id(messages: Sequence[_Message]) -> dict[str, _Message]:
    """Return messages by their ids, or by their places if they have none, or that of an earlier one."""
    found: dict[str, _Message] = {}
    for place, message in enumerate(messages):
        key = message.id
        if not key or key in found:
            key = f"#{place}"
        found[key] = message
    return found


def _was_sent(message: BaseMessage, place: int, sent: Sequence[BaseMessage]) -> bool:
    """Return whether a message of the output is that of the input in the same place."""
    if place >= len(sent):
        return False
    return message.type == sent[place].type and message.text == sent[place].text


def kept_of(output: Any, given: Sequence[BaseMessage]) -> list[AnyMessage] | None:
    """Return what an agent has left of the conversation before its task, such as a summary; None if it left all.

    Args:
        output: The agent's output.
        given: The conversation that it was given, the task last. Messages without ids are not looked for.
    """
    if not given:
        return None
    *before, task = given
    said: list[AnyMessage] = []
    if isinstance(output, dict):
        said = _talk(output) or []
    ids_before = {message.id for message in before if message.id}
    ids_left = [message.id for message in said]
    if ids_before.issubset(ids_left):
        return None
    if task.id in ids_left:
        return said[: ids_left.index(task.id)]
    # A summary contains the task as well. Some graphs return only their answer, which is not a summary.
    leading: list[AnyMessage] = []
    for message in said:
        if isinstance(message, AIMessage | ToolMessage):
            break
        leading.append(message)
    return leading or None


def _talk(output: Any) -> list[AnyMessage] | None:
    """Return the messages in an output, which may be dicts; None if it is something else."""
    if isinstance(output, BaseMessage):
        return [as_message(output)]
    if isinstance(output, dict) and "messages" in output:
        found = output["messages"]
        if not isinstance(found, list | tuple):
            found = [found]
        return [as_message(each) for each in found]
    if isinstance(output, list) and any(map(is_message, output)):
        return [as_message(each) for each in output]
    return None


def is_message(value: Any) -> bool:
    """Return whether a value is a message, or a dict in the form of one."""
    if isinstance(value, dict):
        return ("role" in value or "type" in value) and "content" in value
    return isinstance(value, BaseMessage)


def as_message(value: Any) -> AnyMessage:
    """Return a message, which may be a dict in the form of one.

    Raises:
        ConfigurationError: it cannot be read.
    """
    if isinstance(value, BaseMessage):
        # A message is an instance of one of these classes.
        return cast(AnyMessage, value)
    try:
        if "type" in value:
            # As LangGraph's server sends it, with usage.
            return _SERVED.validate_python(value)
        # As OpenAI writes it.
        return cast(AnyMessage, convert_to_messages([value])[0])
    # LangChain looks up and calls what it expects in a message from OpenAI.
    except (ValueError, TypeError, KeyError, AttributeError, NotImplementedError) as error:
        raise ConfigurationError(f"the agent's messages cannot be read: {value!r:.200} is not a message") from error


def as_plain(value: Any) -> Any:
    """Return a value as JSON-like data."""
    try:
        # Most values are JSON already.
        json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        try:
            value = to_jsonable_python(value, fallback=str)
        except ValueError:
            return sanitize(str(value)[:LONGEST_MESSAGE])
    return plain(value)
