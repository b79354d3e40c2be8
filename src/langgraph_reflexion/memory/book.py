"""All that a store says of one namespace's lessons, put together: texts, sources, uses, and who is retired."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, lgamma
from typing import Any, NamedTuple

from langgraph_reflexion.memory.items import Edit, Part, Source, Use, repeats, words_of

ENOUGH = 10
"""So many first trials with a lesson, and as many without it, are needed to judge it."""

CLEARLY = 0.01
"""A lesson is retired where so few successes, or fewer, would be less likely than this if it made no difference."""


@dataclass
class Lesson:
    """A lesson with all that is known of it.

    Attributes:
        id: Its key.
        text: What it says.
        sources: The trials that taught it, oldest first.
        uses: The trials that were told it.
        edits: What people did to it, oldest first.
        expected: Over its uses in first trials, the share that succeeds without it; None while too little is known.
        retired: Whether it is recalled no more.
    """

    id: str
    text: str
    sources: list[tuple[str, Source]] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)
    expected: float | None = None
    retired: bool = False

    @property
    def recalled(self) -> int:
        """How many trials were told it."""
        return len(self.uses)

    @property
    def succeeded(self) -> int:
        """How many of them succeeded."""
        return sum(use["success"] for use in self.uses)

    @property
    def outcomes(self) -> list[str]:
        """What it was learned from: `failure`, `success`, or both."""
        return sorted({source["outcome"] for _, source in self.sources})

    @property
    def tasks(self) -> set[str]:
        """The tasks that taught it."""
        return {source["task"] for _, source in self.sources}

    @property
    def about(self) -> str:
        """What it is found by: the tasks that taught it, and what it says."""
        tasks = dict.fromkeys(about(source) for _, source in self.sources)
        return "\n".join([*tasks, self.text])


class Drawn(NamedTuple):
    """First trials of a kind of task: those that were told a lesson, and those that it is held against."""

    told: int
    won: int
    others: int
    others_won: int


class Book:
    """The lessons of one namespace.

    Args:
        items: All items, by their kind.

    Attributes:
        lessons: Those that are not merged into others, by id; the retired ones among them.
        uses: All trials that were recorded, with lessons or without.
        edits: All that people did.
    """

    def __init__(self, items: Mapping[Part, Mapping[str, Any]]) -> None:
        self.items = items
        edits: list[Edit] = sorted(items["edits"].values(), key=lambda edit: (edit["date"], str(edit)))
        self.edits = edits
        self.uses: list[Use] = sorted(items["uses"].values(), key=lambda use: (use["date"], use["run"], use["trial"]))
        self._into: dict[str, str] = {}
        for edit in edits:
            # Of two people who merge two lessons into each other, the first has done it.
            one, into = self.id_of(edit["lesson"]), self.id_of(edit.get("into", ""))
            if into in items["lessons"] and into != one:
                self._into[one] = into
        self.lessons: dict[str, Lesson] = {}
        for key in sorted(items["lessons"]):
            if self.id_of(key) == key:
                self.lessons[key] = Lesson(key, items["lessons"][key]["text"])
        self._fill()
        self._same: dict[frozenset[str], list[tuple[str, tuple[str, ...]]]] | None = None

    def id_of(self, lesson: str) -> str:
        """The lesson that this one was merged into; itself, where it was not."""
        while lesson in self._into:
            lesson = self._into[lesson]
        return lesson

    def live(self) -> list[Lesson]:
        """The lessons that may be recalled, in the order of their ids."""
        return [lesson for lesson in self.lessons.values() if not lesson.retired]

    def like(self, text: str) -> str | None:
        """The lesson that a text repeats, retired or not; None for a new one."""
        if self._same is None:
            self._same = defaultdict(list)
            # As a person has put it, and as it and those that were merged into it were learned.
            said = [(key, lesson.text) for key, lesson in self.lessons.items()]
            said += [(self.id_of(key), self.items["lessons"][key]["text"]) for key in sorted(self.items["lessons"])]
            for key, known in dict.fromkeys(said):
                if key in self.lessons:
                    words = words_of(known)
                    self._same[frozenset(words)].append((key, words))
        words = words_of(text)
        return next((key for key, other in self._same.get(frozenset(words), []) if repeats(words, other)), None)

    def _fill(self) -> None:
        sources = sorted(self.items["sources"].items(), key=lambda each: (each[1]["date"], each[0]))
        for key, source in sources:
            if lesson := self.lessons.get(self.id_of(source["lesson"])):
                lesson.sources.append((key, source))
        self.lessons = {key: lesson for key, lesson in self.lessons.items() if lesson.sources}
        for use in self.uses:
            for name in dict.fromkeys(map(self.id_of, use["lessons"])):
                if lesson := self.lessons.get(name):
                    lesson.uses.append(use)
        by_numbers = self._retired()
        for lesson in self.lessons.values():
            lesson.retired = lesson.id in by_numbers
        for edit in self.edits:
            if lesson := self.lessons.get(edit["lesson"]):
                lesson.edits.append(edit)
                lesson.text = edit.get("text", lesson.text)
                # What a person has said of it stands, whatever the numbers say.
                lesson.retired = edit.get("retired", lesson.retired)

    def _retired(self) -> set[str]:
        """The lessons after which clearly fewer first trials succeed than without them.

        Only first trials count: later ones are those of tasks that have failed already, and each task would count as
        often as it fails. A lesson is held against the trials that were not told it, kind of task by kind of task, so
        that it is not retired for being recalled where tasks are hard. Whether so few successes can be chance is
        Fisher's exact test, over all kinds: the rate without the lesson is but an estimate, too.
        """
        first = [use for use in self.uses if use["trial"] == 1]
        played, won = Counter(use["kind"] for use in first), Counter(use["kind"] for use in first if use["success"])
        found = set()
        for lesson in self.lessons.values():
            told = [use for use in lesson.uses if use["trial"] == 1]
            if len(told) < ENOUGH or len(first) - len(told) < ENOUGH:
                continue
            succeeded = sum(use["success"] for use in told)
            here, here_won = Counter(use["kind"] for use in told), Counter(u["kind"] for u in told if u["success"])
            drawn = []
            for kind, count in here.items():
                others, others_won = played[kind] - count, won[kind] - here_won[kind]
                if others < ENOUGH:
                    others, others_won = len(first) - len(told), won.total() - succeeded
                drawn.append(Drawn(count, here_won[kind], others, others_won))
            expected = sum(each.told * each.others_won / each.others for each in drawn)
            lesson.expected = expected / len(told)
            if succeeded < expected and lower_tail(succeeded, drawn) < CLEARLY:
                found.add(lesson.id)
        return found


def lower_tail(successes: int, drawn: Sequence[Drawn]) -> float:
    """How likely so few successes, or fewer, are by chance (Fisher's exact test, over several kinds of task).

    Args:
        successes: How many trials that were told the lesson have succeeded.
        drawn: The trials, kind by kind: which of them were told it is taken to be chance.
    """
    chances = [1.0]
    for told, won, others, others_won in drawn:
        played, wins = told + others, won + others_won
        here = [
            exp(_ways(wins, n) + _ways(played - wins, told - n) - _ways(played, told))
            if 0 <= told - n <= played - wins
            else 0.0
            for n in range(min(told, wins) + 1)
        ]
        both = [0.0] * min(len(chances) + len(here) - 1, successes + 1)
        for at, chance in enumerate(chances):
            for more, other in enumerate(here[: len(both) - at]):
                both[at + more] += chance * other
        chances = both
    return sum(chances[: successes + 1])


def _ways(of: int, count: int) -> float:
    """The logarithm of how many ways there are to choose so many: the numbers themselves soon fit no float."""
    return lgamma(of + 1) - lgamma(count + 1) - lgamma(of - count + 1)


def about(source: Mapping[str, Any]) -> str:
    """What a task is found by: its kind, what it says, and what is seen first; all of it plain text."""
    seen = "" if source["instruction"] in source["observation"] else source["instruction"]
    return "\n".join(filter(None, [source["kind"], seen, source["observation"]]))
