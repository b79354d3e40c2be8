"""The original repository's HotPotQA logs: trials, and in each of them the questions with what was done.

A trial begins with a summary line, and lists its questions in sections: those that were answered right, those that
were answered wrong, and (ReAct) those that ran out of steps. Questions that were solved are listed again, unchanged,
in every later trial. `replication.hotpotqa_rows` reads what stands on a single question.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.replication.hotpotqa_rows import Row, agent_of, key_of, read_row
from langgraph_reflexion.replication.logged import some, twice_notes
from langgraph_reflexion.replication.text import read_text
from langgraph_reflexion.state import Strategy

Outcome = Literal["right", "wrong", "halted"]
"""How an attempt ended: halted is without an answer."""

_TRIAL = re.compile(r"^BEGIN TRIAL (\d{1,4})[ \t]*$", re.MULTILINE)
_SUMMARY = re.compile(
    r"^Trial summary: Correct: (\d{1,6}), Incorrect: (\d{1,6})(?:, Halted: (\d{1,6}))?", re.MULTILINE
)
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
"""What the folders of the logs are called."""


class Counts(NamedTuple):
    """How the questions of a trial stand after it."""

    right: int
    wrong: int
    halted: int

    @property
    def total(self) -> int:
        """How many questions that is."""
        return sum(self)

    def __str__(self) -> str:
        return "/".join(map(str, self))


@dataclass
class LoggedTrial:
    """One trial as it is logged.

    Attributes:
        number: What the log calls it.
        summary: The counts of its summary line; None where there is none.
        rows: What it says of a question, and in which section, by the question.
    """

    number: int
    summary: Counts | None = None
    rows: dict[str, tuple[Outcome, Row]] = field(default_factory=dict)

    @property
    def listed(self) -> Counts:
        """The counts of the questions that it lists, each of them once."""
        outcomes = [outcome for outcome, _ in self.rows.values()]
        return Counts(outcomes.count("right"), outcomes.count("wrong"), outcomes.count("halted"))

    @property
    def counts(self) -> Counts:
        """The counts that the log states: its summary's, unless the trial lists more questions than that counts."""
        return self.summary if self.summary and self.summary.total >= self.listed.total else self.listed


@dataclass(frozen=True)
class HotPotQALog:
    """A log of questions and answers.

    Attributes:
        path: The file.
        trials: In the order of their numbers.
        strategy: What a retry got to see.
        notes: What is irregular about it, and how that is counted; a line for each.
    """

    path: Path
    trials: list[LoggedTrial]
    strategy: Strategy
    notes: list[str]

    @property
    def agent(self) -> str:
        """Which agent it is of: `react`, which searches pages, or `cot` and `cot-gt`, which answer in one step."""
        return agent_of([row for _, row in self._rows()])

    @property
    def react(self) -> bool:
        """Whether pages were searched."""
        return self.agent == "react"

    @property
    def with_context(self) -> bool:
        """Whether the paragraphs that answer a question stood before it."""
        return any(row.context for _, row in self._rows())

    @cached_property
    def questions(self) -> dict[str, Row]:
        """The questions in the order of the log, each as it stands first."""
        found: dict[str, Row] = {}
        for name, row in self._rows():
            found.setdefault(name, row)
        return found

    def attempts(self, question: str) -> list[tuple[int, Row]]:
        """What was tried on a question: trial numbers and rows. A trial that does not say is left out."""
        listed = [(trial.number, trial.rows.get(question)) for trial in self.trials]
        return [(number, found[1]) for number, found in listed if found and found[1].steps]

    def _rows(self) -> Iterator[tuple[str, Row]]:
        for trial in self.trials:
            for question, (_, row) in trial.rows.items():
                yield question, row


def read_log(path: Path) -> HotPotQALog:
    """Read a log.

    Args:
        path: The file, or a folder that holds one.

    Raises:
        ConfigurationError: there is none, or not one alone.
    """
    path = _file(path)
    text, notes = read_text(path)
    trials: dict[int, LoggedTrial] = {}
    if not text.endswith("\n"):
        notes.append("the last line does not end: the log may be cut off there")
    before, parts = _parts(_TRIAL, _RULE.sub("", text))
    if before.strip():
        notes.append("what stands before the first trial is left out")
    for number, body in parts:
        again = int(number) in trials
        trial = trials.setdefault(int(number), LoggedTrial(int(number)))
        if again:
            notes.append(f"trial {number}: it is in the log more than once")
        if trial.summary is None and (summary := _SUMMARY.search(body)):
            trial.summary = Counts(*(int(count or 0) for count in summary.groups()))
        notes += [f"trial {number}: {note}" for note in _read_rows(trial, body)]
    if not any(trial.rows for trial in trials.values()):
        raise ConfigurationError(f"{path} is no HotPotQA log of the original repository: it lists no question")
    rows = [row for trial in trials.values() for _, row in trial.rows.values()]
    log = HotPotQALog(path, [trials[number] for number in sorted(trials)], strategy_of(path, rows), notes)
    notes += _irregular(log)
    return log


