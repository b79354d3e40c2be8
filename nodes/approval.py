"""Approval: pauses for a person before an action and after a reflection (section 6 of the paper, safety)."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from langgraph.types import interrupt

from langgraph_reflexion.errors import checked


@checked
@dataclass(frozen=True)
class Approval:
    """Where a run pauses for a person, before any effect or cost, so that approving repeats nothing.

    Attributes:
        actions: The names of the actions to approve.
        reflections: Whether each reflection is to be approved before the next trial sees it.
    """

    actions: Collection[str] = ()
    reflections: bool = False


@dataclass(frozen=True)
class Answer:
    """A person's answer: rejected for a reason, edited (None leaves it as it was), or approved."""

    rejected: bool = False
    reason: str = ""
    edited: Any = None


def ask_person(request: dict[str, Any], read_edit: Callable[[Any], Any]) -> Answer:
    """Pause until a person has answered with `Command(resume=...)`.

    The answer is `{"decision": "approve"}`, `{"decision": "edit", "edit": ...}`, which `read_edit` reads or returns
    None, or `{"decision": "reject", "reason": ...}`; plain words work as well. One that cannot be read is asked for
    again, with an `error` that says why.
    """
    error = ""
    while True:
        answer = interrupt(request | {"answers": ["approve", "edit", "reject"]} | ({"error": error} if error else {}))
        given = answer if isinstance(answer, dict) else {"decision": answer}
        match given.get("decision"):
            case "approve":
                return Answer()
            case "reject":
                return Answer(rejected=True, reason=str(given.get("reason") or ""))
            case "edit" if (edited := read_edit(given.get("edit"))) is not None:
                return Answer(edited=edited)
            case "edit":
                error = f"this edit cannot be read: {given.get('edit')!r}"
            case other:
                error = f"the decision is one of approve, edit and reject; got {other!r}"
