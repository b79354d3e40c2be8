"""Two strategies task by task, at equal trials and at equal tokens.

A strategy that solves more tasks in as many trials may only have asked the model for more. So both are also held
against each other at what the cheaper one has spent: trials are counted in the order in which all tasks advance
together (the first trial of every task, then the second ones), for as long as the tokens last.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph_reflexion.experiments.metrics import returned, tokens
from langgraph_reflexion.experiments.rows import TrialRow
from langgraph_reflexion.experiments.series import Series, Unit
from langgraph_reflexion.experiments.spread import unpaired
from langgraph_reflexion.experiments.statistics import Interval, SignTest, interval, sign_test

Trials = Mapping[Unit, Sequence[TrialRow]]


@dataclass(frozen=True)
class Match:
    """Two series at something equal.

    Attributes:
        equal: What: "trials" or "tokens".
        amount: How many; tokens are those of all tasks together.
        solved: How many tasks each of both has solved.
        of: Of how many, a task under several seeds counted for each.
        test: The paired test.
    """

    equal: str
    amount: int
    solved: tuple[int, int]
    of: int
    test: SignTest

    @property
    def shown(self) -> bool | None:
        """Whether the test shows what the numbers say; None where there was no test."""
        if self.test.p is None:
            return None
        # With several seeds a strategy may solve more in all, and be the better one on fewer tasks.
        return self.test.shown and self.lead * (self.test.wins - self.test.losses) > 0

    @property
    def lead(self) -> int:
        """Which one solves more tasks: 1 the first, -1 the second, 0 neither."""
        return (self.solved[0] > self.solved[1]) - (self.solved[0] < self.solved[1])


@dataclass(frozen=True)
class Pair:
    """Two series held against each other.

    Attributes:
        one: The first.
        other: The second.
        left_out: How many tasks that both have are not compared, as a fault or something unknown stands in the way.
        matches: How they compare, at equal trials and at equal tokens.
        notes: What could not be compared, and why.
        first: How their first trials compare, where one of them recalled lessons.
        sure: The 95 % intervals of the shares that these solve.
    """

    one: Series
    other: Series
    left_out: int
    matches: tuple[Match, ...]
    notes: tuple[str, ...]
    first: Match | None = None
    sure: tuple[Interval | None, Interval | None] = (None, None)

    @property
    def first_trials(self) -> str:
        """How the first trials went, where lessons were recalled for them: the shares with their intervals."""
        if self.first is None:
            return ""
        told = []
        for series, solved, at in zip((self.one, self.other), self.first.solved, self.sure, strict=True):
            sure = f", 95 % interval {at.low:.0%} to {at.high:.0%}" if at else ""
            told.append(f"{series.name} solves {solved} of {self.first.of} ({solved / self.first.of:.0%}{sure})")
        test = self.first.test
        chance = "" if test.p is None else f", p = {test.p:.2g}"
        return (
            f"First trials of tasks that no lesson is from: {', '.join(told)}; "
            f"only {self.one.name} {test.wins}, only {self.other.name} {test.losses}{chance}."
        )

    @property
    def conclusion(self) -> str:
        """Who wins by what, in words."""
        names = {1: self.one.label, -1: self.other.label}
        leads = {match.equal: match.lead for match in self.matches}
        if not leads:
            return ""
        unsure = [f"by {each.equal}" for each in self.matches if each.lead and each.shown is False]
        chance = f" The difference {' and '.join(unsure)} may be chance." if unsure else ""
        if set(leads.values()) == {1, -1}:
            return f"{names[leads['trials']]} wins by trials and loses by tokens.{chance}"
        by: dict[int, list[str]] = defaultdict(list)
        for equal, lead in leads.items():
            by[lead].append(f"by {equal}")
        told = [f"{names[lead]} wins {' and '.join(equal)}" for lead, equal in by.items() if lead]
        if 0 in by:
            told.append(f"they are level {' and '.join(by[0])}")
        sentence = "; ".join(told)
        return f"{sentence[0].upper()}{sentence[1:]}.{chance}"

    def as_json(self) -> dict[str, Any]:
        """The comparison as plain JSON."""
        return {
            "series": [self.one.label, self.other.label],
            "left_out": self.left_out,
            **{f"equal_{match.equal}": self._as_json(match) for match in self.matches},
            **({"first_trials": self._as_json(self.first)} if self.first else {}),
            "conclusion": self.conclusion,
            "notes": list(self.notes),
        }

    @staticmethod
    def _as_json(match: Match) -> dict[str, Any]:
        return {
            "amount": match.amount,
            "solved": list(match.solved),
            "of": match.of,
            "only": [match.test.wins, match.test.losses],
            "p": match.test.p,
        }


def pair(one: Series, other: Series) -> Pair:
    """Compare two series on the tasks that both have under the same seed.

    Where one of them recalled lessons, only tasks count that had taught none when its run began.
    """
    names = f"{one.name} and {other.name}"
    mine, theirs = one.trials_of(), other.trials_of()
    units = [unit for unit in mine if unit in theirs]
    if why := _incomparable(one, other, mine, theirs):
        told = f"{names} cannot be paired: {why}."
        by_seed = unpaired(one, other) if _where(one) == _where(other) else ""
        return Pair(one, other, 0, (), (told, by_seed) if by_seed else (told,))
    notes = [
        f"{each.name} is unfinished: trials that it has not played solve nothing."
        for each in (one, other)
        if each.report.unfinished
    ]
    if len(units) < max(len(mine), len(theirs)):
        alone = f"{len(mine) - len(units)} only {one.name}, {len(theirs) - len(units)} only {other.name}"
        notes.append(f"{names} are compared on the {len(units)} tasks that both have ({alone}).")
    recalled = any(each.settings.get("lessons") and each.settings["recall"] for each in (one, other))
    if recalled:
        seen = one.seen() | other.seen()
        unseen = [unit for unit in units if unit not in seen]
        notes.append(
            f"{names}: unseen tasks, which no lesson was from when the runs began: {len(unseen)} of {len(units)}."
        )
        units = unseen
    known = [unit for unit in units if _known(mine[unit]) and _known(theirs[unit])]
    left_out = len(units) - len(known)
    if left_out:
        notes.append(f"{names}: {left_out} tasks are left out, after a fault or for want of a known answer.")
    matches = []
    at_once: Match | None = None
    sure: tuple[Interval | None, Interval | None] = (None, None)
    if known:
        first, second = ({unit: each[unit] for unit in known} for each in (mine, theirs))
        trials = min(len(one.report.solved), len(other.report.solved))
        matches.append(_match("trials", trials, (first, second), (dict.fromkeys(known, trials),) * 2))
        if recalled:
            at_once = _match("trials", 1, (first, second), (dict.fromkeys(known, 1),) * 2)
            sure = _at_once(first), _at_once(second)
        if why := _untold(one, other, first, second):
            notes.append(f"{names} are not compared at equal tokens: {why}.")
        else:
            amount = min(_spent(first), _spent(second))
            played = _affordable(first, amount), _affordable(second, amount)
            matches.append(_match("tokens", amount, (first, second), played))
    return Pair(one, other, left_out, tuple(matches), tuple(notes), at_once, sure)


def _match(
    equal: str, amount: int, both: tuple[Trials, Trials], played: tuple[Mapping[Unit, int], Mapping[Unit, int]]
) -> Match:
    first, second = (
        {unit: _solved(rows, counts[unit]) for unit, rows in trials.items()}
        for trials, counts in zip(both, played, strict=True)
    )
    votes: dict[str, int] = defaultdict(int)
    for (task, seed), solved in first.items():
        votes[task] += solved - second[task, seed]
    return Match(
        equal, amount, (sum(first.values()), sum(second.values())), len(first), sign_test(list(votes.values()))
    )


def _at_once(trials: Trials) -> Interval | None:
    """The interval of the share that is solved in the first trial."""
    solved: dict[str, list[bool]] = defaultdict(list)
    for (task, _), rows in trials.items():
        solved[task].append(_solved(rows, 1))
    return interval(solved)


def _solved(rows: Sequence[TrialRow], trials: int) -> bool:
    done = [row for row in rows if row["trial"] <= trials]
    return bool(done and returned(done)["success"])


def _known(rows: Sequence[TrialRow]) -> bool:
    """Whether it is known what came of a task: an answer that is right, or wrong ones and no fault."""
    answer = returned(rows) if rows else None
    return answer is not None and (
        answer["success"] is True or (answer["success"] is False and not rows[-1]["fault"])
    )


def _affordable(trials: Trials, amount: int) -> dict[Unit, int]:
    """How many trials of each task so many tokens pay for, all tasks advancing together."""
    counts = dict.fromkeys(trials, 0)
    played = [(unit, row) for unit, rows in trials.items() for row in rows]
    left = amount
    for unit, row in sorted(played, key=lambda each: each[1]["trial"]):
        left -= tokens(row)
        if left < 0:
            break
        counts[unit] = row["trial"]
    return counts


def _spent(trials: Trials) -> int:
    return sum(tokens(row) for rows in trials.values() for row in rows)


def _incomparable(one: Series, other: Series, mine: Trials, theirs: Trials) -> str:
    """Why two series cannot be paired; empty where they can."""
    if _where(one) != _where(other):
        return f"their tasks differ ({one.facts['tasks']} and {other.facts['tasks']})"
    if any(unit in theirs for unit in mine):
        return ""
    same = {task for task, _ in mine} & {task for task, _ in theirs}
    return "they have the same tasks under other seeds" if same else "they have other tasks"


def _where(series: Series) -> tuple[Any, ...]:
    """Where its tasks come from."""
    return series.settings["environment"], series.settings["split"], series.settings.get("options", {})


def _untold(one: Series, other: Series, first: Trials, second: Trials) -> str:
    if one.report.cached_calls or other.report.cached_calls:
        return "answers out of the cache have cost none"
    return "" if _spent(first) and _spent(second) else "no tokens were counted"
