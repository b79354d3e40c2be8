"""All lessons of one environment and user at one moment, put together from their records."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, lgamma
from typing import NamedTuple, cast

from rapidfuzz import fuzz

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.memory.records import (
    Kind,
    LessonEdit,
    LessonSource,
    LessonText,
    LessonUse,
    Record,
    same_lesson,
    words_of,
)
from langgraph_reflexion.memory.search import TextSearch

MIN_TRIALS = 10
"""First trials with a lesson, and as many without it, below which it is not retired."""

ALPHA = 0.01
"""Probability of so few successes, were the lesson without effect, below which it is retired."""

SIMILAR_RATIO = 85.0
"""Similarity, of 100, from which two lessons are shown as near duplicates."""

NEIGHBOURS = 6
"""Lessons that each one is compared with for near duplicates: those that share most words with it."""


@dataclass
class Lesson:
    """A lesson with its sources, the trials whose prompts had it, and a person's edits, each oldest first.

    Attributes:
        expected: The success rate of its first trials had they not had it; None while there are too few trials.
        retired: Whether it is no longer recalled.
    """

    id: str
    text: str
    sources: list[tuple[str, LessonSource]] = field(default_factory=list)
    uses: list[LessonUse] = field(default_factory=list)
    edits: list[LessonEdit] = field(default_factory=list)
    expected: float | None = None
    retired: bool = False

    @property
    def recalled(self) -> int:
        return len(self.uses)

    @property
    def succeeded(self) -> int:
        return sum(use.success for use in self.uses)

    @property
    def outcomes(self) -> list[str]:
        return sorted({source.outcome for _, source in self.sources})

    @property
    def tasks(self) -> set[str]:
        return {source.task for _, source in self.sources}

    @property
    def about(self) -> str:
        """The text that it is found by: the tasks that taught it, and its own words."""
        tasks = dict.fromkeys(task_text(each.kind, each.instruction, each.observation) for _, each in self.sources)
        return "\n".join([*tasks, self.text])


class LessonSnapshot:
    """The lessons of a namespace, with their numbers, edits and merges applied.

    Attributes:
        records: All records, by kind and key.
        lessons: The lessons by id, retired ones included, merged ones not.
        uses: All recorded trials, oldest first.
    """

    def __init__(self, records: Mapping[Kind, Mapping[str, Record]]) -> None:
        self.records = records
        texts = cast(Mapping[str, LessonText], records["lessons"])
        sources = cast(Mapping[str, LessonSource], records["sources"])
        edits = cast(Iterable[LessonEdit], records["edits"].values())
        self.edits = sorted(edits, key=lambda edit: (edit.date, str(edit.stored())))
        uses = cast(Iterable[LessonUse], records["uses"].values())
        self.uses = sorted(uses, key=lambda use: (use.date, use.run, use.trial))
        self._into: dict[str, str] = {}
        for edit in self.edits:  # of two people who merge two lessons into each other, the first one wins
            merged, into = self.id_of(edit.lesson), self.id_of(edit.into or "")
            if into in texts and into != merged:
                self._into[merged] = into
        lessons = {key: Lesson(key, texts[key].text) for key in sorted(texts) if self.id_of(key) == key}
        for key, source in sorted(sources.items(), key=lambda each: (each[1].date, each[0])):
            if lesson := lessons.get(self.id_of(source.lesson)):
                lesson.sources.append((key, source))
        self.lessons = {key: lesson for key, lesson in lessons.items() if lesson.sources}
        for use in self.uses:
            for name in dict.fromkeys(map(self.id_of, use.lessons)):
                if lesson := self.lessons.get(name):
                    lesson.uses.append(use)
        first = FirstTrials(self.uses)
        for lesson in self.lessons.values():
            lesson.expected, lesson.retired = first.compare(lesson.uses)
        for edit in self.edits:  # a person's word counts, whatever the numbers
            if lesson := self.lessons.get(edit.lesson):
                lesson.edits.append(edit)
                lesson.text = lesson.text if edit.text is None else edit.text
                lesson.retired = lesson.retired if edit.retired is None else edit.retired

    def id_of(self, lesson: str) -> str:
        """Return the id of the lesson that this one was merged into; its own unless it was."""
        while lesson in self._into:
            lesson = self._into[lesson]
        return lesson

    def find(self, lesson: str) -> Lesson:
        """Return the lesson whose id begins so.

        Raises:
            ConfigurationError: there is none, or more than one.
        """
        found = [each for key, each in self.lessons.items() if lesson and key.startswith(lesson)]
        if len(found) != 1:
            raise ConfigurationError(f"{len(found) or 'no'} lessons have an id that begins with {lesson!r}")
        return found[0]

    def live(self) -> list[Lesson]:
        """Return the lessons that may be recalled, by id."""
        return [lesson for lesson in self.lessons.values() if not lesson.retired]

    def duplicates(self, texts: Iterable[str]) -> dict[str, str]:
        """Return the lesson, retired or not, that each text repeats; new texts are left out."""
        said = [(key, lesson.text) for key, lesson in self.lessons.items()]
        first = cast(Mapping[str, LessonText], self.records["lessons"])
        said += [(self.id_of(key), text.text) for key, text in sorted(first.items())]  # merged and edited ones, too
        known: defaultdict[frozenset[str], list[tuple[str, tuple[str, ...]]]] = defaultdict(list)
        for key, text in dict.fromkeys(said):
            if key in self.lessons:
                words = words_of(text)
                known[frozenset(words)].append((key, words))
        found = {}
        for text in texts:
            words = words_of(text)
            same = (key for key, other in known.get(frozenset(words), []) if same_lesson(words, other))
            if known_as := next(same, ""):
                found[text] = known_as
        return found

    def find_duplicate(self, text: str) -> str | None:
        """Return the lesson, retired or not, that a text repeats; None for a new one."""
        return self.duplicates([text]).get(text)

    def near_duplicates(self) -> list[tuple[Lesson, Lesson, float]]:
        """Return pairs of similar lessons with their similarity, of 100, the most similar first."""
        live = self.live()
        search = TextSearch({lesson.id: lesson.about for lesson in live})
        words = {lesson.id: " ".join(sorted(words_of(lesson.text))) for lesson in live}
        pairs: dict[tuple[str, str], float] = {}
        for lesson in live:
            for other in search.search(lesson.text)[:NEIGHBOURS]:
                if lesson.id != other:
                    pair = min(lesson.id, other), max(lesson.id, other)
                    pairs[pair] = fuzz.ratio(words[lesson.id], words[other])
        similar = sorted((each for each in pairs.items() if each[1] >= SIMILAR_RATIO), key=lambda e: (-e[1], e[0]))
        return [(self.lessons[one], self.lessons[other], ratio) for (one, other), ratio in similar]


def task_text(kind: str, instruction: str, observation: str) -> str:
    """Return the text that a task is searched by: its kind, instruction and first observation."""
    return "\n".join(filter(None, [kind, "" if instruction in observation else instruction, observation]))


class Contingency(NamedTuple):
    """First trials of one kind of task: those with a lesson, and those that they are compared with."""

    trials: int
    successes: int
    other_trials: int
    other_successes: int


class FirstTrials:
    """The first trials of all tasks, with and without each lesson.

    Later trials do not count: they belong to tasks that have failed already.
    """

    def __init__(self, uses: Iterable[LessonUse]) -> None:
        first = [use for use in uses if use.trial == 1]
        self.played = Counter(use.kind for use in first)
        self.won = Counter(use.kind for use in first if use.success)

    def compare(self, uses: Iterable[LessonUse]) -> tuple[float | None, bool]:
        """Return the success rate expected without a lesson, None for too few trials, and whether to retire it.

        Trials are compared by kind of task, so that a lesson is not retired for being recalled where tasks are hard.
        It is retired where Fisher's exact test, over all kinds, gives so few successes a probability below `ALPHA`.
        """
        mine = [use for use in uses if use.trial == 1]
        others = self.played.total() - len(mine)
        if len(mine) < MIN_TRIALS or others < MIN_TRIALS:
            return None, False
        here, here_won = Counter(use.kind for use in mine), Counter(use.kind for use in mine if use.success)
        won = here_won.total()
        tables = []
        for kind, count in here.items():
            without = Contingency(count, here_won[kind], self.played[kind] - count, self.won[kind] - here_won[kind])
            if without.other_trials < MIN_TRIALS:
                without = Contingency(count, here_won[kind], others, self.won.total() - won)
            tables.append(without)
        expected = sum(each.trials * each.other_successes / each.other_trials for each in tables)
        return expected / len(mine), won < expected and fisher_lower_tail(won, tables) < ALPHA


def fisher_lower_tail(successes: int, tables: Sequence[Contingency]) -> float:
    """Return the probability of as few successes by chance (Fisher's exact test, over several tables)."""
    chances = [1.0]
    for trials, won, others, others_won in tables:
        played, wins = trials + others, won + others_won
        here = [
            exp(_log_choose(wins, n) + _log_choose(played - wins, trials - n) - _log_choose(played, trials))
            if 0 <= trials - n <= played - wins
            else 0.0
            for n in range(min(trials, wins) + 1)
        ]
        both = [0.0] * min(len(chances) + len(here) - 1, successes + 1)
        for at, chance in enumerate(chances):
            for more, other in enumerate(here[: len(both) - at]):
                both[at + more] += chance * other
        chances = both
    return sum(chances[: successes + 1])


def _log_choose(of: int, count: int) -> float:
    """Return the logarithm of a binomial coefficient: the coefficients themselves soon fit no float."""
    return lgamma(of + 1) - lgamma(count + 1) - lgamma(of - count + 1)
