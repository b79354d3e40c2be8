"""What the nodes that call a model have in common: prompts that are made to fit, and accounts by node."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.errors import ContextTooLong
from langgraph_reflexion.models.calls import Call, storable
from langgraph_reflexion.models.client import Client
from langgraph_reflexion.models.usage import CHARACTERS_PER_TOKEN, NO_USAGE, Usage, add_usage
from langgraph_reflexion.prompts import Prompts
from langgraph_reflexion.state import ReflexionState, Step, Update

STUB = 200
"""How many characters are left of an observation that was shortened."""
LEFT_OUT = "[left out, to save room]"
"""What stands in the place of an observation that was left out."""
SMALLER = 0.7
"""What is left of the observations' characters when a prompt was too long."""

Render = Callable[[list[Step]], list[BaseMessage]]
"""Makes a prompt of the steps that it shows."""


class Asked(NamedTuple):
    """A model's reply, and what the state is to remember of the call."""

    reply: AIMessage
    usage: Usage
    notes: list[str]
    room: int | None
    """How many characters of observations fitted."""


async def ask_about(
    client: Client,
    render: Render,
    steps: Sequence[Step],
    room: int | None,
    config: RunnableConfig,
    call: Call,
    **options: Any,
) -> Asked:
    """Ask with a prompt that shows steps; shorten their observations until it fits.

    Args:
        client: The model.
        render: Makes the prompt.
        steps: The steps, oldest first.
        room: How many characters of their observations fit, where that is known.
        config: The node's config.
        call: Which call this is.
        **options: Passed on to `Client.ask`.

    Raises:
        ContextTooLong: it does not fit, however short.
        ModelFault: as from `Client.ask`.
    """
    shown, fits = shortened(steps, room), room
    while True:
        try:
            answer = await client.ask(render(shown), config, call, **options)
        except ContextTooLong:
            had = _length(shown)
            fits = int(had * SMALLER)
            shown = shortened(steps, fits)
            if _length(shown) >= had:
                raise
        else:
            notes = [f"{call.name}: prompt too long, long observations shortened"] if fits != room else []
            return Asked(answer.reply, answer.usage, answer.notes + notes, fits)


def shortened(steps: Sequence[Step], room: int | None) -> list[Step]:
    """The steps with so many of their longest observations cut, the oldest first, that the rest fits.

    Args:
        steps: The steps, oldest first.
        room: How many characters all observations may have together; None for any number.
    """
    shown = list(steps)
    too_many = 0 if room is None else _length(steps) - room
    # Of those of about the same length, the oldest first.
    for index in sorted(range(len(shown)), key=lambda index: -len(shown[index]["observation"]).bit_length()):
        if too_many <= 0:
            break
        observation = shown[index]["observation"]
        short = f"{observation[:STUB]} [{len(observation) - STUB} characters left out]"
        if len(short) < len(observation):
            shown[index] = {**shown[index], "observation": short}
            too_many -= len(observation) - len(short)
    return shown


def without_longest(steps: Sequence[Step], tokens: int | None) -> list[Step]:
    """The steps without their longest observations, so many of them that the transcript has at most so many tokens.

    Args:
        steps: The steps, oldest first.
        tokens: How many tokens; None for any number.
    """
    shown = list(steps)
    written = [sum(map(len, (s["thought"], s["action"]["text"] if s["action"] else ""))) for s in shown]
    for index in sorted(range(len(shown)), key=lambda index: -len(shown[index]["observation"])):
        if tokens is None or sum(written) + _length(shown) <= tokens * CHARACTERS_PER_TOKEN:
            break
        shown[index] = {**shown[index], "observation": LEFT_OUT}
    return shown


def opening_of(state: ReflexionState, prompts: Prompts) -> str:
    """The trial's opening: the first observation, and the task's instruction where that does not contain it."""
    return prompts.opening(storable(state["task"]["instruction"]), state["episode"]["observation"])


def with_lessons(prompt: str, state: ReflexionState, prompts: Prompts) -> str:
    """A prompt with what was recalled from other tasks before it; where nothing was, as it is."""
    lessons = state.get("lessons")
    return f"{prompts.render('recalled', lessons=lessons)}\n\n{prompt}" if lessons else prompt


def charged(state: ReflexionState | Update, node: str, usage: Usage) -> dict[str, Usage]:
    """Return the trial's usage by node, with a call of `node` added."""
    if usage == NO_USAGE:
        return state["usage"]
    return {**state["usage"], node: add_usage(state["usage"].get(node, NO_USAGE), usage)}


def spent(state: ReflexionState, node: str, usage: Usage, notes: Sequence[str] = ()) -> Update:
    """Return what a node writes about its model calls: the trial's usage, and its notes where there are new ones."""
    update: Update = {"usage": charged(state, node, usage)}
    return update | {"notes": list(dict.fromkeys([*state["notes"], *notes]))} if notes else update


def _length(steps: Sequence[Step]) -> int:
    return sum(len(step["observation"]) for step in steps)
