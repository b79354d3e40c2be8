"""Rust's syntax as far as tests need it: strings and comments, brackets, asserts as calls with expected values."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from langgraph_reflexion.envs.programming.problems import Case
from langgraph_reflexion.envs.programming.rust_values import NotValueError, read_value

_SKIPPED = re.compile(
    r"""//[^\n]*"""
    # What is never closed reaches to the end, or each opening would be searched for its end.
    r"""|/\*.*?(?:\*/|\Z)"""
    r"""|b?r(?P<hashes>\#*+)"(?:.*?)(?:"(?P=hashes)|\Z)"""
    r"""|b?"(?:\\.|[^"\\])*+(?:"|\\?\Z)"""
    r"""|b?'(?:\\(?:u\{[0-9a-fA-F]*\}|x[0-9a-fA-F]{2}|.)|[^'\\\n])'""",
    re.DOTALL,
)
_OPENING, _CLOSING = "([{", ")]}"
_BRACKET = re.compile(r"[\[\](){},]")
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
    brackets = _brackets(code)
    for match in _MACRO.finditer(code):
        if match.end() in brackets:
            *cuts, end = brackets[match.end()]
            parts = [source[start + 1 : stop].strip() for start, stop in pairwise([match.end() - 1, *cuts, end])]
            yield Macro(match[1], tuple(each for each in parts if each), match.start(), end + 1)


def closing(source: str, start: int) -> int | None:
    """Return the position after the bracket that closes the one before `start`; None if there is none."""
    found = _brackets(code_of(source)).get(start)
    return found[-1] + 1 if found else None


def _brackets(code: str) -> dict[int, list[int]]:
    """Return, by the position after each bracket that is closed, those of its own commas and of its end."""
    found: dict[int, list[int]] = {}
    stack: list[tuple[str, int, list[int]]] = []
    for match in _BRACKET.finditer(code):
        each, index = match[0], match.start()
        if each in _OPENING:
            stack.append((_CLOSING[_OPENING.index(each)], index + 1, []))
        elif not stack:
            continue
        elif each == ",":
            stack[-1][2].append(index)
        elif stack[-1][0] == each:
            _, start, commas = stack.pop()
            found[start] = [*commas, index]
        else:
            stack.clear()  # none of them can be closed any more
    return found


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


def rust_cases_of(test: str, entry_point: str) -> tuple[Case, ...]:
    """Return the hidden tests in MultiPL-E's `main`, which calls `candidate`; raise ValueError for others."""
    cases = []
    for macro in macros(test):
        if macro.name != "assert_eq" or len(macro.arguments) < 2 or not literal(macro.arguments[1]):
            raise ValueError(
                f"a test is not assert_eq! of a call and a literal: {test[macro.start : macro.end][:200]}"
            )
        cases.append(Case(_named(macro.arguments[0], entry_point), macro.arguments[1]))
    if not cases:
        raise ValueError("'test' holds no assert_eq!")
    return tuple(cases)


def _named(call: str, entry_point: str) -> str:
    code = code_of(call)
    for match in reversed(list(re.finditer(r"\bcandidate\b", code))):
        call = call[: match.start()] + entry_point + call[match.end() :]
    return call


def case_of(macro: Macro) -> Case:
    """Convert an assert to an expression with its expected value: the literal in it, or `true`."""
    match macro.name, macro.arguments:
        case "assert", (expression, *_):
            if found := comparison(expression):
                return _compared(*found)
            if expression.startswith("!") and not re.search(r"&&|\|\||[=<>]", code_of(expression)):
                return Case(expression[1:].strip(), "false")
            return Case(expression, "true")
        case "assert_eq", (left, right, *_):
            return _compared(left, "==", right)
        case "assert_ne", (left, right, *_):
            return _compared(left, "!=", right)
    raise ValueError(f"{macro.name}! with too few arguments")


def _compared(left: str, by: str, right: str) -> Case:
    if literal(right):
        return Case(left, right, by)
    if literal(left):
        return Case(right, left, by)
    return Case(f"({left}) {by} ({right})", "true")


def literal(text: str) -> bool:
    """Whether this is the source of a literal."""
    try:
        return _constant(read_value(text))
    except NotValueError:
        return False


def _constant(tree: Any) -> bool:
    # Any other name may be a variable, a constant or a function.
    if isinstance(tree, frozenset):
        return all(map(_constant, tree))
    if not isinstance(tree, tuple):
        return True
    if tree[0] == "struct" or (tree[0] == "name" and tree[1] not in ("Some", "None", "Ok", "Err")):
        return False
    return all(map(_constant, tree[1:]))


def cases_in(text: str, entry_point: str) -> list[Case]:
    """Return the asserts in a text that call the function."""
    return [case_of(macro) for macro in macros(text) if call_in(text[macro.start : macro.end], entry_point)]


def inner_call(expression: str, entry_point: str) -> str:
    """Return the call of the function within an expression; empty if there is none, or it is the whole expression."""
    match = call_in(expression, entry_point)
    if match is None:
        return ""
    end = closing(expression, match.end())
    call = expression[match.start() : end]
    return "" if end is None or call == expression.strip() else call


def call_in(text: str, entry_point: str) -> re.Match[str] | None:
    """Return the first call of the function, up to its bracket."""
    return re.search(rf"\b{re.escape(entry_point)}\s*\(", code_of(text))
