"""The original's HotPotQA logs: trials, and for each question context, memory and steps.

A trial lists its questions in sections: those answered right, those answered wrong, and (ReAct) those that ran out of
steps. Its summary line is not read. Solved questions are listed again, unchanged, in every later trial.

A question is logged as the prompt at the end of the attempt, without its examples. So it includes what a retry was
shown of earlier attempts, at a place that depends on the agent:

* ReAct: the memory's heading is glued to the question, the reflections follow as a list, then numbered steps.
* CoT: one step without a number, then `Reflections:` with a line for each reflection or with the whole last attempt.
* CoT, whole prompts: the instruction, the last attempt up to `(END PREVIOUS TRIAL)`, the newest reflection as a list,
  and the question again.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Literal, NamedTuple

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.state import Strategy
from langgraph_reflexion.support.files import read_text
from langgraph_reflexion.support.text import count
from tests.replication.logs import gap_note, twice_note

Outcome = Literal["right", "wrong", "halted"]
"""The end of an attempt; halted is without an answer."""

_TRIAL = re.compile(r"^BEGIN TRIAL (\d{1,4})[ \t]*$", re.MULTILINE)
_SECTION = re.compile(r"^-+ BEGIN (CORRECT|INCORRECT|HALTED) AGENTS -*[ \t]*$", re.MULTILINE)
_KEY = re.compile(r"^Correct answer:(.*)$", re.MULTILINE)
_RULE = re.compile(r"^#{20,}[ \t]*$", re.MULTILINE)
_OUTCOMES: dict[str, Outcome] = {"CORRECT": "right", "INCORRECT": "wrong", "HALTED": "halted"}
_STRATEGIES = {
    "base": Strategy.RETRY,
    "last_trial": Strategy.LAST_ATTEMPT,
    "reflexion": Strategy.REFLEXION,
    "last_trial_and_reflexion": Strategy.LAST_ATTEMPT_AND_REFLEXION,
}
"""The strategies, by the names of the logs' folders."""
_END_OF_LAST_ATTEMPT = "(END PREVIOUS TRIAL)"
_MEMORY = "You have attempted to answer"
_STEP = re.compile(r"^(Thought|Action|Observation)(?: (\d+))?:[ \t]*", re.MULTILINE)
_BULLET = re.compile(r"^- ", re.MULTILINE)
_CHOOSE = "choose a *_trials.txt in hotpotqa_runs/root of the original repository"


class LoggedStep(NamedTuple):
    """A step of an attempt."""

    thought: str
    action: str
    observation: str


@dataclass(frozen=True)
class Row:
    """A question in one trial."""

    question: str
    key: str
    """The right answer."""
    context: str
    """The paragraphs before the question, if any."""
    steps: tuple[LoggedStep, ...]
    reflections: tuple[str, ...]
    """Those in the prompt, oldest first."""
    last_attempt: bool
    """Whether the attempt before was in the prompt."""
    numbered: bool
    """Whether the steps are numbered, as ReAct's are."""

    @property
    def observation(self) -> str:
        """The first observation."""
        return f"{self.context}\n\nQuestion: {self.question}".strip()

    def lesson_since(self, earlier: "Row", strategy: Strategy) -> str:
        """Return the reflection on the attempt before; empty if it is not logged.

        Beside the last attempt a prompt has the newest reflection alone, otherwise all of them. Some repeat the one
        before word for word.
        """
        if strategy.shows_last_attempt:
            return "\n".join(self.reflections)
        pairs = enumerate(zip_longest(self.reflections, earlier.reflections))
        new = next((number for number, (mine, theirs) in pairs if mine != theirs), len(self.reflections))
        return "\n".join(self.reflections[new:])


class Counts(NamedTuple):
    """Numbers of questions by outcome."""

    right: int
    wrong: int
    halted: int

    def __str__(self) -> str:
        return "/".join(map(str, self))


