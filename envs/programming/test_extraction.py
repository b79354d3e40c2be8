"""The extraction of single tests from a model's reply."""

import ast
import re
from collections.abc import Iterator
from itertools import islice

from langgraph_reflexion.envs.programming.episode import blocks_in
from langgraph_reflexion.envs.programming.inlining import standing_alone
from langgraph_reflexion.envs.programming.python_source import parse
from langgraph_reflexion.envs.programming.rust_source import code_of, macros
from langgraph_reflexion.envs.programming.unittest_source import converted

MAX_TESTS = 100
"""Maximum number of tests: more come from a model that does not stop."""
MAX_CHARACTERS = 1000
"""Maximum characters of a test, which every prompt has to contain."""
MAX_STATEMENTS = 2000
"""Maximum number of statements that are searched for tests."""
MAX_LINES = 20
"""Maximum lines of a test in code that does not parse as a whole."""
LONGEST = 15_000
"""Characters of code that are searched for tests."""

_TOKEN = re.compile(
    r"""(?P<text>'{3}.*?'{3}|"{3}.*?"{3}|'(?:\\.|[^'\\\n])*+'|"(?:\\.|[^"\\\n])*+"|\#[^\n]*)"""
    r"""|(?P<opens>[\[({])|(?P<closes>[\])}])|(?P<line>\n)""",
    re.DOTALL,
)

_CHECK = re.compile(r"(?:assert\s|self\.assert|with \w+\.(?:assert)?[rR]aises)")
"""How a line of a test begins."""


def tests_in_reply(text: str, language: str, *names: str) -> list[str]:
    """Return the asserts in a model's reply, in order, without duplicates; they may be invalid.

    All code blocks are read, in the language if there are any, since a reply may repeat the function first. Where
    they hold no test, the whole text is read.

    Args:
        text: The reply.
        language: `python` or `rust`.
        *names: The language's names after a fence.
    """
    found: list[str] = []
    left = LONGEST
    for code in blocks_in(text, *names):
        # All blocks of a reply share one limit.
        found += tests_in(code[:left], language)
        left = max(left - len(code), 0)
    if not found:
        found = tests_in(text, language)
    return list(dict.fromkeys(found))[:MAX_TESTS]


def tests_in(code: str, language: str) -> list[str]:
    """Return the asserts in code, in order, without duplicates; they may be invalid.

    In Python, the checks of `unittest` and `pytest.raises` are returned as asserts.
    """
    code = code[:LONGEST]
    if "assert" not in code and "raises" not in code:
        return []
    if language == "rust":
        found = _rust(code)
    else:
        found = _python(code)
    short = [test for test in dict.fromkeys(found) if len(test) <= MAX_CHARACTERS]
    return short[:MAX_TESTS]


def _python(code: str) -> Iterator[str]:
    tree = parse(code)
    if tree is None:
        yield from _python_lines(code)
        return
    for node in islice(standing_alone(tree.body), MAX_STATEMENTS):
        yield from _asserted(node)


def _python_lines(code: str) -> Iterator[str]:
    """Yield the asserts of code that does not parse as a whole, each from its own line on."""
    lines = code.splitlines()
    starts = [start for start, line in enumerate(lines) if _CHECK.match(line.lstrip())]
    for start in starts[: 2 * MAX_TESTS]:
        first = lines[start].lstrip()
        rest = lines[start + 1 : start + MAX_LINES]
        if first.startswith("with ") and rest:
            # The check is the block's only line.
            statement = f"{first}\n    {rest[0].lstrip()}"
        else:
            statement = _statement("\n".join([first, *rest]))
        tree = parse(statement)
        if tree is None:
            continue
        for node in tree.body:
            yield from _asserted(node)


def _statement(code: str) -> str:
    """Return code up to the first line end outside of brackets and strings; nothing if they are never closed."""
    depth = 0
    for token in _TOKEN.finditer(code):
        depth += _change_of_depth(token)
        if depth <= 0 and token.lastgroup == "line":
            return code[: token.start()]
    if depth > 0:
        return ""
    return code


def closing_bracket(code: str, start: int) -> int | None:
    """Return the position after the bracket that closes the one before `start` in Python; None if there is none."""
    depth = 1
    for token in _TOKEN.finditer(code, start):
        depth += _change_of_depth(token)
        if depth == 0:
            return token.end()
    return None


def _change_of_depth(token: re.Match[str]) -> int:
    if token.lastgroup == "opens":
        return 1
    if token.lastgroup == "closes":
        return -1
    return 0


def _asserted(node: ast.stmt) -> Iterator[str]:
    """Yield what a statement asserts, as asserts without a message."""
    if isinstance(node, ast.Assert):
        yield from _unparsed(_without_message(node.test))
        return
    for condition in converted(node):
        yield from _unparsed(condition)


def _without_message(condition: ast.expr) -> ast.expr:
    """Return what `assert (f(1) == 2, "message")` means: as a tuple, it would hold for every program."""
    match condition:
        case ast.Tuple([checked, ast.Constant(str()) | ast.JoinedStr()]):
            return checked
    return condition


def _unparsed(condition: ast.expr) -> Iterator[str]:
    try:
        yield ast.unparse(ast.Assert(condition, None))
    except RecursionError:
        # A sum of thousands of numbers, say.
        return


def _rust(code: str) -> Iterator[str]:
    for macro in macros(code):
        if macro.end - macro.start > 2 * MAX_CHARACTERS:
            continue
        yield _on_one_line(code[macro.start : macro.end])


def _on_one_line(test: str) -> str:
    """Return a test in Rust without the line ends that are outside of strings."""
    line_ends = list(re.finditer(r"\s*\n\s*", code_of(test)))
    line = test
    # From the end on, so that the positions stay right.
    for match in reversed(line_ends):
        before = line[: match.start()]
        after = line[match.end() :]
        line = f"{before} {after}"
    return f"{line};"
