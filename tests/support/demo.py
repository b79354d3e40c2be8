"""The demo model on many tasks at once, and with changed prompts."""

import asyncio
import re
from collections.abc import Callable
from typing import Any

from langchain_core.messages import HumanMessage

from langgraph_reflexion import ModelOptions, create_reflexion
from langgraph_reflexion.lab.demo import DemoChatModel
from tests.support.toys import asks_for


def play_all(environment, limit, *, model=None, **options):
    """Return the final states of an environment's first tasks."""
    graph = create_reflexion(model or DemoChatModel(), environment, options=ModelOptions(seed=0), **options).compile()

    async def all_of_them():
        return await asyncio.gather(*(graph.ainvoke({"task": task}) for task in environment.tasks(limit=limit)))

    finals = asyncio.run(all_of_them())
    environment.close()
    return finals


def curve_of(finals, trials):
    """Return the share of tasks solved after 1, 2, ... trials."""
    return [
        sum(any(record["success"] for record in final["trials"][:count]) for final in finals) / len(finals)
        for count in range(1, trials + 1)
    ]


class Changed(DemoChatModel):
    """The demo model with changed prompts for steps that have reflections."""

    change: Callable[[list[Any]], list[Any]]

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        if asks_for(messages) == "act" and reflections_in(messages):
            messages = self.change(messages)
        return super()._generate(messages, stop, run_manager, **kwargs)


_REFLECTIONS = re.compile(r"^Your earlier trials of this task failed.*?\n\n", re.DOTALL | re.MULTILINE)


def task_at(messages):
    """Return the index of the message with the task and its reflections, which few-shot examples precede."""
    found = [at for at, message in enumerate(messages) if at and _REFLECTIONS.search(message.text)]
    return found[-1] if found else 1


def reflections_in(messages):
    """Return the block of reflections in a prompt."""
    found = _REFLECTIONS.search(messages[task_at(messages)].text)
    return found[0] if found else ""


def with_reflections(messages, reflections):
    """Return the prompt with other reflections."""
    at, own = task_at(messages), reflections_in(messages)
    text = messages[at].text
    changed = text.replace(own, reflections) if own else reflections + text
    return [*messages[:at], HumanMessage(changed), *messages[at + 1 :]]


def forgetful():
    """Return the demo model without reflections in its prompts, and the list of those removed."""
    removed = []

    def forget(messages):
        removed.append(reflections_in(messages))
        return with_reflections(messages, "")

    return Changed(change=forget), removed


def confused(task_in):
    """Return the demo model with other tasks' reflections in its prompts, and the list of those."""
    known = {}
    swapped = []

    def swap(messages):
        task = task_in(messages[task_at(messages)].text)
        known[task] = reflections_in(messages)
        others = sorted(other for other in known if other != task)
        swapped.append(known[others[len(task) % len(others)]] if others else "")
        return with_reflections(messages, swapped[-1])

    return Changed(change=swap), swapped
