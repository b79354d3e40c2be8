"""Candidate edits: small changes of a line, on the lines that failing tests make suspicious.

An edit swaps a comparison or an operator, moves a bound by one, negates a condition, swaps two arguments or changes a
constant; it is found by tokens alone, in Python, JavaScript and Rust. A function is the more suspicious the more of
the failing tests reach it and the fewer of the passing ones (Ochiai's coefficient, over names instead of coverage).
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

from langgraph_reflexion.lab.demo.workspace.world import Outcome, Try

_PAIRS = """
    min max, any all, lower upper, startswith endswith, some every, True False, true false, append insert, find rfind,
    width height
"""
_WORDS = {one: other for pair in map(str.split, _PAIRS.split(",")) for one, other in (pair, pair[::-1])}

_OPERATORS: dict[str, tuple[tuple[str, str], ...]] = {
    "<": (("<=", "bound"), (">", "compare")),
    "<=": (("<", "bound"), (">=", "compare")),
    ">": ((">=", "bound"), ("<", "compare")),
    ">=": ((">", "bound"), ("<=", "compare")),
    "==": (("!=", "compare"),),
    "!=": (("==", "compare"),),
    "===": (("!==", "compare"),),
    "!==": (("===", "compare"),),
    "+": (("-", "sign"), ("*", "operator")),
    "-": (("+", "sign"),),
    "*": (("+", "operator"), ("/", "operator")),
    "/": (("*", "operator"),),
    "//": (("%", "operator"), ("*", "operator")),
    "%": (("/", "operator"), ("//", "operator")),
    "+=": (("-=", "sign"),),
    "-=": (("+=", "sign"),),
    "*=": (("/=", "operator"), ("+=", "operator")),
    "and": (("or", "logic"),),
    "or": (("and", "logic"),),
    "&&": (("||", "logic"),),
    "||": (("&&", "logic"),),
}
_SPACED = re.compile(r"(?<=\s)(?:[<>]=?|[=!]==?|[-+*]=?|//?|%|&&|\|\||and|or)(?=\s)")
_NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
_WORD = re.compile(r"\b[A-Za-z_]\w*\b")
_STRING = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`")
_CALL = re.compile(r"(?<=[\w.])\(([^()]*(?:\([^()]*\)[^()]*)*)\)")
_OPERANDS = re.compile(r"([\w.]+(?:\([\w., ]*\)|\[[\w., ]*\])?) (-|/|//|%) ([\w.]+(?:\([\w., ]*\)|\[[\w., ]*\])?)")
_NEGATION = re.compile(r"\bnot |!(?=[\w(])")
# Only what is a condition by itself: a name or a call, and nothing that is compared.
_CONDITION = re.compile(
    r"(?:\b(?:if|elif|while|return|and|or)\s+|=>\s*|&&\s*|\|\|\s*|\b(?:if|while) \(\s*)"
    r"(?=[A-Za-z_][\w.]*(?:\([^()]*\))?\s*(?:[)\];:{?]|$|&&|\|\||\b(?:and|or|for|else)\b))"
)
_GROUP = re.compile(r"(?:\b(?:and|or)|&&|\|\|)\s+(?=\()")
_SKIPPED = re.compile(r"\s*(?:#|//|/\*|\*|import\b|from\b|use\b|pub mod\b|mod\b|@|\"\"\"|[\])}]+[,;]?\s*$)")


def edits(line: str, no: str = "not ") -> dict[str, str]:
    """Return the edits of a line without its indentation, each with its sort; `no` is the language's negation."""
    if _SKIPPED.match(line) or not line.strip():
        return {}
    found: dict[str, str] = {}
    for edited, sort in _all(line, no):
        if edited != line:
            found.setdefault(edited, sort)
    return found


def _all(line: str, no: str) -> Iterator[tuple[str, str]]:
    strings = [match.span() for match in _STRING.finditer(line)]

    def code(pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        for match in pattern.finditer(line):
            if not any(begin <= match.start() < end for begin, end in strings):
                yield match

    def put(match: re.Match[str], text: str, group: int = 0) -> str:
        return line[: match.start(group)] + text + line[match.end(group) :]

    for match in code(_SPACED):
        for other, sort in _OPERATORS.get(match[0], ()):
            yield put(match, other), sort
    for match in code(_NEGATION):
        yield put(match, ""), "negate"
    for match in code(_GROUP):
        yield put(match, match[0] + no), "logic"
    for match in code(_CONDITION):
        if not line[match.end() :].startswith(no):
            yield put(match, match[0] + no), "negate"
    for match in code(_NUMBER):
        yield put(match, str(int(match[0]) + 1)), "constant"
        if int(match[0]):
            yield put(match, str(int(match[0]) - 1)), "constant"
    for match in code(_WORD):
        if match[0] in _WORDS:
            yield put(match, _WORDS[match[0]]), "word"
    for match in code(_OPERANDS):
        yield put(match, f"{match[3]} {match[2]} {match[1]}"), "swap"
    for match in code(_CALL):
        parts = _split(match[1])
        if len(parts) == 2 and " for " not in match[1]:
            yield put(match, f"{parts[1]}, {parts[0]}", 1), "swap"


def _split(arguments: str) -> list[str]:
    """Split arguments at the commas between them."""
    parts, depth = [""], 0
    for character in arguments:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


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
_USUAL = {"bound": 1.5, "compare": 1.2, "logic": 1.3, "sign": 1.2, "negate": 1.1, "swap": 1.1, "word": 1.2}
_POINTED_AT = 1.6
_FURTHER = 0.93
_TRUST = 0.85


@dataclass(frozen=True)
class Definition:
    """A function, class or constant: its lines, and the names in it."""

    path: str
    name: str
    first: int
    last: int
    words: frozenset[str]


def is_test(path: str) -> bool:
    """Return whether a file holds tests."""
    return re.search(r"(?:^|/)tests?/|(?:^|/)test_|[._]test\.|conftest|\.spec\.", path) is not None


def candidates(files: Files, outcome: Outcome, in_vain: Collection[Try] = ()) -> list[Try]:
    """Return the edits to try: all of the most suspicious line first.

    Args:
        files: The lines of the files that were read, as they were at first.
        outcome: The failures then.
        in_vain: Edits that failed, which are left out and make their lines less suspicious.
    """
    lines: list[tuple[float, list[Try]]] = []
    for definition, score in _scored(files, outcome):
        no = "not " if definition.path.endswith(".py") else "!"
        for number in range(definition.first, definition.last + 1):
            text = files[definition.path][number - 1].strip()
            pointed = any(_same(path, definition.path) and line == number for path, line in outcome.places)
            vain = {" ".join(t.line.split()) for t in in_vain if (t.path, t.number) == (definition.path, number)}
            found = sorted(
                (-_USUAL.get(sort, 1.0), order, edited)
                for order, (edited, sort) in enumerate(edits(text, no).items())
                if " ".join(edited.split()) not in vain
            )
            if found:
                weight = score * (_POINTED_AT if pointed else 1.0) * -found[0][0] * _TRUST ** len(vain)
                lines.append((weight, [Try(definition.path, number, line) for _, _, line in found]))
    lines.sort(key=lambda each: -each[0])
    return list(dict.fromkeys(each for _, tries in lines for each in tries))


def definitions(path: str, lines: Sequence[str]) -> list[Definition]:
    """Return the definitions of a file, each up to the next one."""
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
    """Yield the definitions outside tests with their suspiciousness."""
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
    """Return the definitions that a test reaches by name, with their distances."""
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
    return said == path or said.endswith(f"/{path}")