@dataclass
class LoggedTrial:
    """One trial of a log."""

    number: int
    rows: dict[str, tuple[Outcome, Row]] = field(default_factory=dict)

    @property
    def counts(self) -> Counts:
        """The counts of the questions that it lists, each of them once."""
        outcomes = [outcome for outcome, _ in self.rows.values()]
        return Counts(outcomes.count("right"), outcomes.count("wrong"), outcomes.count("halted"))


@dataclass(frozen=True)
class HotPotQALog:
    """A log of questions and answers."""

    path: Path
    trials: list[LoggedTrial]
    """In the order of their numbers."""
    strategy: Strategy
    notes: list[str]
    """Irregularities, and how they are counted."""

    @property
    def agent(self) -> str:
        """`react`, which numbers its steps, `cot`, or `cot-gt`, which has a context."""
        rows = [row for _, row in self._rows()]
        if any(row.numbered for row in rows):
            return "react"
        return "cot-gt" if any(row.context for row in rows) else "cot"

    @cached_property
    def questions(self) -> dict[str, Row]:
        """The questions in the order of the log, each in its first trial."""
        found: dict[str, Row] = {}
        for name, row in self._rows():
            found.setdefault(name, row)
        return found

    def solved_before(self, question: str) -> bool:
        """Return whether a log of later trials lists a question as right from its first one on, without steps."""
        outcome, row = next(trial.rows[question] for trial in self.trials if question in trial.rows)
        return outcome == "right" and not row.steps

    def attempts(self, question: str) -> list[tuple[int, Row]]:
        """Return the trials of a question that have steps: their numbers and rows."""
        listed = [(trial.number, trial.rows.get(question)) for trial in self.trials]
        return [(number, found[1]) for number, found in listed if found and found[1].steps]

    def _rows(self) -> Iterator[tuple[str, Row]]:
        for trial in self.trials:
            for question, (_, row) in trial.rows.items():
                yield question, row


def is_hotpotqa_log(path: Path) -> bool:
    """Return whether a file is a HotPotQA log, by its first lines."""
    with path.open(encoding="utf-8", errors="replace") as file:
        return bool(_TRIAL.search(file.read(1000)))


def read_log(path: Path) -> HotPotQALog:
    """Read a log from a file, or from a folder that holds one.

    Raises:
        ConfigurationError: there is no log that can be read, or more than one.
    """
    if path.is_dir():
        found = sorted(each for each in path.rglob("*.txt") if each.is_file() and is_hotpotqa_log(each))
        if len(found) != 1:
            names = ", ".join(str(each.relative_to(path)) for each in found)
            logs = f"{len(found)} logs: choose {names}" if found else f"no HotPotQA log: {_CHOOSE}"
            raise ConfigurationError(f"{path} holds {logs}")
        path = found[0]
    trials: dict[int, LoggedTrial] = {}
    notes: list[str] = []
    for number, body in _parts(_TRIAL, _RULE.sub("", read_text(path).replace("\r\n", "\n"))):
        trial = trials.setdefault(int(number), LoggedTrial(int(number)))
        notes += [f"trial {number}: {note}" for note in _read_rows(trial, body)]
    rows = [row for trial in trials.values() for _, row in trial.rows.values()]
    if not rows:
        raise ConfigurationError(f"{path} lists no question, so it is no HotPotQA log: {_CHOOSE}")
    log = HotPotQALog(path, [trials[number] for number in sorted(trials)], strategy_of(path, rows), notes)
    notes += gap_note(trials)
    for trial in log.trials:
        notes += [f"trial {trial.number}: {note}" for note in _irregular(trial, len(log.questions))]
    return log


def _read_rows(trial: LoggedTrial, body: str) -> Iterator[str]:
    """Add the questions in a part of the log to a trial; yield notes."""
    again = 0
    for section, listed in _parts(_SECTION, body):
        *rows, rest = _KEY.split(listed)
        for text, key in zip(rows[::2], rows[1::2], strict=True):
            row = read_row(text, key)
            if row is None:
                yield "an entry cannot be read, and is left out"
            elif (question := key_of(row.question)) in trial.rows:
                again += 1
            else:
                trial.rows[question] = _OUTCOMES[section], row
        if rest.strip():
            yield "the last question of a section is cut off, and is left out"
    yield from twice_note("question", again)


