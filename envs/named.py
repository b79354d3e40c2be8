"""Tasks that a person names."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from langgraph_reflexion.errors import ConfigurationError

_Task = TypeVar("_Task", bound=Mapping[str, object])


def named_task(environment: str, tasks: Sequence[_Task], text: str) -> _Task:
    """Return the task with this id, or else with this instruction; see `Environment.find_task`.

    Raises:
        ConfigurationError: there is none, or several have the instruction.
    """
    for task in tasks:
        if task["id"] == text.strip():
            return task
    found = [task for task in tasks if _normalized(text) in _wordings(str(task["instruction"]))]
    if len(found) == 1:
        return found[0]
    problem = f"{len(found)} tasks of {environment} have the" if found else f"no task of {environment} has the id or"
    ids = ", ".join(repr(task["id"]) for task in [*(found or tasks)][:3])
    raise ConfigurationError(f"{problem} instruction {text[:200]!r}: name one by its id, such as {ids}")


def _wordings(instruction: str) -> list[str]:
    words = _normalized(instruction)
    return [words, words.partition(": ")[2] or words]  # without a label such as "Question: "


def _normalized(text: str) -> str:
    return " ".join(text.split()).casefold()
