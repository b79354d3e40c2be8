"""What a prompt about programming asks for: the problem, the last attempt at it, and what was learnt from that."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from langchain_core.messages import BaseMessage, SystemMessage

from langgraph_reflexion.demo.exercise import Case, Exercise, read_exercise
from langgraph_reflexion.demo.transcript import LESSON

Role = Literal["tests", "implement", "reflect"]

_FAILED = re.compile(r"^Tests that failed:\n(?P<tests>.*?)(?=\n\n|\n\(|\Z)", re.MULTILINE | re.DOTALL)
_FENCED = re.compile(r"^```[^\n]*\n(?P<code>.*?)^```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Assignment:
    """A prompt about programming, read.

    Attributes:
        role: Whether tests, an implementation or a reflection is asked for.
        exercise: The problem.
        code: The last implementation; empty where none is shown.
        failed: The tests that it failed, as far as the prompt says.
        lesson: The newest reflection that speaks of this function; empty where there is none.
        begun: Whether something was tried out in this trial already.
    """

    role: Role
    exercise: Exercise
    code: str
    failed: tuple[Case, ...]
    lesson: str
    begun: bool = False


def read_assignment(messages: Sequence[BaseMessage]) -> Assignment | None:
    """Read a prompt; None where it is not about programming."""
    said = [message.text for message in messages if not isinstance(message, SystemMessage)]
    exercise = read_exercise(said[0]) if said else None
    if exercise is None:
        return None
    asked = said[0]
    before, _, _ = asked.rpartition(exercise.head)
    code = _FENCED.search(before)
    named = re.compile(rf"\b{re.escape(exercise.name)}\b")
    lessons = [match["text"] for match in LESSON.finditer(asked) if named.search(match["text"])]
    role: Role = "implement"
    if asked.rstrip().endswith("Reflection:"):
        role = "reflect"
    elif asked.rstrip().endswith("Tests:"):
        role = "tests"
    failed = _FAILED.search(asked)
    return Assignment(
        role=role,
        exercise=exercise,
        code=code["code"] if code else "",
        failed=exercise.cases(failed["tests"]) if failed else (),
        lesson=lessons[-1] if lessons else "",
        begun=len(said) > 1,
    )
