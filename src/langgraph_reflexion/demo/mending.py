"""Small edits to a line of code: what somebody tries who knows how mistakes look, but not what the program is for.

An edit swaps a comparison or an operator, moves a bound by one, puts a negation in or takes it out, changes the order
of two arguments, or a constant. The same catalogue does for Python, JavaScript and Rust, since it reads tokens only;
what does not compile after all shows when the checks run.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_PAIRS = (
    "min max, any all, floor ceil, lower upper, toLowerCase toUpperCase, startswith endswith, startsWith endsWith,"
    "starts_with ends_with, some every, lstrip rstrip, trimStart trimEnd, True False,"
    "true false, push unshift, append insert, pop shift, indexOf lastIndexOf, find rfind, width height"
)
_WORDS: dict[str, str] = {}
for _pair in _PAIRS.split(","):
    _one, _other = _pair.split()
    _WORDS |= {_one: _other, _other: _one}

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
    "..": (("..=", "bound"),),
    "..=": (("..", "bound"),),
}
_SPACED = re.compile(r"(?<=\s)(?:[<>]=?|[=!]==?|[-+*]=?|//?|%|&&|\|\||and|or)(?=\s)")
_RANGE = re.compile(r"\.\.=?(?!\.)")
_NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.]|\.\d)|(?<=\.\.)\d+|(?<![\w.])\d+(?=\.\.)")
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
_INDEX = re.compile(r"(?<=[\w\])])\[(-?\w+)\]|(?<=range\()(\w+)(?=\))|(?<=\.\.)([a-z]\w*)")
_OFFSET = re.compile(r" [-+] 1\b")
_SKIPPED = re.compile(r"\s*(?:#|//|/\*|\*|import\b|from\b|use\b|pub mod\b|mod\b|@|\"\"\"|[\])}]+[,;]?\s*$)")


@dataclass(frozen=True)
class Edit:
    """A line as it could be instead.

    Attributes:
        line: The line.
        sort: What kind of edit makes it so.
    """

    line: str
    sort: str


def edits(line: str, no: str = "not ", instead: Mapping[str, str] | None = None) -> list[Edit]:
    """The edits of a line, each once.

    Args:
        line: The line, without its indentation.
        no: How the language negates.
        instead: Constants that a check got, each with what it would like to see in its place.
    """
    if _SKIPPED.match(line) or not line.strip():
        return []
    found: dict[str, Edit] = {}
    for edit in _all(line, no, instead or {}):
        if edit.line != line:
            found.setdefault(edit.line, edit)
    return list(found.values())


def _all(line: str, no: str, instead: Mapping[str, str]) -> Iterator[Edit]:
    strings = [match.span() for match in _STRING.finditer(line)]

    def code(pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        for match in pattern.finditer(line):
            if not any(begin <= match.start() < end for begin, end in strings):
                yield match

    def put(match: re.Match[str], text: str, group: int = 0) -> str:
        return line[: match.start(group)] + text + line[match.end(group) :]

    for match in [*code(_SPACED), *code(_RANGE)]:
        for other, sort in _OPERATORS.get(match[0], ()):
            yield Edit(put(match, other), sort)
    for match in code(_NEGATION):
        yield Edit(put(match, ""), "negate")
    for match in code(_GROUP):
        yield Edit(line[: match.end()] + no + line[match.end() :], "logic")
    for match in code(_CONDITION):
        if not line[match.end() :].startswith(no):
            yield Edit(line[: match.end()] + no + line[match.end() :], "negate")
    for match in code(_OFFSET):
        yield Edit(put(match, ""), "offset")
    for match in code(_NUMBER):
        for other in _numbers(match[0], instead):
            yield Edit(put(match, other), "constant")
    for match in code(_INDEX):
        group = next(number for number in (1, 2, 3) if match[number])
        for by in (" - 1", " + 1"):
            if not match[group].lstrip("-").isdigit():
                yield Edit(put(match, match[group] + by, group), "offset")
    for match in code(_WORD):
        if match[0] in _WORDS:
            yield Edit(put(match, _WORDS[match[0]]), "word")
    for match in code(_OPERANDS):
        yield Edit(put(match, f"{match[3]} {match[2]} {match[1]}"), "swap")
    for match in code(_CALL):
        parts = _split(match[1])
        if len(parts) == 2 and " for " not in match[1]:
            yield Edit(put(match, f"{parts[1]}, {parts[0]}", 1), "swap")
    for begin, end in strings:
        if (text := instead.get(line[begin + 1 : end - 1])) is not None:
            yield Edit(f"{line[: begin + 1]}{text}{line[end - 1 :]}", "text")


def _numbers(number: str, instead: Mapping[str, str]) -> list[str]:
    near = [str(int(number) + 1), *([str(int(number) - 1)] if int(number) else [])]
    wanted = instead.get(number, "")
    return list(dict.fromkeys([*near, *([wanted] if wanted.isdigit() else [])]))


def _split(arguments: str) -> list[str]:
    """Arguments, by the commas between them."""
    parts, depth = [""], 0
    for character in arguments:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]
