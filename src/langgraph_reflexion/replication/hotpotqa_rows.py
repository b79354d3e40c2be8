"""What an original HotPotQA log says of one question: context, memory, steps.

It is the prompt as it stood at the end of the attempt, without its examples; so what a retry was shown of earlier
attempts is in it, too, and where that stands depends on the agent:

* ReAct: the memory's heading is glued to the question, the reflections follow as a list, then come numbered steps.
* CoT: one step without numbers. Behind it `Reflections:` with the reflections, or with the whole last attempt.
* CoT, prompts in full: the instruction, the last attempt up to `(END PREVIOUS TRIAL)`, the reflections as a list, and
  then the question once more.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

_END_OF_LAST_ATTEMPT = "(END PREVIOUS TRIAL)"
_MEMORY = "You have attempted to answer"
_STEP = re.compile(r"^(Thought|Action|Observation)(?: (\d+))?:[ \t]*", re.MULTILINE)
_BULLET = re.compile(r"^- ", re.MULTILINE)


@dataclass(frozen=True)
class LoggedStep:
    """A step of an attempt."""

    thought: str
    action: str
    observation: str


@dataclass(frozen=True)
class Row:
    """What is logged on one question in one trial.

    Attributes:
        question: What is asked.
        key: The right answer.
        context: The paragraphs that stood before the question; empty where there were none.
        steps: What was done; empty where the log does not say.
        reflections: What the attempt was shown of earlier lessons, oldest first.
        last_attempt: Whether it was shown the attempt before.
        numbered: Whether its steps are numbered, as ReAct's are.
    """

    question: str
    key: str
    context: str
    steps: tuple[LoggedStep, ...]
    reflections: tuple[str, ...]
    last_attempt: bool
    numbered: bool

    @property
    def observation(self) -> str:
        """What the attempt saw first."""
        return f"{self.context}\n\nQuestion: {self.question}".strip()

    def lesson_since(self, earlier: "Row") -> str:
        """The reflection on an earlier attempt: what this one was shown and that one was not. Empty if not logged."""
        return "\n".join(text for text in self.reflections if text not in earlier.reflections)


def agent_of(rows: Sequence[Row]) -> str:
    """Which agent made these attempts: `react`, which numbers its steps, `cot`, or with a context `cot-gt`."""
    if any(row.numbered for row in rows):
        return "react"
    return "cot-gt" if any(row.context for row in rows) else "cot"


def key_of(question: str) -> str:
    """What tells questions apart: the log is not strict with blanks."""
    return " ".join(question.split())


def read_row(told: str, key: str) -> Row | None:
    """Read what is told of a question.

    Args:
        told: All that stands before the line with the right answer.
        key: The right answer.

    Returns:
        The row; None where no question is told of.
    """
    _, last_attempt, told = told.rpartition(_END_OF_LAST_ATTEMPT)
    steps = list(_STEP.finditer(told))
    head, done = (told[: steps[0].start()], told[steps[0].start() :]) if steps else (told, "")
    opening, asked, question = _at_question(head)
    if not asked:
        return None
    question, _, memory = question.partition("\n")
    question, glued, _ = question.partition(_MEMORY)
    numbered = bool(glued) or any(step[2] for step in steps)
    shown, context = _at_context(opening)
    reflections = (*_bullets(shown), *_bullets(memory))
    if not numbered:
        # Only here: in what a page says, such a line may stand as well.
        done, _, behind = done.partition("\nReflections:")
        if _STEP.match(behind.strip()):
            last_attempt = behind
        elif behind.strip():
            reflections = _bullets(f"Reflections:{behind}") or (" ".join(behind.split()),)
    return Row(question.strip(), key.strip(), context, _steps(done), reflections, bool(last_attempt), numbered)


def _at_question(head: str) -> tuple[str, str, str]:
    """What stands before the question, its mark, and the rest. It may follow its context on the same line."""
    before, asked, question = f"\n{head}".rpartition("\nQuestion:")
    return (before, asked, question) if asked else head.rpartition(" Question:")


def _at_context(opening: str) -> tuple[str, str]:
    """What stands before the context, and the context."""
    found = re.search(r"^(?:Relevant )?Context:", opening, re.MULTILINE)
    return (opening[: found.start()], opening[found.end() :].strip()) if found else (opening, "")


def _bullets(text: str) -> tuple[str, ...]:
    _, _, listed = text.partition("Reflections:")
    return tuple(" ".join(bullet.split()) for bullet in _BULLET.split(listed)[1:] if bullet.strip())


def _steps(done: str) -> tuple[LoggedStep, ...]:
    steps: list[LoggedStep] = []
    part: dict[str, str] = {}
    for name, said in _said(done):
        if name in part or (name == "Thought" and part):
            steps.append(_step(part))
            part = {}
        part[name] = said
    return (*steps, _step(part)) if "Action" in part else tuple(steps)


def _said(done: str) -> list[tuple[str, str]]:
    """Thoughts, actions and observations in order. A line of a page that looks like one has another number."""
    marks: list[re.Match[str]] = []
    number = 1
    for mark in _STEP.finditer(done):
        if mark[2] is None and marks and marks[0][2]:
            continue
        if mark[2]:
            if marks and int(mark[2]) - number not in (0, 1):
                continue
            number = int(mark[2])
        marks.append(mark)
    ends = [mark.start() for mark in marks[1:]]
    return [(mark[1], done[mark.end() : end].strip()) for mark, end in zip_longest(marks, ends)]


def _step(part: dict[str, str]) -> LoggedStep:
    return LoggedStep(part.get("Thought", ""), part.get("Action", ""), part.get("Observation", ""))
