"""The parts of Rust's syntax that tests need: strings and comments, matching brackets, arguments of asserts."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_SKIPPED = re.compile(
    r"""//[^\n]*"""
    r"""|/\*.*?\*/"""
    r"""|b?r(?P<hashes>\#*)"(?:.*?)"(?P=hashes)"""
    r"""|b?"(?:\\.|[^"\\])*\""""
    r"""|b?'(?:\\(?:u\{[0-9a-fA-F]*\}|x[0-9a-fA-F]{2}|.)|[^'\\\n])'""",
    re.DOTALL,
)
_OPENING, _CLOSING = "([{", ")]}"
_MACRO = re.compile(r"\b(assert|assert_eq|assert_ne)!\s*\(")


@dataclass(frozen=True, slots=True)
class Macro:
    """An assert."""

    name: str
    arguments: tuple[str, ...]
    """The source of each."""
    start: int
    end: int


def code_of(source: str) -> str:
    """Blank out strings, characters and comments; positions stay the same."""
    return _SKIPPED.sub(
        lambda match: re.sub(r"[^\n]", " ", match[0]) if match[0][0] == "/" else _blank(match[0]), source
    )


def _blank(text: str) -> str:
    # A literal stays recognizable as something.
    return "".join("\n" if each == "\n" else "_" for each in text)


def depth(source: str) -> int:
    """Return the number of braces that are open at the end."""
    code = code_of(source)
    return code.count("{") - code.count("}")


def function_end(source: str, start: int) -> int | None:
    """Return the end of the function that is open at `start`; None if it never ends."""
    level, code = 0, code_of(source)
    for index, each in enumerate(code):
        level += (each == "{") - (each == "}")
        if level <= 0 and index >= start and each == "}":
            return index + 1
    return None


def balanced(source: str) -> bool:
    """Whether all brackets match."""
    stack: list[str] = []
    for each in code_of(source):
        if each in _OPENING:
            stack.append(_CLOSING[_OPENING.index(each)])
        elif each in _CLOSING and (not stack or stack.pop() != each):
            return False
    return not stack


def macros(source: str) -> Iterator[Macro]:
    """Yield the asserts whose brackets match, in order."""
    code = code_of(source)
    for match in _MACRO.finditer(code):
        cuts, end = _split(code, match.end())
        if end is None:
            continue
        parts = [source[start:stop].strip() for start, stop in cuts]
        yield Macro(match[1], tuple(each for each in parts if each), match.start(), end)


def closing(source: str, start: int) -> int | None:
    """Return the position after the bracket that closes the one before `start`; None if there is none."""
    return _split(code_of(source), start)[1]


def _split(code: str, start: int) -> tuple[list[tuple[int, int]], int | None]:
    """Split at the outermost commas up to the closing bracket; the end is None if it is never closed."""
    stack = [")"]
    cuts: list[tuple[int, int]] = []
    begin = start
    for index in range(start, len(code)):
        each = code[index]
        if each in _OPENING:
            stack.append(_CLOSING[_OPENING.index(each)])
        elif each in _CLOSING:
            if stack.pop() != each:
                return cuts, None
            if not stack:
                return [*cuts, (begin, index)], index + 1
        elif each == "," and len(stack) == 1:
            cuts.append((begin, index))
            begin = index + 1
    return cuts, None


def comparison(expression: str) -> tuple[str, str, str] | None:
    """Return left side, operator and right side of a comparison by `==` or `!=`; None if it is not one."""
    code, level = code_of(expression), 0
    for index, each in enumerate(code):
        level += (each in _OPENING) - (each in _CLOSING)
        if level == 0 and code[index : index + 2] in ("==", "!="):
            if re.search(r"&&|\|\||==|!=", code[:index] + " " + code[index + 2 :]):
                return None
            return expression[:index].strip(), code[index : index + 2], expression[index + 2 :].strip()
    return None
