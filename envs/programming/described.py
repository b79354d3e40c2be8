"""The examples in a problem's description, as tests; and which tests contradict them."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from langgraph_reflexion.envs.programming.problems import Case, Problem
from langgraph_reflexion.envs.programming.python_source import NotLiteralError, call_of, case_of, literal_of, parse
from langgraph_reflexion.envs.programming.rust_source import call_in, cases_in, closing, code_of, literal
from langgraph_reflexion.envs.programming.rust_values import NotValueError, read_value
from langgraph_reflexion.envs.programming.test_extraction import closing_bracket, tests_in
from langgraph_reflexion.envs.programming.values import holds

_LONGEST = 2000
"""Maximum characters of an example."""
_MOST = 50
"""Maximum number of examples."""

# A single "=" is left out: descriptions define recurrences with it, such as "f(n) = f(n - 1) + 1".
_GIVES = re.compile(
    r"[ \t`]*(?:#|//)?[ \t]*"
    r"(?:={1,2}>|-+>|\u279e|\u2192|==|(?:(?:should|must|will)[ \t]+)?(?:returns?|gives?)\b[: \t])"
    r"[ \t`]*",
    re.IGNORECASE,
)
"""What stands between a call and its value."""
_PROMPT = ">>>"
_AFTER = (_PROMPT, '"""', "'''", "def ", "fn ", "pub ")
"""How a line begins that is not part of a doctest's value."""
_WORDS = {"true": "True", "false": "False", "null": "None", "none": "None"}
"""Values as descriptions spell them, and as Python does."""


def examples_in(problem: Problem) -> list[str]:
    """Return the examples in a problem's prompt as tests, in order, without duplicates.

    These are doctests (`>>> f(1)`, with the value in the next line), calls with their value after `==`, `=>`, `->` or
    "returns", and asserts. If two examples give a call different values, both are left out.

    Args:
        problem: A problem in Python or Rust.
    """
    text = _without_marks(problem.prompt)
    found = list(_asserts(problem, text))
    found += _calls(problem, text)
    examples = list(dict.fromkeys(found))[:_MOST]
    return [test for test in examples if not contradicts(problem, test, examples)]


def contradicts(problem: Problem, test: str, examples: Sequence[str]) -> bool:
    """Return whether a test expects another value of a call than an example does.

    Args:
        problem: The problem.
        test: A valid test.
        examples: Examples, as `examples_in` returns them.
    """
    case = _case(problem, test)
    if case is None:
        return False
    call = _key(problem, case.call)
    for example in examples:
        given = _case(problem, example)
        if given is None or given.comparison != "==":
            continue
        if _key(problem, given.call) != call:
            continue
        if not _agrees(problem, given, case):
            return True
    return False


def _without_marks(prompt: str) -> str:
    """Return a prompt without the marks of comments at the beginning of lines."""
    return re.sub(r"^[ \t]*(?://[/!]?|#|\*)[ \t]?", "", prompt, flags=re.MULTILINE)


def _asserts(problem: Problem, text: str) -> Iterator[str]:
    """Yield the asserts of the function that are lines of a description."""
    for line in text.splitlines():
        statement = line.strip()
        if not statement.startswith("assert"):
            continue
        for test in tests_in(statement, problem.language):
            if call_in(test, problem.entry_point):
                yield test


def _calls(problem: Problem, text: str) -> Iterator[str]:
    """Yield the calls of the function that a description says the value of, as tests."""
    name = re.escape(problem.entry_point)
    # Not within a longer name, as a method, or where the function is defined.
    for match in re.finditer(rf"(?<![\w.])(?<!def )(?<!fn ){name}\(", text):
        line_start = text.rfind("\n", 0, match.start()) + 1
        before = text[line_start : match.start()].strip()
        if before.startswith("assert"):
            continue
        after = text[match.start() : match.start() + _LONGEST]
        length_of_name = len(match[0])
        example = _example(problem, before, after, length_of_name)
        if example is None:
            continue
        expression, value = example
        test = _test(problem, expression, value)
        if test:
            yield test


