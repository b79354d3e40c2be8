"""The conversation around a task: its last human message is the task, and the outcome is the answer."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeGuard, runtime_checkable

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.envs.base import Environment, Task
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.loop.events import SHOWN
from langgraph_reflexion.loop.prompting import opening_of
from langgraph_reflexion.models.recorded import NO_GAIN
from langgraph_reflexion.models.sent import inline_picture
from langgraph_reflexion.prompts import Prompts
from langgraph_reflexion.state import ReflexionState, Update
from langgraph_reflexion.support.langgraph import AGENT_NAME
from langgraph_reflexion.support.sync import to_thread
from langgraph_reflexion.support.text import as_text, count, sanitize

INPUT = 'the graph\'s input is {"task": ...} or {"messages": [...]} with a human message in it'

TASK_FORM = 'a task is a text, or {"id": TEXT, "instruction": TEXT, "data": {...}}, whose data may have a "reference"'

LONGEST_TALK = 4000
"""Characters of a conversation before the task that a judge or a reflection sees: its end."""
LONGEST_SAID = 500
"""Characters of each message in it: its beginning."""
MOST_PICTURES = 20
"""Pictures of a conversation that a judge or a reflection sees: the newest."""
SPEAKERS = {"human": "User", "ai": "Assistant", "system": "System"}
"""Who has said a message, by its type. Results of tools are left out."""


def new_message(state: Mapping[str, Any]) -> HumanMessage | None:
    """Return the last human message of the conversation, unless the state's task began after it."""
    humans = [message for message in state.get("messages", []) if isinstance(message, HumanMessage)]
    if not humans:
        return None
    last = humans[-1]
    task = state.get("task")
    if isinstance(task, dict) and task.get("after") == _mark(last):
        return None
    return last


def _mark(message: HumanMessage) -> str:
    """Return what tells a message from any other, and from itself once a person has edited it."""
    said = message.text + in_text(pictures_in([message]))
    # A text from outside may have a lone surrogate, which cannot be encoded.
    digest = hashlib.blake2b(said.encode("utf-8", "replace"), digest_size=8)
    return f"{message.id} {digest.hexdigest()}"


