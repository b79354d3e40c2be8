"""Rust's syntax as far as tests need it: strings and comments, brackets, asserts as calls with expected values."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
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
_OPENING = "([{"
_CLOSING = ")]}"
_NOT_LINE_END = re.compile(r"[^\n]")
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
    return _SKIPPED.sub(_blanked, source)


def _blanked(match: re.Match[str]) -> str:
    text = match[0]
    if text.startswith("/"):
        return _NOT_LINE_END.sub(" ", text)
    # A literal stays recognizable as something.
    return _NOT_LINE_END.sub("_", text)


def balanced(source: str) -> bool:
    """Whether all brackets match."""
    stack: list[str] = []
    for each in code_of(source):
        if each in _OPENING:
            stack.append(_CLOSING[_OPENING.index(each)])
        elif each in _CLOSING:
            if not stack or stack.pop() != each:
                return False
    return not stack


def macros(source: str) -> Iterator[Macro]:
    """Yield the asserts whose brackets match, in order."""
    code = code_of(source)
    brackets = _brackets(code)
    for match in _MACRO.finditer(code):
        cuts = brackets.get(match.end())
        if cuts is None:
            continue
        arguments = []
        begin = match.end()
        for cut in cuts:
            argument = source[begin:cut].strip()
            # There is none after a trailing comma.
            if argument:
                arguments.append(argument)
            begin = cut + 1
        # The last cut is the closing bracket.
        yield Macro(match[1], tuple(arguments), match.start(), begin)


def closing(source: str, start: int) -> int | None:
    """Return the position after the bracket that closes the one before `start`; None if there is none."""
    found = _brackets(code_of(source)).get(start)
    if found is None:
        return None
    return found[-1] + 1


def _brackets(code: str) -> dict[int, list[int]]:
    """Return, by the position after each bracket that is closed, those of its own commas and of its end."""
    found: dict[int, list[int]] = {}
    # What closes each open bracket, the position after it, and its commas so far.
    stack: list[tuple[str, int, list[int]]] = []
    for match in _BRACKET.finditer(code):
        each = match[0]
        index = match.start()
        if each in _OPENING:
            closing_one = _CLOSING[_OPENING.index(each)]
            stack.append((closing_one, index + 1, []))
        elif not stack:
            continue
        elif each == ",":
            stack[-1][2].append(index)
        elif stack[-1][0] == each:
            _, start, cuts = stack.pop()
            cuts.append(index)
            found[start] = cuts
        else:
            # None of the open ones can be closed any more.
            stack.clear()
    return found


def comparison(expression: str) -> tuple[str, str, str] | None:
    """Return left side, operator and right side of a comparison by `==` or `!=`; None if it is not one."""
    code = code_of(expression)
    level = 0
    for index, each in enumerate(code):
        # Only a comparison outside of brackets is one of the whole expression.
        level += (each in _OPENING) - (each in _CLOSING)
        operator = code[index : index + 2]
        if level != 0 or operator not in ("==", "!="):
            continue
        end = index + len(operator)
        others = code[:index] + " " + code[end:]
        if re.search(r"&&|\|\||==|!=", others):
            return None
        return expression[:index].strip(), operator, expression[end:].strip()
    return None


def rust_cases_of(test: str, entry_point: str) -> tuple[Case, ...]:
    """Return the hidden tests in MultiPL-E's `main`, which calls `candidate`; raise ValueError for others."""
    cases = []
    for macro in macros(test):
        if macro.name != "assert_eq" or len(macro.arguments) < 2 or not literal(macro.arguments[1]):
            source = test[macro.start : macro.end]
            raise ValueError(f"a test is not assert_eq! of a call and a literal: {source[:200]}")
        call = _named(macro.arguments[0], entry_point)
        expected = macro.arguments[1]
        cases.append(Case(call, expected))
    if not cases:
        raise ValueError("'test' holds no assert_eq!")
    return tuple(cases)


def _named(call: str, entry_point: str) -> str:
    """Return a call of `candidate` as one of the function, with strings in it left as they are."""
    found = list(re.finditer(r"\bcandidate\b", code_of(call)))
    # From the end on, so that the positions stay right.
    for match in reversed(found):
        call = call[: match.start()] + entry_point + call[match.end() :]
    return call


def case_of(macro: Macro) -> Case:
    """Convert an assert to an expression with its expected value: the literal in it, or `true`."""
    match macro.name, macro.arguments:
        case "assert", (expression, *_):
            return _asserted(expression)
        case "assert_eq", (left, right, *_):
            return _compared(left, "==", right)
        case "assert_ne", (left, right, *_):
            return _compared(left, "!=", right)
    raise ValueError(f"{macro.name}! with too few arguments")


def _asserted(expression: str) -> Case:
    found = comparison(expression)
    if found is not None:
        left, operator, right = found
        return _compared(left, operator, right)
    # `!f(1)` says that the value is false. `!f(1) || g(1)` does not.
    negated = expression.startswith("!")
    if negated and not re.search(r"&&|\|\||[=<>]", code_of(expression)):
        return Case(expression[1:].strip(), "false")
    return Case(expression, "true")


def _compared(left: str, by: str, right: str) -> Case:
    # The literal is the expected value, on whichever side it is.
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
    """Whether a tree, or a part of one, has nothing but literals in it."""
    if isinstance(tree, frozenset):
        return all(map(_constant, tree))
    if not isinstance(tree, tuple):
        return True
    if tree[0] == "struct":
        return False
    # Any other name may be a variable, a constant or a function.
    if tree[0] == "name" and tree[1] not in ("Some", "None", "Ok", "Err"):
        return False
    return all(map(_constant, tree[1:]))


def cases_in(text: str, entry_point: str) -> list[Case]:
    """Return the asserts in a text that call the function."""
    cases = []
    for macro in macros(text):
        source = text[macro.start : macro.end]
        if call_in(source, entry_point):
            cases.append(case_of(macro))
    return cases


def inner_call(expression: str, entry_point: str) -> str:
    """Return the call of the function within an expression; empty if there is none, or it is the whole expression."""
    match = call_in(expression, entry_point)
    if match is None:
        return ""
    end = closing(expression, match.end())
    if end is None:
        return ""
    call = expression[match.start() : end]
    if call == expression.strip():
        return ""
    return call


def call_in(text: str, entry_point: str) -> re.Match[str] | None:
    """Return the first call of the function, up to its bracket."""
    return re.search(rf"\b{re.escape(entry_point)}\s*\(", code_of(text))
