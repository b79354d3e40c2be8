"""Comparisons of two groups of runs, task by task, at equal trials and at equal tokens.

A strategy that solves more tasks in as many trials may only have asked the model more often. So two groups of runs
are also compared at the tokens that the cheaper one has spent: all tasks advance together (the first trial of every
task, then the second ones) until the tokens are used up.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph_reflexion.lab.experiments.groups import RunGroup, TaskSeed
from langgraph_reflexion.lab.experiments.metrics import final_answer, tokens
from langgraph_reflexion.lab.experiments.rows import TrialRow
from langgraph_reflexion.lab.experiments.statistics import SignTest, format_p, sign_test
from langgraph_reflexion.support.text import count

Trials = Mapping[TaskSeed, Sequence[TrialRow]]


@dataclass(frozen=True)
class Match:
    """Two groups compared at an equal amount of trials or tokens."""

    equal: str
    amount: int
    """N trials of each task, or N tokens of all tasks together."""
    solved: tuple[int, int]
    """N tasks that each group has solved."""
    of: int
    """N tasks, counted once for each seed."""
    test: SignTest

    @property
    def lead(self) -> int:
        """1 if the first group solves more tasks, -1 if the second one does, otherwise 0."""
        first, second = self.solved
        if first > second:
            return 1
        if first < second:
            return -1
        return 0

    @property
    def certainty(self) -> str:
        """A clause on the significance of the lead; empty without a lead."""
        if not self.lead:
            return ""
        p = f"p = {format_p(self.test.p)}"
        if self.test.p < 0.001:
            p = f"p {format_p(self.test.p)}"
        numbers = f"({p}, {count(self.test.tasks, 'task')})"
        if not self.test.significant:
            return f", but not significantly {numbers}"
        # With several seeds a group may solve more in total, and yet be worse on more tasks.
        behind = self.lead * (self.test.wins - self.test.losses) <= 0
        if behind:
            return f", but on fewer tasks {numbers}"
        return f" {numbers}"

    def as_json(self) -> dict[str, Any]:
        test = {"only": [self.test.wins, self.test.losses], "p": self.test.p}
        return {"amount": self.amount, "solved": list(self.solved), "of": self.of, **test}


@dataclass(frozen=True)
class Pair:
    """Two groups of runs, compared."""

    one: RunGroup
    other: RunGroup
    left_out: int = 0
    """Number of common tasks that are not compared because of a fault or an unknown truth."""
    matches: tuple[Match, ...] = ()
    """The comparisons at equal trials and at equal tokens."""
    notes: tuple[str, ...] = ()
    """What could not be compared, and why."""

    @property
    def conclusion(self) -> str:
        """Which group is ahead at what, in one sentence; empty without a match."""
        names = {1: f"{self.one.label} is ahead", -1: f"{self.other.label} is ahead", 0: "they are level"}
        clauses: dict[tuple[str, str], list[str]] = defaultdict(list)
        for match in self.matches:
            clauses[names[match.lead], match.certainty].append(match.equal)
        said = []
        for (who, certainty), equal in clauses.items():
            what = " and ".join(equal)
            said.append(f"{who} at equal {what}{certainty}")
        sentence = "; ".join(said)
        if not sentence:
            return ""
        return f"{sentence[0].upper()}{sentence[1:]}."

    def as_json(self) -> dict[str, Any]:
        return {
            "groups": [self.one.label, self.other.label],
            "left_out": self.left_out,
            **{f"equal_{match.equal}": match.as_json() for match in self.matches},
            "conclusion": self.conclusion,
            "notes": list(self.notes),
        }


def pair(one: RunGroup, other: RunGroup) -> Pair:
    """Compare two groups on the tasks that both have under the same seed.

    If one of them recalled lessons, only tasks count from which none had been learned when its run began.
    """
    names = f"{one.name} and {other.name}"
    mine = one.trials()
    theirs = other.trials()
    why = _incomparable(one, other, mine, theirs)
    if why:
        return Pair(one, other, notes=(f"{names} cannot be paired: {why}.",))
    notes = _notes_on_ends(one, other)
    common = [task for task in mine if task in theirs]
    if len(common) < max(len(mine), len(theirs)):
        alone = f"{len(mine) - len(common)} only {one.name}, {len(theirs) - len(common)} only {other.name}"
        notes.append(f"{names} are compared on the {count(len(common), 'task')} that both have ({alone}).")
    if _recalls(one) or _recalls(other):
        seen = one.seen() | other.seen()
        unseen = [task for task in common if task not in seen]
        notes.append(f"{names}: {len(unseen)} of {count(len(common), 'task')} had no lessons of their own.")
        common = unseen
    known = [task for task in common if _known(mine[task]) and _known(theirs[task])]
    left_out = len(common) - len(known)
    if left_out:
        notes.append(f"{names}: {count(left_out, 'task')} left out because of a fault or an unknown truth.")
    if not known:
        return Pair(one, other, left_out, notes=tuple(notes))
    first = {task: mine[task] for task in known}
    second = {task: theirs[task] for task in known}
    trials = min(len(one.report.solved), len(other.report.solved))
    matches = [_match("trials", trials, _within(first, trials), _within(second, trials))]
    if one.report.costs["cached_calls"] or other.report.costs["cached_calls"]:
        notes.append(f"{names} are not compared at equal tokens: cached answers cost none.")
    elif not _spent(first) or not _spent(second):
        notes.append(f"{names} are not compared at equal tokens: no tokens were counted.")
    else:
        amount = min(_spent(first), _spent(second))
        matches.append(_match("tokens", amount, _affordable(first, amount), _affordable(second, amount)))
    return Pair(one, other, left_out, tuple(matches), tuple(notes))


def _notes_on_ends(one: RunGroup, other: RunGroup) -> list[str]:
    """Return notes on groups that have not played all trials."""
    both = (one, other)
    unfinished = [each.name for each in both if each.report.unfinished]
    stopped = [each.name for each in both if each.report.stopped]
    notes = [f"{name} is unfinished: missing trials solve nothing." for name in unfinished]
    notes += [
        f"{name} ended after a trial that solved nothing new: later ones count as solving none." for name in stopped
    ]
    return notes


def _recalls(group: RunGroup) -> bool:
    """Return whether a group recalled lessons."""
    return bool(group.settings.get("lessons") and group.settings["recall"])


def _match(equal: str, amount: int, first: Trials, second: Trials) -> Match:
    """Return two groups compared by the trials that an equal amount allows."""
    solved = {task: _solved(rows) for task, rows in first.items()}
    others = {task: _solved(rows) for task, rows in second.items()}
    # A task under several seeds has one vote.
    votes: dict[str, int] = defaultdict(int)
    for (task, seed), won in solved.items():
        votes[task] += won - others[task, seed]
    both = (sum(solved.values()), sum(others.values()))
    return Match(equal, amount, both, len(solved), sign_test(list(votes.values())))


def _within(trials: Trials, most: int) -> Trials:
    """Return the first trials of each task, up to a number."""
    return {task: [row for row in rows if row["trial"] <= most] for task, rows in trials.items()}


def _solved(rows: Sequence[TrialRow]) -> bool:
    """Return whether a task is solved after these trials."""
    return bool(rows and final_answer(rows)["success"])


def _known(rows: Sequence[TrialRow]) -> bool:
    """Return whether a task's outcome is known: a right answer, or wrong ones without a fault."""
    if not rows:
        return False
    success = final_answer(rows)["success"]
    if rows[-1]["fault"]:
        return success is True
    return success is not None


