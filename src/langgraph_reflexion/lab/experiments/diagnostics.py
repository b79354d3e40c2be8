"""Diagnostics of a run: signs of reflections that do not help, and what the next trials made of them.

They are counted over the gradable tasks of a run folder, and need no model.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from langgraph_reflexion.lab.experiments.groundedness import specific_words, what_was_seen
from langgraph_reflexion.lab.experiments.metrics import solved_or_accepted
from langgraph_reflexion.lab.experiments.rows import TrialRow
from langgraph_reflexion.lab.experiments.run_files import answer_in
from langgraph_reflexion.lab.experiments.runs import Run
from langgraph_reflexion.models.recorded import REJECTED, SAMPLED_AGAIN
from langgraph_reflexion.support.copies import digest_of, repeats

GROUNDED = 0.5
"""A reflection is grounded if it has specific words and at least this share of them was seen."""

NO_STEPS = "the steps of trials are not recorded"
NO_RESULTS = "the answers of trials are not recorded"


@dataclass
class Sign:
    """How many trials show a sign, and how many of the trials right after them solved their task."""

    found: int = 0
    of: int = 0
    """N trials that could show it."""
    solved_after: int = 0
    tried_after: int = 0
    """N trials that followed one with the sign, without those ended by a fault."""
    solved_otherwise: int = 0
    tried_otherwise: int = 0
    """N trials that followed one without it, likewise."""

    def count(self, shown: bool, following: TrialRow | None) -> None:
        """Count a trial that shows the sign or not, and the task's next trial, if there is one."""
        self.of += 1
        self.found += shown
        if following is None or following["fault"]:
            return
        solved = solved_or_accepted(following)
        if shown:
            self.tried_after += 1
            self.solved_after += solved
        else:
            self.tried_otherwise += 1
            self.solved_otherwise += solved


@dataclass
class Diagnostics:
    """The signs of a run, or of several. A run has no trial for some of them: a baseline has no reflections."""

    repeated: Sign = field(default_factory=Sign)
    """Reflections that repeat an earlier one on the task (`support.copies.repeats`); of those with an earlier one."""
    grounded: Sign = field(default_factory=Sign)
    """Reflections of whose specific words at least half were seen; of all."""
    asked_again: Sign = field(default_factory=Sign)
    """Trials whose first reflection was rejected, so that the model was asked again; of those reflected on."""
    same_answer: Sign = field(default_factory=Sign)
    """Trials in which an agent handed in an answer to the task again; of those after its first answer."""
    sampled_again: Sign = field(default_factory=Sign)
    """Trials whose answer had been rejected before, so that it was sampled again; of those after a task's first one,
    in runs that sample answers again."""
    words: int = 0
    """N specific words of all reflections, each counted once for a reflection."""
    words_seen: int = 0
    """N of them that were seen."""
    left_out: dict[str, str] = field(default_factory=dict)
    """Signs that cannot be counted in some run, and why."""

    def signs(self) -> dict[str, Sign]:
        """Return the signs that can be counted, by name."""
        every = {
            "repeated": self.repeated,
            "grounded": self.grounded,
            "asked_again": self.asked_again,
            "same_answer": self.same_answer,
            "sampled_again": self.sampled_again,
        }
        return {name: sign for name, sign in every.items() if name not in self.left_out}

    def as_json(self) -> dict[str, Any]:
        shown: dict[str, Any] = {name: vars(sign) for name, sign in self.signs().items()}
        if "grounded" not in self.left_out:
            shown["specific_words"] = {"seen": self.words_seen, "of": self.words}
        shown["left_out"] = self.left_out
        return shown


def diagnose(runs: Iterable[Run]) -> Diagnostics:
    """Return the diagnostics of some runs together. Reads their trials again, with what happened in them.

    Raises:
        ConfigurationError: the trials of a run can no longer be read.
    """
    found = Diagnostics()
    for run in runs:
        _count_run(found, run)
    return found


def _count_run(found: Diagnostics, run: Run) -> None:
    """Count what the trials of a run show."""
    of_agent = run.settings.get("actor") == "agent"
    for task, rows in run.gradable.items():
        if run.settings.get("rejects_answers"):
            _count_samples(found, rows)
        # Their trajectories are large, and nothing of a baseline's is counted.
        if not of_agent and not any(_is_reflected_on(row) for row in rows):
            continue
        trials = run.whole_trials(task)
        goal = run.goals.get(task, "")
        _count_reflections(found, trials, goal)
        if of_agent:
            _count_answers(found, trials)


def _count_reflections(found: Diagnostics, trials: Sequence[TrialRow], goal: str) -> None:
    """Count what the reflections on a task show."""
    earlier: list[str] = []
    for index, row in enumerate(trials):
        if not _is_reflected_on(row):
            continue
        following = _next(trials, index)
        found.asked_again.count(_was_rejected(row), following)
        note = row["reflection"]
        if not note:
            continue
        if earlier:
            found.repeated.count(repeats(note, earlier), following)
        earlier.append(note)
        # Of an imported log neither is known.
        if not row.get("steps") and not row.get("observation"):
            found.left_out["grounded"] = NO_STEPS
            continue
        seen, words = specific_words(note, what_was_seen(row, goal))
        found.words_seen += seen
        found.words += words
        is_grounded = words > 0 and seen >= GROUNDED * words
        found.grounded.count(is_grounded, following)


def _count_samples(found: Diagnostics, trials: Sequence[TrialRow]) -> None:
    """Count in which trials of a task an answer was sampled again."""
    for index, row in enumerate(trials):
        # Before the first trial nothing was rejected.
        if index > 0:
            again = any(note.startswith(SAMPLED_AGAIN) for note in row["notes"])
            found.sampled_again.count(again, _next(trials, index))


def _count_answers(found: Diagnostics, trials: Sequence[TrialRow]) -> None:
    """Count which answers to a task an agent handed in again."""
    earlier: set[str] = set()
    for index, row in enumerate(trials):
        if "result" not in row and row["stop_reason"] == "terminated":
            found.left_out["same_answer"] = NO_RESULTS
        answer = answer_in(row)
        if not answer:
            continue
        digest = digest_of(answer)
        if earlier:
            found.same_answer.count(digest in earlier, _next(trials, index))
        earlier.add(digest)


def _next(trials: Sequence[TrialRow], index: int) -> TrialRow | None:
    """Return the trial after one; None after the last."""
    if index + 1 == len(trials):
        return None
    return trials[index + 1]


def _is_reflected_on(row: TrialRow) -> bool:
    """Return whether a reflection on a trial was written, be it one that was rejected."""
    return bool(row["reflection"]) or _was_rejected(row)


def _was_rejected(row: TrialRow) -> bool:
    """Return whether a first reflection on a trial was useless."""
    return any(note.startswith(REJECTED) for note in row["notes"])
