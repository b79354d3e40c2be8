"""Where a mistake may be, by which tests fail and what they reach; and what could be tried there, in order.

A function is the more suspicious the more of the failing tests reach it and the fewer of the passing ones (Ochiai's
coefficient, over names instead of coverage). Read by the forms in which Python, JavaScript and Rust define functions.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

from langgraph_reflexion.demo.failing import Outcome, leanings
from langgraph_reflexion.demo.mending import edits

Files = Mapping[str, Sequence[str]]

_DEFINES = (
    re.compile(r"\s*(?:test|it)\((['\"`])(?P<name>.+?)\1"),
    re.compile(r"\s*(?:async )?def (?P<name>\w+)"),
    re.compile(r"\s*(?:export )?(?:default )?(?:async )?function\*? (?P<name>\w+)"),
    re.compile(r"\s*(?:pub(?:\(\w+\))? )?(?:const )?(?:async )?fn (?P<name>\w+)"),
    re.compile(r"(?:export |pub )?(?:const|let|var|static) (?P<name>\w+)\b[^=]*="),
    re.compile(r"(?P<name>[A-Z][A-Z_0-9]+)\s*(?::[^=]+)?= "),
    re.compile(r"\s*(?:export |pub )?(?:class|impl(?:<.*?>)?) (?P<name>\w+)"),
    re.compile(r"\s+(?!if|for|while|switch|catch)(?P<name>\w+)\([^)]*\) \{$"),
)
_MAKERS = ("__init__", "__post_init__", "constructor")
_USUAL = {
    "bound": 1.5,
    "compare": 1.2,
    "logic": 1.3,
    "sign": 1.2,
    "negate": 1.1,
    "swap": 1.1,
    "text": 0.9,
    "word": 1.2,
}
_POINTED_AT = 1.6
_FURTHER = 0.93
_TRUST = 0.85


@dataclass(frozen=True)
class Definition:
    """A function, a class or a constant: where it stands, and the names in it."""

    path: str
    name: str
    first: int
    last: int
    words: frozenset[str]


@dataclass(frozen=True)
class Try:
    """An edit at a place: the line with this number is to be this, without its indentation."""

    path: str
    number: int
    line: str


def is_test(path: str) -> bool:
    """Whether a file holds tests."""
    return re.search(r"(?:^|/)tests?/|(?:^|/)test_|[._]test\.|conftest|\.spec\.", path) is not None


def candidates(files: Files, outcome: Outcome, in_vain: Collection[Try] = ()) -> list[Try]:
    """What could be tried, in order: line by line, the most suspicious line first, each to its end.

    Args:
        files: The lines of the files that were read, as they were at first.
        outcome: What failed then.
        in_vain: What was tried in vain, and is left out: a line is the less suspicious the more was tried there.
    """
    lean = leanings(outcome)
    instead = {got.strip("'\""): wanted.strip("'\"") for got, wanted in outcome.pairs}
    lines: list[tuple[float, list[Try]]] = []
    for definition, score in _scored(files, outcome):
        no = "not " if definition.path.endswith(".py") else "!"
        for number in range(definition.first, definition.last + 1):
            text = files[definition.path][number - 1].strip()
            pointed = any(_same(path, definition.path) and line == number for path, line in outcome.places)
            vain = {" ".join(t.line.split()) for t in in_vain if (t.path, t.number) == (definition.path, number)}
            found = sorted(
                (-_USUAL.get(edit.sort, 1.0) * lean.get(edit.sort, 1.0), order, edit.line)
                for order, edit in enumerate(edits(text, no, instead))
                if " ".join(edit.line.split()) not in vain
            )
            if found:
                weight = score * (_POINTED_AT if pointed else 1.0) * -found[0][0] * _TRUST ** len(vain)
                lines.append((weight, [Try(definition.path, number, line) for _, _, line in found]))
    lines.sort(key=lambda each: -each[0])
    return list(dict.fromkeys(each for _, tries in lines for each in tries))


def definitions(path: str, lines: Sequence[str]) -> list[Definition]:
    """What a file defines, each up to the next definition."""
    begins = [
        (number, match["name"])
        for number, line in enumerate(lines, 1)
        if (match := next(filter(None, (form.match(line) for form in _DEFINES)), None))
    ]
    ends = [*(number - 1 for number, _ in begins[1:]), len(lines)]
    return [
        Definition(path, name, first, last, frozenset(re.findall(r"\w+", "\n".join(lines[first - 1 : last]))))
        for (first, name), last in zip(begins, ends, strict=False)
    ]


def _scored(files: Files, outcome: Outcome) -> Iterator[tuple[Definition, float]]:
    """The definitions outside of the tests, each with how suspicious it is."""
    every = [definition for path, lines in files.items() for definition in definitions(path, lines)]
    tests = [each for each in every if is_test(each.path) and _begins_a_test(files, each)]
    sources = [each for each in every if not is_test(each.path)]
    failing = [each for each in tests if _fails(each, outcome)]
    reached = [(_reached(test, sources), test in failing) for test in tests]
    for definition in sources:
        depths = [depth[definition] for depth, fails in reached if fails and definition in depth]
        passing = sum(definition in depth for depth, fails in reached if not fails)
        if depths:
            score = len(depths) / sqrt(len(failing) * (len(depths) + passing))
            yield definition, score * _FURTHER ** min(depths)


def _begins_a_test(files: Files, definition: Definition) -> bool:
    line = files[definition.path][definition.first - 1]
    above = files[definition.path][definition.first - 2] if definition.first > 1 else ""
    return definition.name.startswith("test") or "#[test]" in above or bool(_DEFINES[0].match(line))


def _fails(test: Definition, outcome: Outcome) -> bool:
    there = any(_same(path, test.path) and test.first <= line <= test.last for path, line in outcome.places)
    return test.name in outcome.names or there


def _reached(test: Definition, sources: list[Definition]) -> dict[Definition, int]:
    """What a test reaches by name, and over how many others."""
    depth: dict[Definition, int] = {}
    front, far = [test], 0
    while front:
        words = frozenset[str]().union(*(each.words for each in front))
        made = {each.path for each in sources if each.name in words}
        front = [
            each
            for each in sources
            if each not in depth and (each.name in words or (each.name in _MAKERS and each.path in made))
        ]
        depth |= dict.fromkeys(front, far)
        far += 1
    return depth


def _same(said: str, path: str) -> bool:
    """Whether an output means this file, under whatever folder it saw it."""
    return said == path or said.endswith(f"/{path}")
