"""A person in the loop: pauses before an action and after a reflection (section 6 of the paper, safety).

A pause stands at the entrance of a node, before anything with an effect or a cost, and shows what is in the state.
So what the person saw is what happens, and approving repeats no model call and no environment step.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.types import interrupt

from langgraph_reflexion._langgraph import CHECKPOINTER
from langgraph_reflexion.errors import ConfigurationError


@dataclass(frozen=True)
class Approval:
    """What a person said, read.

    Attributes:
        rejected: Whether it must not happen.
        reason: Why, in their words.
        edited: What is to happen instead; None where it stays as it was.
    """

    rejected: bool = False
    reason: str = ""
    edited: Any = None


def require_checkpointer(config: RunnableConfig) -> None:
    """Refuse to begin a run that could not be resumed from its first pause.

    Raises:
        ConfigurationError: the graph was compiled without a checkpointer.
    """
    if not config.get("configurable", {}).get(CHECKPOINTER):
        raise ConfigurationError(
            "pauses for approval need a checkpointer to resume from: create_reflexion(...).compile(checkpointer=...)"
        )


def ask_person(request: dict[str, Any], read_edit: Callable[[Any], Any]) -> Approval:
    """Pause until a person has answered.

    The answer, given with `Command(resume=...)`, is `{"decision": "approve"}`, `{"decision": "edit", "edit": ...}`,
    or `{"decision": "reject", "reason": ...}`; the plain words `approve` and `reject` do as well. An answer that
    cannot be read is asked for again, with what was wrong as `error`.

    Args:
        request: What the person is shown.
        read_edit: Makes what is to happen of the edit; says None where it cannot.
    """
    error = ""
    while True:
        answer = interrupt(request | {"answers": ["approve", "edit", "reject"]} | ({"error": error} if error else {}))
        given = answer if isinstance(answer, dict) else {"decision": answer}
        match given.get("decision"):
            case "approve":
                return Approval()
            case "reject":
                return Approval(rejected=True, reason=str(given.get("reason") or ""))
            case "edit" if (edited := read_edit(given.get("edit"))) is not None:
                return Approval(edited=edited)
            case "edit":
                error = f"this edit cannot be read: {given.get('edit')!r}"
            case other:
                error = f"the decision is one of approve, edit and reject; got {other!r}"
