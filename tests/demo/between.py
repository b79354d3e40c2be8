"""What the demo model reads, changed on the way."""

import re
from collections.abc import Callable
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage

from langgraph_reflexion.demo import DemoChatModel
from tests.toys import asks_for


class Between(DemoChatModel):
    """The demo model behind something that changes what it reads, and what it says.

    Attributes:
        hears: Makes of the messages what the model gets to see.
        says: Makes of its reply what comes back.
    """

    hears: Callable[[list[Any]], list[Any]]
    says: Callable[[AIMessage], AIMessage] = lambda reply: reply

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        result = super()._generate(self.hears(messages), stop, run_manager, **kwargs)
        result.generations[0].message = self.says(result.generations[0].message)
        return result


def lessons_of(messages):
    """The block of lessons in a prompt, if there is one."""
    found = re.search(r"^What you wrote down after.*?\n\n", messages[1].text, re.DOTALL | re.MULTILINE)
    return found[0] if found else ""


def with_lessons(messages, lessons):
    """The prompt with other lessons in the place of its own."""
    text, own = messages[1].text, lessons_of(messages)
    changed = text.replace(own, lessons) if own else lessons + text
    return [messages[0], HumanMessage(changed), *messages[2:]]


def forgetful():
    """The demo model that acts without its lessons, and a list of those that were taken from it."""
    removed = []

    def forget(messages):
        if asks_for(messages) != "act" or not lessons_of(messages):
            return messages
        removed.append(lessons_of(messages))
        return with_lessons(messages, "")

    return Between(hears=forget), removed


def confused(task_in):
    """The demo model that acts by other tasks' lessons, and a list of what it was given.

    Args:
        task_in: Finds the task in a prompt's text.
    """
    told: dict[str, str] = {}
    swapped = []

    def swap(messages):
        if asks_for(messages) != "act" or not lessons_of(messages):
            return messages
        task = task_in(messages[1].text)
        told[task] = lessons_of(messages)
        others = sorted(other for other in told if other != task)
        swapped.append(told[others[len(task) % len(others)]] if others else "")
        return with_lessons(messages, swapped[-1])

    return Between(hears=swap), swapped
