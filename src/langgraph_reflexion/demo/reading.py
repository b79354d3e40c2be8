"""How the demo model reads: names, numbers, and the sentence on a page that says what is asked.

Rules of English and no content: a name begins with a capital letter, what it is stands before it ("the river ..."),
and a sentence that says who was born where has the word "born" in it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

_WORD = r"[A-Z][\w'\u2019-]*"
_NAMES = {
    by_and: re.compile(rf"\b{_WORD}(?:(?:\s(?:{joining})){{0,2}}\s{_WORD})*(?:\s\([^)]*\))?")
    for by_and, joining in ((True, "of|the|in|for|and"), (False, "of|the|in|for"))
}
_PLACED = re.compile(r"^\sin the \w+ of (?P<where>[A-Z][\w'-]*)")
_LIFE = re.compile(r"\((?P<born>\d{3,4})\s?[-\u2013]\s?\d{2,4}\)")
_YEAR = re.compile(r"\b1?\d{3}\b|\b20\d\d\b")
_IRREGULAR = {"won": "win", "ran": "run", "wrote": "write", "made": "make", "lies": "lie", "sung": "sing"}
_PAST = {"win": "won", "study": "studied", "write": "wrote", "make": "made", "run": "runs"}
_SMALL_WORDS = """
    a after also an and any are as at be been before both by did do does for from had has have he her his how in is it
    its many more much of on or same she than that the their there they this through to under was were what when where
    which who whom whose with
"""
_FUNCTION_WORDS = frozenset(_SMALL_WORDS.split())


@dataclass(frozen=True)
class Target:
    """Somebody or something with a name, and what tells it from its namesakes."""

    name: str
    role: str = ""
    """What stands before the name: a calling, a kind of thing."""
    where: str = ""
    """What stands after it: "... in the province of ..."."""

    @property
    def known_as(self) -> str:
        """The name with the role, as one would say it."""
        return f"the {self.role} {self.name}" if self.role else self.name


@dataclass
class Page:
    """What was read of a page so far."""

    title: str
    sentences: list[str] = field(default_factory=list)
    searched_for: set[str] = field(default_factory=set)
    """The words that were looked up on it, to the last place where they stand."""

    def add(self, text: str) -> None:
        """Read on."""
        self.sentences += [s for s in sentences_of(text) if s not in self.sentences]


@dataclass(frozen=True)
class Wanted:
    """What is looked for on a page: a kind of thing, and words that its sentence may have."""

    kind: str
    words: tuple[str, ...] = ()
    number: bool = False

    @property
    def terms(self) -> list[str]:
        """What to look up on a page, the best word first."""
        verbs = [_PAST.get(word, word) for word in self.words]
        return list(dict.fromkeys([*verbs, *([self.kind] if self.kind not in ("", "person", "year") else [])]))


def sentences_of(text: str) -> list[str]:
    """The sentences of a text."""
    return [part.strip() for part in re.split(r"(?<=[.!?])\s+(?=[\"A-Z])", text) if part.strip()]


def stem(word: str) -> str:
    """A word without its ending: "runs" and "run" are one."""
    word = word.lower()
    word = _IRREGULAR.get(word, word)
    word = re.sub(r"(?:ies|ied)$", "y", word)
    return re.sub(r"(?<=\w{3})(?:ing|ed|es|s|e)$", "", word)


def content_words(text: str) -> list[str]:
    """The small-letter words that say something, in their order."""
    return [word for word in re.findall(r"\b[a-z][a-z-]*\b", text) if word not in _FUNCTION_WORDS]


def names_in(text: str, *, joined_by_and: bool = True) -> Iterator[tuple[int, Target]]:
    """The names in a text, each with where it begins."""
    for match in _NAMES[joined_by_and].finditer(text):
        before = re.search(r"\b([a-z]+)(?: of)? $", text[: match.start()])
        role = before[1] if before and before[1] not in _FUNCTION_WORDS else ""
        placed = _PLACED.match(text[match.end() :])
        yield match.start(), Target(re.sub(r"['\u2019]s$", "", match[0]), role, placed["where"] if placed else "")


def find(page: Page, wanted: Wanted) -> Target | None:
    """What a page says of it, by the sentence that says it best; None where no sentence does."""
    if wanted.number:
        number = find_number(page.sentences, wanted)
        return Target(number) if number else None
    best: tuple[int, Target] | None = None
    for sentence in page.sentences:
        stems = [(match.start(), stem(match[0])) for match in re.finditer(r"[\w-]+", sentence)]
        for begin, target in _told_of(page, sentence):
            kind, words = stem(wanted.kind), {stem(word) for word in wanted.words}
            before = {each for at, each in stems if at < begin}
            named = stem(target.role) == kind or kind in map(stem, target.name.split())
            hits = words & {each for _, each in stems}
            if kind in before or named or words & before:
                score = 3 * named + 2 * len(hits) + (kind in before)
                if best is None or score > best[0]:
                    best = score, target
    return best[1] if best else None


def find_number(sentences: Sequence[str], wanted: Wanted) -> str:
    """The number that is asked for; empty where no sentence has it."""
    words = {stem(word) for word in (*wanted.words, wanted.kind) if word != "year"}
    if "born" in wanted.words and (lived := next(filter(None, map(_LIFE.search, sentences)), None)):
        return lived["born"]
    for sentence in sentences:
        if counted := re.search(rf"\b(\d[\d,.]*)\s+{re.escape(wanted.kind)}\b", sentence):
            return counted[1]
        found = _YEAR.search(sentence) if wanted.kind == "year" else re.search(r"\b\d[\d,.]*\b", sentence)
        if found and words & {stem(word) for word in re.findall(r"[\w-]+", sentence)}:
            return found[0]
    return ""


def first_mentioned(page: Page, wanted: Wanted) -> Target | None:
    """Whatever of the right sort is mentioned first: what a hasty reader takes."""
    for sentence in page.sentences[1:] or page.sentences:
        if wanted.number:
            if number := re.search(r"\b\d{2,}\b", sentence):
                return Target(number[0])
            continue
        for begin, target in _told_of(page, sentence):
            if begin > 0:
                return target
    return None


def _told_of(page: Page, sentence: str) -> Iterator[tuple[int, Target]]:
    """The names in a sentence without the page's own."""
    title = re.findall(r"\w+", page.title.partition(" (")[0])
    for begin, target in names_in(sentence):
        part = set(re.findall(r"\w+", target.name)) <= set(title)
        # A work may be named after the town that it is set in: "the town of ..." is not the work.
        own = part and (not target.role or target.name in title[-1:])
        if not own and target.name.lower() not in _FUNCTION_WORDS:
            yield begin, target
