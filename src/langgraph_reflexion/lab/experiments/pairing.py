"""Comparisons of two groups of runs, task by task, at equal trials and at equal tokens.

A strategy that solves more tasks in as many trials may only have asked the model more often. So two groups of runs
are also compared at the tokens that the cheaper one has spent: all tasks advance together (the first trial of every
task, then the second ones) until the tokens are used up. A reflection is paid for by the trial that reads it.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

from langgraph_reflexion.lab.experiments.groups import RunGroup, TaskSeed
from langgraph_reflexion.lab.experiments.metrics import (
    final_answer,
    has_ended,
    lacks_tokens,
    on_budget,
    reflection_tokens,
    tokens,
)
from langgraph_reflexion.lab.experiments.rows import TrialRow
from langgraph_reflexion.lab.experiments.statistics import FEWEST_VOTES, SignTest, p_clause, sign_test
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
        p = p_clause(self.test.p)
        tasks = count(self.test.tasks, "task")
        numbers = f"({p}, {tasks})"
        if self.test.votes < FEWEST_VOTES:
            # More tasks are needed, and not another look at these.
            few = f"{self.test.votes} differ, and fewer than {FEWEST_VOTES} are never significant"
            return f", but not significantly ({p}, {tasks}; {few})"
        if not self.test.significant:
            return f", but not significantly {numbers}"
        # With several seeds a group may solve more in total, and yet be worse on more tasks.
        lead_in_tasks = self.test.wins - self.test.losses
        if self.lead * lead_in_tasks <= 0:
            return f", but on fewer tasks {numbers}"
        return f" {numbers}"

    def as_json(self) -> dict[str, Any]:
        return {
            "amount": self.amount,
            "solved": list(self.solved),
            "of": self.of,
            "tasks": self.test.tasks,
            "only": [self.test.wins, self.test.losses],
            "p": self.test.p,
        }


@dataclass(frozen=True)
class Pair:
    """Two groups of runs, compared."""

    one: RunGroup
    other: RunGroup
    left_out: int = 0
    """Number of common tasks that are not compared: without a trial, by a fault, or with an unknown truth."""
    matches: tuple[Match, ...] = ()
    """The comparisons at equal trials and at equal tokens."""
    notes: tuple[str, ...] = ()
    """What could not be compared, and why."""

    @property
    def repeats_tasks(self) -> bool:
        """Whether some task was compared under several seeds, of which it has one vote."""
        return any(match.of != match.test.tasks for match in self.matches)

    @property
    def conclusion(self) -> str:
        """Which group is ahead at what, in one sentence; empty without a match."""
        names = {1: f"{self.one.label} is ahead", -1: f"{self.other.label} is ahead", 0: "they are level"}
        # What holds at equal trials and at equal tokens is said once.
        clauses: dict[tuple[str, str], list[str]] = defaultdict(list)
        for match in self.matches:
            clause = (names[match.lead], match.certainty)
            clauses[clause].append(match.equal)
        said: list[str] = []
        for (who, certainty), equal in clauses.items():
            what = " and ".join(equal)
            said.append(f"{who} at equal {what}{certainty}")
        if not said:
            return ""
        sentence = "; ".join(said)
        return f"{sentence[0].upper()}{sentence[1:]}."

    def as_json(self) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "groups": [self.one.label, self.other.label],
            "left_out": self.left_out,
        }
        # Both are always there: null where nothing could be compared.
        shown["equal_trials"] = None
        shown["equal_tokens"] = None
        for match in self.matches:
            shown[f"equal_{match.equal}"] = match.as_json()
        shown["conclusion"] = self.conclusion
        shown["notes"] = list(self.notes)
        return shown


def pair(one: RunGroup, other: RunGroup) -> Pair:
    """Compare two groups on the tasks that both have under the same seed.

    If one of them recalled lessons, only those tasks count from which no lesson had been learned when its run began.
    """
    names = f"{one.name} and {other.name}"
    mine = one.trials()
    theirs = other.trials()
    why = _incomparable(one, other, mine, theirs)
    if why:
        return Pair(one, other, notes=(f"{names} cannot be paired: {why}.",))
    notes = _notes_on_ends(one, other)
    common = [task for task in mine if task in theirs]
    only_mine = len(mine) - len(common)
    only_theirs = len(theirs) - len(common)
    if only_mine or only_theirs:
        alone = f"{only_mine} only {one.name}, {only_theirs} only {other.name}"
        notes.append(f"{names} are compared on the {count(len(common), 'task')} that both have ({alone}).")
    if _recalls(one) or _recalls(other):
        seen = one.seen() | other.seen()
        unseen = [task for task in common if task not in seen]
        notes.append(f"{names}: {len(unseen)} of {count(len(common), 'task')} had no lessons of their own.")
        common = unseen
    first: dict[TaskSeed, Sequence[TrialRow]] = {}
    second: dict[TaskSeed, Sequence[TrialRow]] = {}
    for task in common:
        if _known(mine[task]) and _known(theirs[task]):
            first[task] = mine[task]
            second[task] = theirs[task]
    left_out = len(common) - len(first)
    without_trial = sum(1 for task in common if not (mine[task] and theirs[task]))
    notes += _notes_on_left_out(names, without_trial, left_out - without_trial)
    if not first:
        return Pair(one, other, left_out, notes=tuple(notes))
    matches = [_at_equal_trials(_equal_trials(one, other, first, second), first, second)]
    fewer_tokens = min(_spent(first), _spent(second))
    compared = [*chain.from_iterable(first.values()), *chain.from_iterable(second.values())]
    if lacks_tokens(compared):
        notes.append(f"{names} are not compared at equal tokens: those of cached answers are not recorded.")
    elif not fewer_tokens:
        notes.append(f"{names} are not compared at equal tokens: no tokens were counted.")
    else:
        matches.append(_at_equal_tokens(fewer_tokens, first, second))
    return Pair(one, other, left_out, tuple(matches), tuple(notes))


def _notes_on_left_out(names: str, without_trial: int, unknown: int) -> list[str]:
    """Return notes on the tasks that are not compared: of which one group has no trial, or nobody knows the truth."""
    notes: list[str] = []
    if without_trial:
        notes.append(f"{names}: {count(without_trial, 'task')} left out, of which one of them has no trial.")
    if unknown:
        notes.append(f"{names}: {count(unknown, 'task')} left out because of a fault or an unknown truth.")
    return notes


def _at_equal_trials(amount: int, first: Trials, second: Trials) -> Match:
    """Return two groups compared by the first trials of each task, up to a number."""
    return _match("trials", amount, _within(first, amount), _within(second, amount))


def _at_equal_tokens(amount: int, first: Trials, second: Trials) -> Match:
    """Return two groups compared by the trials that an amount of tokens pays for."""
    return _match("tokens", amount, _affordable(first, amount), _affordable(second, amount))


def _equal_trials(one: RunGroup, other: RunGroup, first: Trials, second: Trials) -> int:
    """Return the number of trials at which two groups are compared: what both have made, or could have made.

    One that ended by a rule of its own could have made more, which would have solved nothing for it.
    """
    # `solved` has an entry for each trial.
    most = max(len(one.report.solved), len(other.report.solved))
    return min(most, _trials_open_to(one, first), _trials_open_to(other, second))


def _trials_open_to(group: RunGroup, trials: Trials) -> int:
    """Return how many trials a group has made, or could have made with the same outcome.

    Args:
        group: The group.
        trials: Its trials of the tasks that are compared.
    """
    limit: int = group.settings["max_trials"]
    if group.report.stopped:
        return limit
    # Whatever has become of the other tasks, such as an error: none of these would be tried again.
    if all(has_ended(rows[-1], limit) or on_budget(rows[-1]) for rows in trials.values()):
        return limit
    return len(group.report.solved)


def _notes_on_ends(one: RunGroup, other: RunGroup) -> list[str]:
    """Return notes on groups that have not played all trials."""
    notes: list[str] = []
    for each in (one, other):
        if each.report.unfinished:
            notes.append(f"{each.name} is unfinished: the missing trials of tasks that have begun solve nothing.")
    for each in (one, other):
        if each.report.on_budget:
            tasks = count(each.report.on_budget, "task")
            notes.append(f"{each.name}: {tasks} ended on a budget, and later trials count as solving none.")
    for each in (one, other):
        if each.report.stopped:
            notes.append(
                f"{each.name} ended after a trial that solved nothing new: later ones count as solving none."
            )
    return notes


def _recalls(group: RunGroup) -> bool:
    """Return whether a group recalled lessons."""
    return bool(group.settings.get("lessons") and group.settings.get("recall", True))


def _match(equal: str, amount: int, first: Trials, second: Trials) -> Match:
    """Return two groups compared by the trials that an equal amount allows."""
    # A task under several seeds has one vote.
    votes: dict[str, int] = defaultdict(int)
    solved_by_first = 0
    solved_by_second = 0
    for key, rows in first.items():
        by_first = _solved(rows)
        by_second = _solved(second[key])
        solved_by_first += by_first
        solved_by_second += by_second
        task, _ = key
        votes[task] += by_first - by_second
    both = (solved_by_first, solved_by_second)
    test = sign_test(votes.values())
    return Match(equal, amount, both, len(first), test)


def _within(trials: Trials, most: int) -> Trials:
    """Return the first trials of each task, up to a number."""
    found: dict[TaskSeed, list[TrialRow]] = {}
    for task, rows in trials.items():
        found[task] = [row for row in rows if row["trial"] <= most]
    return found


def _solved(rows: Sequence[TrialRow]) -> bool:
    """Return whether a task is solved after these trials."""
    return bool(rows and final_answer(rows)["success"])


def _known(rows: Sequence[TrialRow]) -> bool:
    """Return whether a task's outcome is known: it is right, wrong without a fault, or ended on a budget."""
    if not rows:
        return False
    success = final_answer(rows)["success"]
    last = rows[-1]
    if success is None and on_budget(last):
        # Nothing was accepted before the budget was used up, so it counts as unsolved.
        return True
    if last["fault"]:
        return success is True
    return success is not None