def _read_rows(trial: LoggedTrial, body: str) -> Iterator[str]:
    """Take over the questions of a trial. What is odd about them is said."""
    again = differing = 0
    before, parts = _parts(_SECTION, body)
    if _SUMMARY.sub("", before).strip():
        yield "what stands before the first section is left out"
    for section, listed in parts:
        *rows, rest = _KEY.split(listed)
        for told, key in zip(rows[::2], rows[1::2], strict=True):
            row = read_row(told, key)
            if row is None:
                yield "what stands before a right answer is no question, and is left out"
            elif (question := key_of(row.question)) in trial.rows:
                again += 1
                differing += trial.rows[question][1] != row
            else:
                trial.rows[question] = _OUTCOMES[section], row
        if rest.strip():
            yield "the last question of a section is cut off in the middle, and is left out"
    yield from twice_notes("question", again, differing)


def _irregular(log: HotPotQALog) -> Iterator[str]:
    """What is irregular between trials, or between the summaries and the questions."""
    questions = log.questions
    for trial in log.trials:
        where, listed, summary = f"trial {trial.number}", trial.listed, trial.summary
        if summary is None:
            yield f"{where}: no summary line, so the questions listed are counted"
        elif listed.total > summary.total:
            yield (
                f"{where}: its summary line says {summary}, which makes {summary.total} of the {listed.total} "
                f"questions listed: these are counted, {listed}"
            )
        elif listed.total < summary.total:
            missing = summary.total - listed.total
            yield f"{where}: its summary line counts {_questions(missing)} not listed, and not replayed"
        elif listed != summary:
            yield f"{where}: its summary line says {summary}, and its sections hold {listed}: the summary is logged"
        absent = len(questions) - max(listed.total, summary.total if summary else 0)
        if absent > 0:
            yield f"{where}: {_questions(absent)} of other trials missing: unless solved before, not counted"
        if empty := sum(not row.steps for _, row in trial.rows.values()):
            yield f"{where}: {_questions(empty)} listed without what was done: unless solved before, not counted"
        if keys := sum(row.key != questions[name].key for name, (_, row) in trial.rows.items()):
            yield f"{where}: {_questions(keys)} listed with another right answer than before: the first one is taken"
    numbers = [trial.number for trial in log.trials]
    if gaps := sorted({*range(numbers[0], numbers[-1])} - {*numbers}):
        yield f"no trial {some(gaps)}"


def strategy_of(path: Path, rows: Sequence[Row]) -> Strategy:
    """What a retry saw: as the log's folder is called (`reflexion`, `reflexion_gpt-4`), or else as its rows show."""
    if strategy := _STRATEGIES.get(path.parent.name.partition("_gpt")[0]):
        return strategy
    reflects = any(row.reflections for row in rows)
    if any(row.last_attempt for row in rows):
        return Strategy.LAST_ATTEMPT_AND_REFLEXION if reflects else Strategy.LAST_ATTEMPT
    return Strategy.REFLEXION if reflects else Strategy.RETRY


def _file(path: Path) -> Path:
    if not path.is_dir():
        return path
    found = sorted(each for each in path.rglob("*.txt") if _TRIAL.search(_opening(each)))
    if len(found) == 1:
        return found[0]
    names = ", ".join(str(each.relative_to(path)) for each in found)
    raise ConfigurationError(f"{path} holds {f'{len(found)} logs: choose {names}' if found else 'no HotPotQA log'}")


def _opening(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(1000)
    except OSError:
        return ""


def _parts(mark: re.Pattern[str], text: str) -> tuple[str, Iterator[tuple[str, str]]]:
    """The text before a mark stands first; then what each mark says, with the text from there to the next one."""
    before, *parts = mark.split(text)
    return before, zip(parts[::2], parts[1::2], strict=True)


def _questions(count: int) -> str:
    return f"{count} question{'s' if count > 1 else ''}"
