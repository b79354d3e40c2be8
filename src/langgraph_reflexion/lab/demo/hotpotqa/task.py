"""Questions, read by the grammar of English: the pages to read, what to find on each, and how to compare.

A relative clause ("the town where ...") comes before the rest of the question, "or" between two names asks for one of
them, and a question that begins with a verb asks for yes or no.
"""

import re
from dataclasses import dataclass

from langgraph_reflexion.lab.demo.hotpotqa.world import Target, Wanted, content_words, names_in


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_CLOSED = _set("Am Are Can Could Did Do Does Had Has Have Is Was Were Will Would")
_LOWEST = _set("earlier earliest older oldest first fewer shorter shortest smaller smallest lower")
_HIGHEST = _set("later latest younger youngest longer longest larger largest bigger higher taller more")
_IN_TIME = _set("earlier earliest older oldest first later latest younger youngest")
_DATED = ("first", "published", "founded", "released", "written", "built", "born")
_RELATIVE = re.compile(r"(?:\b(?:in|after|under|from|by|for|to|at|on)\s+)?\b(?:who|whom|whose|that|which|where)\b")


@dataclass(frozen=True)
class Asked:
    """A question: the names in it, what to find page after page, and for a comparison how to choose."""

    text: str
    targets: tuple[Target, ...]
    hops: tuple[Wanted, ...]
    choice: str = ""
    value: str | None = None
    """What a claim says last; empty if it only says that something is so. None for a question."""

    @property
    def closed(self) -> bool:
        return self.choice == "same" or _is_closed(self.text)


def read_question(text: str) -> Asked:
    """Read a question."""
    targets = _targets(text, joined_by_and=True)
    closed = _is_closed(text)
    if closed and not _two_things(targets):
        targets = _targets(text, joined_by_and=False)
    asks_for_one = re.search(r",? or\b", text) is not None
    if len(targets) == 2 and (closed or asks_for_one):
        return _comparison(text, targets, closed)
    if not targets:
        wanted = _wanted(text, ())
        return Asked(text, (), (wanted,))
    return read_path(text, targets[0])


def _is_closed(text: str) -> bool:
    """Return whether a question asks for yes or no: it begins with a verb."""
    first, _, _ = text.partition(" ")
    return first in _CLOSED


def _two_things(targets: tuple[Target, ...]) -> bool:
    """Return whether two things are named, neither of which is the place of one of them."""
    if len(targets) != 2:
        return False
    places = tuple(target.where for target in targets if target.where)
    is_place = any(target.name.startswith(places) for target in targets)
    return not is_place


def _targets(text: str, *, joined_by_and: bool) -> tuple[Target, ...]:
    """Return the named things in a question, without the places that only tell them apart."""
    # "Were Tom Hale ...": the capital of a question's first word makes no name of it.
    uncapitalized = text[:1].lower() + text[1:]
    found = [target for _, target in names_in(uncapitalized, joined_by_and=joined_by_and)]
    places = {target.where for target in found}
    named = [target for target in found if target.name not in places]
    return tuple(named)


def _comparison(text: str, targets: tuple[Target, ...], closed: bool) -> Asked:
    """Return what to find on the pages of two things, and how to choose between them."""
    if closed:
        return Asked(text, targets, (_wanted_of_both(text, targets),), "same")
    words = re.findall(r"\w+", text)
    by = _first_of(words, _LOWEST | _HIGHEST)
    choice = "lowest"
    if by in _HIGHEST:
        choice = "highest"
    if by in _IN_TIME:
        wanted = Wanted("year", _DATED, number=True)
        return Asked(text, targets, (wanted,), choice)
    # "longer" and "longest" ask for what is said to be so and so "long".
    unit = re.sub("e[rs]t?$|r$", "", by)
    wanted = Wanted(unit, (), number=True)
    return Asked(text, targets, (wanted,), choice)