def _affordable(trials: Trials, amount: int) -> Trials:
    """Return the trials that an amount of tokens pays for, all tasks advancing together."""
    paid: dict[TaskSeed, list[TrialRow]] = {task: [] for task in trials}
    played: list[_Priced] = []
    for task, rows in trials.items():
        played += _with_prices(task, rows)
    # The first trial of every task, then the second ones.
    played.sort(key=_trial_of)
    for each in played:
        amount -= each.price
        if amount < 0:
            break
        paid[each.task].append(each.row)
    return paid


class _Priced(NamedTuple):
    """A trial of a task, with its tokens and those of the reflection that it has read."""

    task: TaskSeed
    row: TrialRow
    price: int


def _with_prices(task: TaskSeed, rows: Sequence[TrialRow]) -> list[_Priced]:
    """Return a task's trials with their prices."""
    priced: list[_Priced] = []
    read = 0
    for row in rows:
        written = reflection_tokens(row)
        price = tokens(row) - written + read
        priced.append(_Priced(task, row, price))
        read = written
    return priced


def _trial_of(played: _Priced) -> int:
    """Return the number of a trial that was played."""
    return played.row["trial"]


def _spent(trials: Trials) -> int:
    """Return the tokens that some trials have spent."""
    spent = 0
    for rows in trials.values():
        spent += sum(map(tokens, rows))
    return spent


