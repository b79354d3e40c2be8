"""Pages and reflections as the demo model reads them: by rules of English, without knowledge of their content.

A name begins with a capital letter, its role stands before it ("the river ..."), and the sentence that says who was
born where has the word "born" in it.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from langgraph_reflexion.lab.demo.prompt import Advice, ParsedPrompt, Turn, sentences_of

_WORD = r"[A-Z][\w'\u2019-]*"


def _names_joined_by(words: str) -> re.Pattern[str]:
    """Return the pattern of a name whose words may be joined by small ones, with what follows in brackets."""
    joined_words = rf"(?:(?:\s(?:{words})){{0,2}}\s{_WORD})*"
    return re.compile(rf"\b{_WORD}{joined_words}(?:\s\([^)]*\))?")


_NAMES = _names_joined_by("of|the|in|for")
_NAMES_WITH_AND = _names_joined_by("of|the|in|for|and")
_PLACED = re.compile(r"^\sin the \w+ of (?P<where>[A-Z][\w'-]*)")
_LIFE = re.compile(r"\((?P<born>\d{3,4})\s?[-\u2013]\s?\d{2,4}\)")
_YEAR = re.compile(r"\b1?\d{3}\b|\b20\d\d\b")
_NUMBER = re.compile(r"\b\d[\d,.]*\b")
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
    """A named person or thing, and what distinguishes it from its namesakes."""

    name: str
    role: str = ""  # the noun before the name
    where: str = ""  # the place after the name: "... in the province of ..."

    @property
    def known_as(self) -> str:
        if not self.role:
            return self.name
        return f"the {self.role} {self.name}"


@dataclass
class Page:
    """The sentences read of a page."""

    title: str
    sentences: list[str] = field(default_factory=list)
    searched_for: set[str] = field(default_factory=set)  # looked up to the last occurrence

    def add(self, text: str) -> None:
        read = sentences_of(text)
        self.sentences += [sentence for sentence in read if sentence not in self.sentences]


@dataclass(frozen=True)
class Wanted:
    """What to find on a page: a class of things, and words of the sentence that has it."""

    kind: str
    words: tuple[str, ...] = ()
    number: bool = False

    @property
    def terms(self) -> list[str]:
        terms = [_PAST.get(word, word) for word in self.words]
        if self.kind not in ("", "person", "year"):
            terms.append(self.kind)
        return list(dict.fromkeys(terms))


def stem(word: str) -> str:
    """Return a word without its ending."""
    word = word.lower()
    word = _IRREGULAR.get(word, word)
    word = re.sub(r"(?:ies|ied)$", "y", word)
    return re.sub(r"(?<=\w{3})(?:ing|ed|es|s|e)$", "", word)


def stems_of(text: str) -> set[str]:
    """Return the words of a text without their endings."""
    words = re.findall(r"[\w-]+", text)
    return {stem(word) for word in words}


def content_words(text: str) -> list[str]:
    """Return the lower-case words except function words."""
    words = re.findall(r"\b[a-z][a-z-]*\b", text)
    return [word for word in words if word not in _FUNCTION_WORDS]


def names_in(text: str, *, joined_by_and: bool = True) -> Iterator[tuple[int, Target]]:
    """Yield the names in a text with their offsets."""
    pattern = _NAMES
    if joined_by_and:
        pattern = _NAMES_WITH_AND
    for match in pattern.finditer(text):
        name = re.sub(r"['\u2019]s$", "", match[0])
        before = text[: match.start()]
        after = text[match.end() :]
        role = ""
        noun = re.search(r"\b([a-z]+)(?: of)? $", before)
        if noun and noun[1] not in _FUNCTION_WORDS:
            role = noun[1]
        where = ""
        placed = _PLACED.match(after)
        if placed:
            where = placed["where"]
        yield match.start(), Target(name, role, where)


def find(page: Page, wanted: Wanted) -> Target | None:
    """Return what the best matching sentence of a page says; None without a match."""
    if wanted.number:
        number = find_number(page.sentences, wanted)
        if not number:
            return None
        return Target(number)
    best = None
    best_score = -1
    for sentence in page.sentences:
        stems = _placed_stems(sentence)
        for begin, target in _told_of(page, sentence):
            before = {each for at, each in stems if at < begin}
            after = {each for at, each in stems if at >= begin}
            score = _match(wanted, target, before, after)
            if score > best_score:
                best = target
                best_score = score
    return best


def _placed_stems(sentence: str) -> list[tuple[int, str]]:
    """Return the offset and the stem of each word."""
    stems = []
    for match in re.finditer(r"[\w-]+", sentence):
        stems.append((match.start(), stem(match[0])))
    return stems


def _match(wanted: Wanted, target: Target, before: set[str], after: set[str]) -> int:
    """Return how well a name is what is wanted, by the stems around it in its sentence; -1 if not at all."""
    kind = stem(wanted.kind)
    words = {stem(word) for word in wanted.words}
    has_role = stem(target.role) == kind
    named = has_role or kind in map(stem, target.name.split())
    kind_before = kind in before
    if not named and not kind_before and not words & before:
        return -1
    hits = words & (before | after)
    score = 2 * len(hits)
    if named:
        score += 3
    if kind_before:
        score += 1
    return score


def find_number(sentences: Sequence[str], wanted: Wanted) -> str:
    """Return the number in the first matching sentence; empty without a match."""
    if "born" in wanted.words:
        for sentence in sentences:
            lived = _LIFE.search(sentence)
            if lived:
                return lived["born"]
    counted = re.compile(rf"\b(\d[\d,.]*)\s+{re.escape(wanted.kind)}\b")
    number = _NUMBER
    if wanted.kind == "year":
        number = _YEAR
    # The word "year" does not say which year is meant.
    words = {stem(word) for word in (*wanted.words, wanted.kind) if word != "year"}
    for sentence in sentences:
        count = counted.search(sentence)
        if count:
            return count[1]
        found = number.search(sentence)
        if found and words & stems_of(sentence):
            return found[0]
    return ""


def first_mentioned(page: Page, wanted: Wanted) -> Target | None:
    """Return the first name or number on a page, as a hasty reader does."""
    # The first sentence only introduces what the page is about.
    sentences = page.sentences[1:] or page.sentences
    for sentence in sentences:
        if wanted.number:
            number = re.search(r"\b\d{2,}\b", sentence)
            if number:
                return Target(number[0])
            continue
        for begin, target in _told_of(page, sentence):
            if begin > 0:
                return target
    return None


def _told_of(page: Page, sentence: str) -> Iterator[tuple[int, Target]]:
    """Yield the names in a sentence, but for the page's own."""
    base, _, _ = page.title.partition(" (")
    title = re.findall(r"\w+", base)
    for begin, target in names_in(sentence):
        if target.name.lower() in _FUNCTION_WORDS:
            continue
        words = re.findall(r"\w+", target.name)
        in_title = set(words) <= set(title)
        # A work may be named after the town that it is set in: "the town of ..." is not the work.
        family_name = target.name in title[-1:]
        if in_title and (not target.role or family_name):
            continue
        yield begin, target