def pictures_in(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    """Return what people have shown beside their words: pictures and other blocks of content."""
    shown: list[dict[str, Any]] = []
    for message in messages:
        if isinstance(message, HumanMessage) and isinstance(message.content, list):
            blocks = [block for block in message.content if isinstance(block, dict)]
            shown += [block for block in blocks if block.get("type") != "text"]
    return shown


def in_text(pictures: Sequence[Mapping[str, Any]]) -> str:
    """Return pictures as a text that tells them from others; empty if there are none."""
    if not pictures:
        return ""
    return json.dumps(pictures, sort_keys=True, default=str)


@runtime_checkable
class Conversational(Protocol):
    """An environment in which any message is a task."""

    def task_of(self, message: HumanMessage) -> Task:
        """Return the task of a message: the same words with another picture are another task."""
        ...


def asked_in(state: Mapping[str, Any]) -> tuple[list[AnyMessage], HumanMessage | None]:
    """Return a wrapped agent's conversation: the messages before the task, and that of the task.

    The task has no message if it did not come as one.
    """
    said = list(state.get("messages", []))
    places = [index for index, message in enumerate(said) if isinstance(message, HumanMessage)]
    if not places:
        return [], None
    last = said[places[-1]]
    # The task was given by itself, on a thread on which something else was said before.
    if last.text != state["task"]["instruction"]:
        return [], None
    return said[: places[-1]], last


def earlier_talk(state: ReflexionState) -> str:
    """Return what was said before a wrapped agent's task, as quotations for a prompt; empty if nothing was.

    Of a long conversation the newest messages are shown, and of a long message the beginning.
    """
    if "attempt" not in state:
        return ""
    before, _ = asked_in(state)
    lines: list[str] = []
    room = LONGEST_TALK
    # From the newest message back, until there is no room for another.
    for message in reversed(before):
        who = SPEAKERS.get(message.type)
        # In one line each, so that no message can pass for two.
        words = " ".join(sanitize(message.text).split())
        if who is None or not words:
            continue
        if len(words) > LONGEST_SAID:
            words = f"{words[:LONGEST_SAID].rstrip()} [...]"
        line = f"| {who}: {words}"
        room -= len(line)
        if room < 0:
            lines.append("| [...]")
            break
        lines.append(line)
    return "\n".join(reversed(lines))


def task_in_talk(state: ReflexionState, prompts: Prompts) -> str:
    """Return the opening of a trial for whoever judges it, after what was said before the task."""
    opening = opening_of(state, prompts)
    talk = earlier_talk(state)
    if not talk:
        return opening
    return f"What was said before:\n{talk}\n\nWhat was asked then:\n{opening}"


def with_pictures(text: str, state: ReflexionState, model: object) -> HumanMessage:
    """Return a message with the pictures of a wrapped agent's conversation, if the model says that it takes some.

    Files and addresses are left out, as the state may come from somebody else, and a client would open them.
    """
    profile = getattr(model, "profile", None)
    sees = isinstance(profile, Mapping) and profile.get("image_inputs") is True
    if not sees or "attempt" not in state:
        return HumanMessage(text)
    shown, task = asked_in(state)
    if task:
        shown = [*shown, task]
    pictures: list[dict[str, Any]] = []
    for block in pictures_in(shown):
        picture = inline_picture(block)
        if picture is not None:
            pictures.append(picture)
    if not pictures:
        return HumanMessage(text)
    newest = pictures[-MOST_PICTURES:]
    return HumanMessage([{"type": "text", "text": text}, *newest])


async def read_task(state: ReflexionState, environment: Environment) -> Task:
    """Return `task_from` without blocking the event loop."""
    # A task that comes as data is all there; only where words name it, the environment looks it up.
    if isinstance(state.get("task"), dict) and not new_message(state):
        return task_from(state, environment)
    return await to_thread(task_from, state, environment)


def task_from(state: ReflexionState, environment: Environment) -> Task:
    """Return the task of the input: a task, the text that names it, or the last human message of a conversation.

    A new message on a used thread is a new task.

    Raises:
        ConfigurationError: the input holds none of these, or the environment does not know the task.
    """
    given: Any = state.get("task")
    message = new_message(state)
    # This function gives a task the key `after` when it begins.
    begun = isinstance(given, dict) and "after" in given
    if begun and not message:
        # It may have been edited in the state since.
        return _read(given)
    mark = None
    if message:
        mark = _mark(message)
        # A task that is given together with a conversation goes before its message.
        if begun or not given:
            given = _asked_by(message, environment)
    task = _found(given, environment).copy()
    # What tells this message from the next one, which is a new task.
    task["after"] = mark
    return task


def _asked_by(message: HumanMessage, environment: Environment) -> Task | str:
    """Return the task of a message, or the text that names it."""
    if isinstance(environment, Conversational):
        return environment.task_of(message)
    return message.text


def _found(given: Any, environment: Environment) -> Task:
    """Return the task that the input holds, or names."""
    if isinstance(given, str):
        return environment.find_task(given)
    return _read(given)


def _read(given: Any) -> Task:
    """Return the task that an input holds as data.

    Raises:
        ConfigurationError: it is not a task.
    """
    if given is None:
        raise ConfigurationError(INPUT)
    if not _is_task(given):
        raise ConfigurationError(f"{INPUT}; {TASK_FORM}; got the task {given!r:.200}")
    return given.copy()


def _is_task(given: Any) -> TypeGuard[Task]:
    """Return whether this is a task, by the fields that it has or may have."""
    if not isinstance(given, dict):
        return False
    has_words = isinstance(given.get("id"), str) and isinstance(given.get("instruction"), str)
    has_kind = isinstance(given.get("kind", ""), str)
    has_data = isinstance(given.get("data", {}), dict)
    return has_words and has_kind and has_data


def with_answer(state: ReflexionState, update: Update, config: RunnableConfig) -> Update:
    """Return an evaluation's update with the result of the best trial so far, and the answer to a conversation.

    Around an agent, both are replaced by its own.
    """
    answered = update.copy()
    answered["result"] = state.get("result")
    is_best = update["best"] in (None, state["trial"])
    if is_best:
        answered["result"] = result_of_trial(state)
    if update["status"] != "running" and state.get("messages"):
        words = in_words(state, answered)
        answered["messages"] = [answer(words, state, answered, config)]
    return answered


def answer(text: str, state: ReflexionState, update: Update, config: RunnableConfig) -> AIMessage:
    """Return the message that ends a task, with the outcome and the graph's name in its metadata."""
    name = config.get("metadata", {}).get(AGENT_NAME)
    return AIMessage(text, name=name, response_metadata={"reflexion": outcome_of(state, update)})


def outcome_of(state: ReflexionState, update: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outcome of a task, for the answer's metadata, from the last evaluation's update."""
    score = None
    evaluation = update.get("evaluation")
    if evaluation:
        score = evaluation["score"]
    return {
        "status": update["status"],
        "trials": state["trial"],
        "best": update["best"],
        "score": score,
        "fault": update["fault"],
    }


def result_of_trial(state: ReflexionState) -> str:
    """Return the last action of the trial and its observation; empty if there was none."""
    for step in reversed(state["trajectory"]):
        action = step["action"]
        if action:
            return f"{action['text']}\n{step['observation'][:SHOWN]}"
    return ""


def in_words(state: ReflexionState, update: Update) -> str:
    """Return how a task has ended: the result of the best trial, and how often it was tried."""
    outcome = _outcome_in_words(state, update)
    result = as_text(update["result"])
    if not result:
        return outcome
    return f"{result}\n\n{outcome}"


def _outcome_in_words(state: ReflexionState, update: Update) -> str:
    """Return a task's status in a sentence, and the reason if there is one."""
    trials = count(state["trial"], "trial")
    why = ""
    match update["status"]:
        case "solved":
            outcome = f"Solved after {trials}."
        case "fault":
            outcome = f"Stopped in trial {state['trial']}:"
            why = update["fault"]
        case "budget":
            outcome = f"Stopped after {trials}:"
            # The last note names the budget.
            why = " ".join(update["notes"][-1:])
        case _:
            outcome = f"Not solved after {trials}."
            stopped = [note for note in update["notes"] if note.startswith(NO_GAIN)]
            if stopped:
                outcome = f"Not solved: {stopped[0]}."
            evaluation = update.get("evaluation")
            if evaluation:
                why = evaluation["feedback"]
    return f"{outcome} {why}".strip()
