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
        return self.choice == "same" or self.text.split(" ", 1)[0] in _CLOSED


def read_question(text: str) -> Asked:
    """Read a question."""
    targets = _targets(text, joined_by_and=True)
    closed = text.split(" ", 1)[0] in _CLOSED
    where = tuple(target.where for target in targets if target.where)
    if closed and (len(targets) != 2 or any(target.name.startswith(where) for target in targets)):
        targets = _targets(text, joined_by_and=False)
    if len(targets) == 2 and (closed or re.search(r",? or\b", text)):
        return _comparison(text, targets, closed)
    if not targets:
        return Asked(text, (), (_wanted(text, ()),))
    return read_path(text, targets[0])


def _targets(text: str, *, joined_by_and: bool) -> tuple[Target, ...]:
    # "Were Tom Hale ...": the capital of a question's first word makes no name of it.
    found = [target for _, target in names_in(text[:1].lower() + text[1:], joined_by_and=joined_by_and)]
    where = {target.where for target in found}
    return tuple(target for target in found if target.name not in where)


def _comparison(text: str, targets: tuple[Target, ...], closed: bool) -> Asked:
    plain = re.sub(r"\bin the \w+ of [A-Z]\w*", "", text)
    words = [word for word in content_words(plain) if word not in _said_of(targets)]
    if closed:
        same = re.search(r"\bsame (\w+)", text)
        kind = same[1] if same else ""
        asked = tuple(word for word in words if word != kind) or ("by",)
        return Asked(text, targets, (Wanted(kind, asked),), "same")
    by = next((word for word in re.findall(r"\w+", text) if word in _LOWEST | _HIGHEST), "")
    choice = "highest" if by in _HIGHEST else "lowest"
    if by in _IN_TIME:
        return Asked(text, targets, (Wanted("year", _DATED, number=True),), choice)
    return Asked(text, targets, (Wanted(re.sub("e[rs]t?$|r$", "", by), (), number=True),), choice)


def read_path(text: str, target: Target, *, asks: bool = True) -> Asked:
    """Read what a question asks, or a statement says, of what a name leads to."""
    begin = text.index(target.name)
    clauses = list(_RELATIVE.finditer(text[:begin]))
    # The first one is the question itself, unless that begins otherwise.
    clauses = [
        clause for clause in clauses if clause.start() > 3 and clause.start() > (_asking_ends(text) if asks else 0)
    ]
    if not clauses:
        return Asked(text, (target,), (_wanted(text.replace(target.name, ""), _said_of((target,))),))
    clause, end = clauses[-1], begin + len(target.name)
    verbs = [word for word in content_words(text[clause.end() : begin]) if word != target.role]
    if not verbs:  # "the town in which it is set ..."
        passive = re.match(r" (?:is|was) \w+", text[end:])
        end = end + passive.end() if passive else len(text)
    inner, rest = text[clause.start() : end], text[end:]
    outer = text[: clause.start()]
    nouns = re.findall(r"\bthe ([a-z]+)", outer)
    bridge = nouns[-1] if nouns else ""
    said = _said_of((target,))
    first = Wanted(bridge, tuple(word for word in content_words(inner) if word not in (bridge, *said)))
    return Asked(text, (target,), (first, _wanted(outer + rest, (bridge, *said))))


def _wanted(text: str, without: tuple[str, ...]) -> Wanted:
    kind, number = "person" if re.match(r"(?:\w+ )?[Ww]hom?\b", text) else "", False
    if counted := re.search(r"\b[Hh]ow many (\w+)", text):
        kind, number = counted[1], True
    elif noun := re.search(r"\b[Ww](?:hich|hat) (?:is the |was the |are the |were the )?([a-z]+)\b", text):
        kind, number = noun[1], noun[1] == "year"
    words = tuple(word for word in content_words(text) if word not in (kind, *without))
    return Wanted(kind, words, number)


def _asking_ends(text: str) -> int:
    asking = re.search(r"\b(?:[Ww]ho|[Ww]hom|[Ww]hich|[Ww]hat|[Ww]here|[Ww]hen|[Hh]ow)\b", text)
    return asking.start() if asking else 0


def _said_of(targets: tuple[Target, ...]) -> tuple[str, ...]:
    return tuple(word for target in targets for word in (target.role, *content_words(target.name)) if word)