def _affordable(trials: Trials, amount: int) -> Trials:
    """Return the trials that an amount of tokens pays for, all tasks advancing together."""
    paid: dict[TaskSeed, list[TrialRow]] = {task: [] for task in trials}
    played: list[tuple[TaskSeed, TrialRow]] = []
    for task, rows in trials.items():
        played += [(task, row) for row in rows]
    played.sort(key=lambda each: each[1]["trial"])
    for task, row in played:
        amount -= tokens(row)
        if amount < 0:
            break
        paid[task].append(row)
    return paid


def _spent(trials: Trials) -> int:
    """Return the tokens that some trials have spent."""
    return sum(sum(map(tokens, rows)) for rows in trials.values())


def _incomparable(one: RunGroup, other: RunGroup, mine: Trials, theirs: Trials) -> str:
    """Return why two groups cannot be paired; empty if they can."""
    if _origin(one) != _origin(other):
        return f"their tasks differ ({one.facts['tasks']} and {other.facts['tasks']})"
    if any(task in theirs for task in mine):
        return ""
    my_tasks = {task for task, _ in mine}
    if any(task in my_tasks for task, _ in theirs):
        return "they have the same tasks under other seeds"
    return "they have other tasks"


def _origin(group: RunGroup) -> tuple[Any, ...]:
    """Return where a group's tasks come from."""
    return group.settings["environment"], group.settings["split"], group.settings.get("options", {})
