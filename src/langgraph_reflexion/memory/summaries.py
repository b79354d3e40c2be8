"""What the records of lessons add up to: tallies of trials, the summaries that keep them, and archived lessons."""

from pydantic import BaseModel, ConfigDict, Field

from langgraph_reflexion.memory.records import LessonSource, LessonUse, Record

KNOWN_TASKS = 1000
"""Ids of tasks that are kept for a lesson: the latest that taught it."""

KNOWN_KEYS = 1000
"""Keys of removed records that a summary keeps."""

KNOWN_KINDS = 100
"""Kinds of task that are counted apart; further ones are counted together, as the kind of no name."""


class Tally(BaseModel):
    """Trials, counted."""

    model_config = ConfigDict(strict=True)

    trials: int = 0
    succeeded: int = 0
    first: dict[str, int] = Field(default_factory=dict)
    """First trials by kind of task."""
    first_succeeded: dict[str, int] = Field(default_factory=dict)

    def count(self, use: LessonUse) -> None:
        """Count a trial, or the change of its verdict."""
        trials = 1
        succeeded = int(use.success)
        if use.before is not None:
            # The trial has been counted, with the verdict before.
            trials = 0
            succeeded -= int(use.before)
        self.trials += trials
        self.succeeded += succeeded
        # Later trials belong to tasks that have failed already: `effect` compares first trials alone.
        if use.trial == 1:
            self._count_first(use.kind, trials, succeeded)

    def add(self, other: "Tally") -> None:
        """Add what another one has counted."""
        self.trials += other.trials
        self.succeeded += other.succeeded
        for kind, trials in other.first.items():
            self._count_first(kind, trials, other.first_succeeded.get(kind, 0))

    def _count_first(self, kind: str, trials: int, succeeded: int) -> None:
        # Tasks may come from anybody, and a summary must not grow with them.
        if kind not in self.first and len(self.first) >= KNOWN_KINDS:
            kind = ""
        before = self.first.get(kind, 0)
        succeeded_before = self.first_succeeded.get(kind, 0)
        self.first[kind] = before + trials
        self.first_succeeded[kind] = succeeded_before + succeeded


class LessonTally(Tally):
    """The trials whose prompts had a lesson, and those that taught it, counted."""

    sources: int = 0
    """Trials that taught it, and people who wrote it."""
    outcomes: list[str] = Field(default_factory=list)
    """The outcomes of its sources, each once."""
    tasks: list[str] = Field(default_factory=list)
    """The ids of the tasks that taught it, the latest `KNOWN_TASKS`."""
    last: str = ""
    """The date of the last trial that taught or had it."""

    def count(self, use: LessonUse) -> None:
        super().count(use)
        self.last = max(self.last, use.date)

    def teach(self, source: LessonSource) -> None:
        """Count a source."""
        self.sources += 1
        self.last = max(self.last, source.date)
        self._know([source.outcome], [source.task])

    def add(self, other: Tally) -> None:
        super().add(other)
        if isinstance(other, LessonTally):
            self.sources += other.sources
            self.last = max(self.last, other.last)
            self._know(other.outcomes, other.tasks)

    def copied(self) -> "LessonTally":
        """Return a copy that is counted further on its own: much faster than to add it to an empty one."""
        # The lists are replaced when they change, and need no copy.
        own = {"first": dict(self.first), "first_succeeded": dict(self.first_succeeded)}
        return self.model_copy(update=own)

    def _know(self, outcomes: list[str], tasks: list[str]) -> None:
        # Nearly always the tally is an empty one to which numbers are added: then nothing has to be sorted.
        if not self.tasks:
            self.outcomes = list(outcomes)
            self.tasks = list(tasks)
            return
        self.outcomes = sorted({*self.outcomes, *outcomes})
        known = list(dict.fromkeys(self.tasks + tasks))
        self.tasks = known[-KNOWN_TASKS:]


class LessonSummary(Record):
    """The records of a namespace, added up.

    A summary is never changed. The next generation is made of it and of the records that came since, and what it has
    counted is removed only with the generation after that: so nothing is lost or counted twice where processes tidy
    up at the same time, or are killed.
    """

    stored_as = "summaries"

    origin: str
    """The namespace that it comes from: a summary of another one is kept as it is, and replaced by a newer one."""
    generation: int
    date: str
    foreign: bool = False
    """Whether it was imported from another namespace."""
    trials: Tally
    """All trials, with lessons or without."""
    lessons: dict[str, LessonTally]
    counted: list[str] = Field(default_factory=list)
    """The keys of the sources and uses in the store that it has counted."""
    removed: list[str] = Field(default_factory=list)
    """The keys of the latest `KNOWN_KEYS` records that were removed: a node that is run again writes its own anew."""

    @property
    def key(self) -> str:
        # One for each namespace that was imported from, so that a newer export replaces the older one.
        if self.foreign:
            return f"from-{self.origin}"
        # Of two processes that make the same generation at once, one summary is left: both have the same key.
        return f"own-{self.generation:010d}"


class ArchivedLesson(Record):
    """A lesson beyond the limit: kept, and never recalled until a person restores it or a trial teaches it again."""

    stored_as = "archived"

    lesson: str
    date: str
    source: LessonSource
    tally: LessonTally

    @property
    def key(self) -> str:
        return self.lesson