def _wanted_of_both(text: str, targets: tuple[Target, ...]) -> Wanted:
    """Return what has to be the same of two things."""
    plain = re.sub(r"\bin the \w+ of [A-Z]\w*", "", text)
    same = re.search(r"\bsame (\w+)", text)
    kind = ""
    if same:
        kind = same[1]
    words = _words_but(plain, (kind, *_said_of(targets)))
    return Wanted(kind, words or ("by",))


def _words_but(text: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """Return the content words of a text except those that are known."""
    words = [word for word in content_words(text) if word not in known]
    return tuple(words)


def _first_of(words: list[str], wanted: frozenset[str]) -> str:
    """Return the first word that is one of the wanted ones; empty without any."""
    for word in words:
        if word in wanted:
            return word
    return ""


def read_path(text: str, target: Target, *, asks: bool = True) -> Asked:
    """Read what a question asks, or a statement says, of what a name leads to."""
    begin = text.index(target.name)
    clause = _last_clause(text, begin, asks=asks)
    names = _said_of((target,))
    if clause is None:
        wanted = _wanted(text.replace(target.name, ""), names)
        return Asked(text, (target,), (wanted,))
    end = _end_of_clause(text, clause, target)
    inner = text[clause.start() : end]
    before = text[: clause.start()]
    after = text[end:]
    nouns = re.findall(r"\bthe ([a-z]+)", before)
    bridge = ""
    if nouns:
        bridge = nouns[-1]
    known = (bridge, *names)
    on_the_way = Wanted(bridge, _words_but(inner, known))
    at_the_end = _wanted(before + after, known)
    return Asked(text, (target,), (on_the_way, at_the_end))


def _last_clause(text: str, begin: int, *, asks: bool) -> re.Match[str] | None:
    """Return the beginning of the last relative clause before an offset; None without any."""
    # The first one is the question itself, unless that begins otherwise.
    earliest = 3
    if asks:
        earliest = max(earliest, _asking_ends(text))
    last = None
    for clause in _RELATIVE.finditer(text[:begin]):
        if clause.start() > earliest:
            last = clause
    return last


def _end_of_clause(text: str, clause: re.Match[str], target: Target) -> int:
    """Return the offset at which a relative clause with a name in it ends."""
    begin = text.index(target.name)
    end = begin + len(target.name)
    between = text[clause.end() : begin]
    verbs = _words_but(between, (target.role,))
    if verbs:
        return end
    # The verb comes last: "the town in which it is set ..."
    passive = re.match(r" (?:is|was) \w+", text[end:])
    if not passive:
        return len(text)
    return end + passive.end()


def _wanted(text: str, without: tuple[str, ...]) -> Wanted:
    """Return what a question asks for: a class of things, and words of the sentence that has it."""
    kind = ""
    number = False
    if re.match(r"(?:\w+ )?[Ww]hom?\b", text):
        kind = "person"
    counted = re.search(r"\b[Hh]ow many (\w+)", text)
    noun = re.search(r"\b[Ww](?:hich|hat) (?:is the |was the |are the |were the )?([a-z]+)\b", text)
    if counted:
        kind = counted[1]
        number = True
    elif noun:
        kind = noun[1]
        number = kind == "year"
    words = _words_but(text, (kind, *without))
    return Wanted(kind, words, number)


def _asking_ends(text: str) -> int:
    """Return the offset of the word that asks; 0 without any."""
    asking = re.search(r"\b(?:[Ww]ho|[Ww]hom|[Ww]hich|[Ww]hat|[Ww]here|[Ww]hen|[Hh]ow)\b", text)
    if not asking:
        return 0
    return asking.start()


def _said_of(targets: tuple[Target, ...]) -> tuple[str, ...]:
    """Return the words that name things."""
    words: list[str] = []
    for target in targets:
        if target.role:
            words.append(target.role)
        words += content_words(target.name)
    return tuple(words)
