"""Approval: pauses for a person at actions, verdicts and reflections (section 6 of the paper, safety)."""

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
        verdicts: Whether each verdict of the evaluator is to be approved before the loop acts on it. An edit of
            `success` and `feedback` overrules it; a rejected one has failed, with the person's message as feedback.
    """

    actions: Collection[str] = ()
    reflections: bool = False
    verdicts: bool = False

    @property
    def pauses(self) -> bool:
        """Whether a run pauses at all."""
        return bool(self.actions) or self.reflections or self.verdicts


@dataclass(frozen=True)
class Answer:
    """A person's answer: approved, rejected with a reason, or edited."""

    rejected: bool = False
    reason: str = ""
    edited: Any = None


class UnreadableEdit(ValueError):
    """What is wrong with an edit, and what it needs, in words."""


def ask_person(name: str, args: dict[str, Any], description: str, read_edit: Callable[[Any, Any], Any]) -> Answer:
    """Pause until a person has answered, in the form of LangChain's `HITLRequest`, which front ends show.

    `Command(resume={"decisions": [decision]})` answers with one decision: `{"type": "approve"}`, `{"type": "reject",
    "message": ...}` or `{"type": "edit", "edited_action": {"name": ..., "args": {...}}}`; plain `"approve"` and
    `"reject"` work as well. Unreadable answers are asked for again, with the reason before the description.

    Args:
        name: What is asked about: an action's name, `reflection` or `verdict`.
        args: The action's arguments, the reflection's `text`, or the verdict's `success` and `feedback`.
        description: What the person needs to know, in words.
        read_edit: Reads the name and the arguments of an `edited_action`. If it cannot, it returns None, or raises
            `UnreadableEdit` to say why.
    """
    problem = ""
    # Each round is a pause of its own. In the resumed node, LangGraph returns the earlier answers first, in order.
    while True:
        request = {"name": name, "args": args, "description": f"{problem}{description}"}
        config = {"action_name": name, "allowed_decisions": ["approve", "edit", "reject"]}
        # The first time this pauses the run; when it is resumed, the node runs again, and this returns the answer.
        answer = interrupt({"action_requests": [request], "review_configs": [config]})
        match answer:
            case "approve" | {"decisions": [{"type": "approve"}]}:
                return Answer()
            case "reject":
                return Answer(rejected=True)
            case {"decisions": [{"type": "reject", **rest}]}:
                message = rest.get("message") or ""
                if isinstance(message, str):
                    return Answer(rejected=True, reason=message)
                problem = f"The message of a reject must be a text. It was: {message!r:.500}\n\n"
            case {"decisions": [{"type": "edit", "edited_action": {**edited}}]}:
                why = ""
                try:
                    read = read_edit(edited.get("name"), edited.get("args"))
                except UnreadableEdit as error:
                    read = None
                    why = f" {error}"
                if read is not None:
                    return Answer(edited=read)
                problem = f"This edit cannot be read: {edited!r:.500}{why}\n\n"
            case other:
                problem = f"Answer with one decision: approve, edit or reject. It was: {other!r:.500}\n\n"