_CALL = re.compile(
    r"(?P<name>search|lookup|finish)(?:\[(?P<text>.*)\]|\(\w+=\"(?P<quoted>.*)\"\)|\s(?P<plain>.*))", re.DOTALL
)
_MISSED = re.compile(r"Could not find .*? Similar: \[(?P<titles>.*)\]\.", re.DOTALL)
_TITLE = re.compile(r"'((?:[^'\\]|\\.|'(?!, |$))*)'|\"([^\"]*)\"")
_RESULT = re.compile(r"\(Result (?P<at>\d+) / (?P<of>\d+)\) (?P<text>.*)", re.DOTALL)


@dataclass
class Library:
    """The pages read so far."""

    pages: dict[str, Page] = field(default_factory=dict)
    missed: dict[str, list[str]] = field(default_factory=dict)
    open: str = ""
    answer: str = ""
    searches: list[str] = field(default_factory=list)


def read_library(prompt: ParsedPrompt) -> Library:
    """Read the paragraphs before the question, and the steps after it."""
    library = Library()
    given, _, _ = prompt.opening.rpartition("Question: ")
    for paragraph in given.split("\n\n"):
        title, colon, text = paragraph.partition(": ")
        if colon:
            page = Page(title)
            page.add(text)
            library.pages[title] = page
    for turn in prompt.turns:
        _read_turn(library, turn)
    return library


def _read_turn(library: Library, turn: Turn) -> None:
    call = _CALL.fullmatch(turn.action.strip())
    if not call:
        return
    # A call's argument is written as JSON.
    written = call["quoted"] or ""
    quoted = json.loads(f'"{written}"', strict=False)
    said = call["text"] or quoted or call["plain"] or ""
    said = said.strip()
    if call["name"] == "finish":
        library.answer = said
    elif call["name"] == "search":
        _read_search(library, said, turn.observation)
    else:
        _read_lookup(library, said, turn.observation)


def _read_search(library: Library, wanted: str, observation: str) -> None:
    """Read the beginning of a page, or the titles that resemble one that there is not."""
    library.searches.append(wanted)
    missed = _MISSED.match(observation)
    if missed:
        # A title is in single quotes, or in double ones if it has an apostrophe.
        quoted = _TITLE.findall(missed["titles"])
        library.missed[wanted] = [single or double for single, double in quoted]
    elif not observation.startswith("Invalid action"):
        library.open = wanted
        page = library.pages.setdefault(wanted, Page(wanted))
        page.add(observation)


def _read_lookup(library: Library, word: str, observation: str) -> None:
    """Read the sentence in which a word was found on the open page."""
    page = library.pages.get(library.open)
    if not page:
        return
    result = _RESULT.match(observation)
    if result:
        page.add(result["text"])
    if result is None or result["at"] == result["of"]:
        page.searched_for.add(word)


def page_of(library: Library, target: Target) -> Page | None:
    """Return the page whose title fits a target best."""
    title = closest(list(library.pages), target)
    if not title:
        return None
    return library.pages[title]


def closest(titles: list[str], target: Target) -> str | None:
    """Return the title that means a target; of namesakes the one whose brackets fit."""
    best = None
    highest = 0
    for title in titles:
        likeness = _likeness(title, target)
        if likeness > highest:
            best = title
            highest = likeness
    return best


def _likeness(title: str, target: Target) -> int:
    base, _, brackets = title.partition(" (")
    words = set(target.name.split())
    if base != target.name and not words <= set(base.split()):
        return 0
    likeness = 1
    if base == target.name:
        likeness += 1
    known = {target.role, target.where, *content_words(target.role)}
    known.discard("")
    # Without brackets there is only one of the name.
    if not brackets or not known:
        return likeness
    fits = any(word in brackets for word in known)
    if not fits:
        # It is a namesake.
        return 0
    return likeness + 2


def advised_title(advice: Advice, target: Target) -> str | None:
    """Return the title that notes give for the page of a target."""
    titles = advice.quoted(r"go straight to search\[(.*?)\]")
    return closest(titles, target)


def advised_word(advice: Advice, page: Page) -> str:
    """Return the word that notes give for a page; empty without one."""
    words = advice.on(page.title).quoted(r"the word \"([^\"]+)\"")
    if not words:
        return ""
    return words[0]