def _example(problem: Problem, before: str, after: str, opened: int) -> tuple[str, str] | None:
    """Return expression and value of an example; None if it is not one.

    Args:
        problem: The problem.
        before: What stands before a call in its line.
        after: The text from the call on.
        opened: The position after the call's opening bracket.
    """
    end = _end_of_call(problem, after, opened)
    if end is None:
        return None
    example = _stated(after, end)
    if example is None and before.startswith(_PROMPT):
        begun = before.removeprefix(_PROMPT).strip()
        return _doctest(begun, after)
    return example


def _end_of_call(problem: Problem, text: str, opened: int) -> int | None:
    """Return where the call at the beginning of a text ends; None if it has no literal arguments, as in `f(word)`."""
    if problem.language == "rust":
        return closing(text, opened)
    end = closing_bracket(text, opened)
    try:
        call_of(text[:end])
    except NotLiteralError:
        return None
    return end


def _stated(after: str, end: int) -> tuple[str, str] | None:
    """Return call and value of an example in a line: `f(1) == 2`, `f(1) -> 2`, "f(1) returns 2"."""
    gives = _GIVES.match(after, end)
    if gives is None:
        return None
    call = after[:end]
    value = after[gives.end() :]
    line = value.partition("\n")[0]
    if value[:1] in ("[", "(", "{"):
        # A list may have several lines.
        bracket = closing_bracket(value, 1)
        if bracket is not None and bracket > len(line):
            return call, value[:bracket]
    return call, line


def _doctest(begun: str, after: str) -> tuple[str, str] | None:
    """Return expression and value of a doctest, whose value may have several lines."""
    lines = after.splitlines()
    value: list[str] = []
    for line in lines[1:]:
        part = line.strip()
        if not part or part.startswith(_AFTER):
            break
        value.append(part)
    if not value:
        return None
    expression = f"{begun}{lines[0]}".strip()
    return expression, " ".join(value)


def _test(problem: Problem, expression: str, value: str) -> str:
    """Return an example as a test; empty if its value is not a literal."""
    for text in _readings(value):
        if problem.language == "rust":
            if literal(text):
                return f"assert_eq!({expression}, {text});"
            continue
        spelt = _WORDS.get(text, text)
        try:
            literal_of(spelt)
        except NotLiteralError:
            continue
        # The expression may be a comparison, or end in a comment.
        found = tests_in(f"assert ({expression}\n) == {spelt}", problem.language)
        if not found:
            return ""
        return found[0]
    return ""


def _readings(value: str) -> Iterator[str]:
    """Yield what may be the value at the beginning of a text."""
    value = value.strip().rstrip("`").removesuffix(".")
    yield value
    # A remark, or the rest of a sentence.
    for mark in ("  ", " #", " //", "#", ". ", ", ", "; ", " (", " because ", " since "):
        before, found, _ = value.partition(mark)
        if found:
            yield before.strip().rstrip(".,;`")
    yield value.rstrip(".,;` ")


def _case(problem: Problem, test: str) -> Case | None:
    """Return a test as a call with the value that it expects; None if it is something else."""
    if problem.language == "rust":
        cases = cases_in(test, problem.entry_point)
        if not cases:
            return None
        return cases[0]
    tree = parse(test)
    if tree is None or len(tree.body) != 1:
        return None
    return case_of(tree.body[0], [problem.entry_point])


def _key(problem: Problem, call: str) -> Any:
    """Return what two spellings of a call have in common."""
    if problem.language != "rust":
        return repr(call_of(call))
    blanked = code_of(call)
    # Spaces in strings are blanked there, and so kept.
    kept = []
    for character, code in zip(call, blanked, strict=True):
        if not code.isspace():
            kept.append(character)
    return "".join(kept)


def _agrees(problem: Problem, given: Case, case: Case) -> bool:
    """Return whether the value in an example passes a test of the same call."""
    if problem.language != "rust":
        value = literal_of(given.expected)
        return holds(value, case.comparison, literal_of(case.expected), case.atol)
    try:
        same = read_value(given.expected) == read_value(case.expected)
    except NotValueError:
        return True
    return same is (case.comparison == "==")