def _irregular(trial: LoggedTrial, questions: int) -> Iterator[str]:
    """Yield notes on a trial that lacks questions or steps."""
    if absent := questions - len(trial.rows):
        yield f"{count(absent, 'question')} of other trials missing: unless solved before, not counted"
    if empty := sum(not row.steps for _, row in trial.rows.values()):
        yield f"{count(empty, 'question')} listed without steps: counted only if solved"


def strategy_of(path: Path, rows: Sequence[Row]) -> Strategy:
    """Return the strategy by the name of the log's folder (`reflexion`, `reflexion_gpt-4`), or else by its rows."""
    if strategy := _STRATEGIES.get(path.parent.name.partition("_gpt")[0]):
        return strategy
    reflects = any(row.reflections for row in rows)
    if any(row.last_attempt for row in rows):
        return Strategy.LAST_ATTEMPT_AND_REFLEXION if reflects else Strategy.LAST_ATTEMPT
    return Strategy.REFLEXION if reflects else Strategy.RETRY


def _parts(mark: re.Pattern[str], text: str) -> Iterator[tuple[str, str]]:
    """Split a text at marks: yield each mark's word with the text after it."""
    _, *parts = mark.split(text)
    return zip(parts[::2], parts[1::2], strict=True)


def key_of(question: str) -> str:
    """Return a question with single blanks, as the log varies them."""
    return " ".join(question.split())


def read_row(text: str, key: str) -> Row | None:
    """Read a question from the text before its right answer (the key); None if the text has no question."""
    _, last_attempt, text = text.rpartition(_END_OF_LAST_ATTEMPT)
    steps = list(_STEP.finditer(text))
    head, done = (text[: steps[0].start()], text[steps[0].start() :]) if steps else (text, "")
    opening, asked, question = f"\n{head}".rpartition("\nQuestion:")
    if not asked:  # it may follow its context on the same line
        opening, asked, question = head.rpartition(" Question:")
    if not asked:
        return None
    question, _, memory = question.partition("\n")
    question, glued, _ = question.partition(_MEMORY)
    numbered = bool(glued) or any(step[2] for step in steps)
    found = re.search(r"^(?:Relevant )?Context:", opening, re.MULTILINE)
    shown, context = (opening[: found.start()], opening[found.end() :].strip()) if found else (opening, "")
    reflections = (*_bullets(shown), *_bullets(memory))
    if not numbered:
        # Only for CoT: a page that ReAct reads may have such a line.
        done, _, behind = done.partition("\nReflections:")
        if _STEP.match(behind.strip()):
            last_attempt = behind
        elif behind.strip():
            lines = [" ".join(line.split()) for line in behind.splitlines() if line.strip()]
            reflections = _bullets(f"Reflections:{behind}") or tuple(lines)
    return Row(question.strip(), key.strip(), context, _steps(done), reflections, bool(last_attempt), numbered)


def _bullets(text: str) -> tuple[str, ...]:
    _, _, listed = text.partition("Reflections:")
    return tuple(" ".join(bullet.split()) for bullet in _BULLET.split(listed)[1:] if bullet.strip())


def _steps(done: str) -> tuple[LoggedStep, ...]:
    steps: list[LoggedStep] = []
    part: dict[str, str] = {}

    def step() -> LoggedStep:
        return LoggedStep(*(part.get(name, "") for name in ("Thought", "Action", "Observation")))

    for name, text in _said(done):
        if name in part or (name == "Thought" and part):
            steps.append(step())
            part = {}
        part[name] = text
    return (*steps, step()) if "Action" in part else tuple(steps)


def _said(done: str) -> list[tuple[str, str]]:
    """Return thoughts, actions and observations in order. A line of a page that looks like one has another number."""
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
