"""The conversation around a task: its last human message is the task, and the outcome is the answer."""

import hashlib
from collections.abc import Mapping
from typing import Any, cast

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.envs.base import Environment, Task
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.loop.events import SHOWN
from langgraph_reflexion.state import ReflexionState, Update
from langgraph_reflexion.support.langgraph import AGENT_NAME
from langgraph_reflexion.support.sync import to_thread

INPUT = 'the graph\'s input is {"task": ...} or {"messages": [...]} with a human message in it'


def new_message(state: Mapping[str, Any]) -> HumanMessage | None:
    """Return the last human message of the conversation, unless the state's task began after it."""
    humans = [message for message in state.get("messages", []) if isinstance(message, HumanMessage)]
    task = state.get("task")
    known = task.get("after") if isinstance(task, dict) else None
    return humans[-1] if humans and _mark(humans[-1]) != known else None


def _mark(message: HumanMessage) -> str:
    """Return what tells a message from any other, and from itself once a person has edited it."""
    return f"{message.id} {hashlib.blake2b(message.text.encode('utf-8', 'replace'), digest_size=8).hexdigest()}"


async def read_task(state: ReflexionState, environment: Environment) -> Task:
    """Return `task_from` without blocking the event loop."""
    return await to_thread(task_from, state, environment)


def task_from(state: ReflexionState, environment: Environment) -> Task:
    """Return the task of the input: a task, the text that names it, or the last human message of a conversation.

    A new message on a used thread is a new task.

    Raises:
        ConfigurationError: the input holds none of these, or the environment does not know the task.
    """
    given: Any = state.get("task")
    begun, message = isinstance(given, dict) and "after" in given, new_message(state)
    if begun and not message:
        # It may have been edited in the state since.
        return _read(given)
    if message and (begun or not given):
        given = message.text
    task = environment.find_task(given) if isinstance(given, str) else _read(given)
    return Task(**{**task, "after": _mark(message) if message else None})


def _read(given: Any) -> Task:
    task: dict[str, Any] = {**given} if isinstance(given, dict) else {}
    words = all(isinstance(task.get(key), str) for key in ("id", "instruction"))
    if words and isinstance(task.get("kind", ""), str) and isinstance(task.get("data", {}), dict):
        return cast(Task, task)
    raise ConfigurationError(INPUT if given is None else f"{INPUT}; got the task {given!r:.200}")


def with_answer(state: ReflexionState, update: Update, config: RunnableConfig) -> Update:
    """Return an evaluation's update with the result of the best trial so far, and the answer to a conversation.

    Around an agent, both are replaced by its own.
    """
    is_best = update["best"] in (None, state["trial"])
    update = {**update, "result": result_of_trial(state) if is_best else state.get("result")}
    if update["status"] != "running" and state.get("messages"):
        update["messages"] = [answer(in_words(state, update), state, update, config)]
    return update


def answer(text: str, state: ReflexionState, update: Update, config: RunnableConfig) -> AIMessage:
    """Return the message that ends a task, with the outcome and the graph's name in its metadata."""
    name = config.get("metadata", {}).get(AGENT_NAME)
    return AIMessage(text, name=name, response_metadata={"reflexion": outcome_of(state, update)})


def outcome_of(state: ReflexionState, update: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outcome of a task, for the answer's metadata, from the last evaluation's update."""
    evaluation = update.get("evaluation")
    return {
        "status": update["status"],
        "trials": state["trial"],
        "best": update["best"],
        "score": evaluation["score"] if evaluation else None,
        "fault": update["fault"],
    }


def result_of_trial(state: ReflexionState) -> str:
    """Return the last action of the trial and its observation; empty if there was none."""
    done = [step for step in state["trajectory"] if step["action"]]
    if not done or not (action := done[-1]["action"]):
        return ""
    return f"{action['text']}\n{done[-1]['observation'][:SHOWN]}"


def in_words(state: ReflexionState, update: Update) -> str:
    """Return how a task has ended: the result of the best trial, and how often it was tried."""
    trials = f"{state['trial']} trial{'s' * (state['trial'] > 1)}"
    evaluation, why = update.get("evaluation"), ""
    match update["status"]:
        case "solved":
            outcome = f"Solved after {trials}."
        case "fault":
            outcome, why = f"Stopped in trial {state['trial']}:", update["fault"]
        case "budget":
            outcome, why = f"Stopped after {trials}:", " ".join(update["notes"][-1:])
        case _:
            outcome, why = f"Not solved after {trials}.", evaluation["feedback"] if evaluation else ""
    return "\n\n".join(filter(None, [update["result"], f"{outcome} {why}".strip()]))