def _incomparable(one: RunGroup, other: RunGroup, mine: Trials, theirs: Trials) -> str:
    """Return why two groups cannot be paired; empty if they can."""
    common = mine.keys() & theirs.keys()
    if _origin(one) != _origin(other) and not _same_texts(one, other, common):
        return f"their tasks differ ({one.facts['tasks']} and {other.facts['tasks']})"
    if common:
        return ""
    my_tasks = {task for task, _ in mine}
    their_tasks = {task for task, _ in theirs}
    if not my_tasks.isdisjoint(their_tasks):
        return "they have the same tasks under other seeds"
    return "they have other tasks"


def _origin(group: RunGroup) -> tuple[Any, ...]:
    """Return where a group's tasks come from."""
    settings = group.settings
    return settings["environment"], settings["split"], settings.get("options", {})


def _same_texts(one: RunGroup, other: RunGroup, common: Collection[TaskSeed]) -> bool:
    """Return whether two groups have some tasks, and those with the same text, whatever their environments are.

    An environment of one's own may be a built-in one with other prompts. The tasks of an agent, though, are known by
    their digest, which their reference answers are a part of.
    """
    if _digest(one) != _digest(other):
        return False
    mine = one.goals()
    theirs = other.goals()
    return bool(common) and all(key in mine and mine[key] == theirs.get(key) for key in common)


def _digest(group: RunGroup) -> str | None:
    """Return the digest of an agent's tasks; None for an environment."""
    digest: str | None = group.settings.get("options", {}).get("digest")
    return digest
