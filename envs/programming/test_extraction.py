"""The extraction of single tests from a model's reply."""

import ast
import re
from collections.abc import Iterator

from langgraph_reflexion.envs.programming.python_source import parse
from langgraph_reflexion.envs.programming.rust_source import code_of, macros

MAX_TESTS = 100
"""Maximum number of tests: more come from a model that does not stop."""
MAX_CHARACTERS = 1000
"""Maximum characters of a test, which every prompt has to contain."""
MAX_LINES = 20
"""Maximum lines of a test in code that does not parse as a whole."""
LONGEST = 15_000
"""Characters of code that are searched for tests."""

_TOKEN = re.compile(
    r"""(?P<text>'{3}.*?'{3}|"{3}.*?"{3}|'(?:\\.|[^'\\\n])*+'|"(?:\\.|[^"\\\n])*+"|\#[^\n]*)"""
    r"""|(?P<opens>[\[({])|(?P<closes>[\])}])|(?P<line>\n)""",
    re.DOTALL,
)


def tests_in(code: str, language: str) -> list[str]:
    """Return the asserts in code, in order, without duplicates; they may be invalid."""
    code = code[:LONGEST]
    if "assert" not in code:
        return []
    found = _rust(code) if language == "rust" else _python(code)
    return [test for test in dict.fromkeys(found) if len(test) <= MAX_CHARACTERS][:MAX_TESTS]


def _python(code: str) -> Iterator[str]:
    tree = parse(code)
    if tree is None:
        yield from _python_lines(code)
        return
    asserts = [node for node in ast.walk(tree) if isinstance(node, ast.Assert)]
    for node in sorted(asserts, key=lambda node: (node.lineno, node.col_offset)):
        yield from _unparsed(node)


def _python_lines(code: str) -> Iterator[str]:
    """Yield the asserts of code that does not parse as a whole, each from its own line on."""
    lines = code.splitlines()
    starts = [start for start, line in enumerate(lines) if line.lstrip().startswith("assert ")]
    for start in starts[: 2 * MAX_TESTS]:
        line = lines[start]
        tree = parse(_statement("\n".join([line.lstrip(), *lines[start + 1 : start + MAX_LINES]])))
        if tree is not None:
            yield from (test for node in tree.body if isinstance(node, ast.Assert) for test in _unparsed(node))


def _statement(code: str) -> str:
    """Return code up to the first line end outside of brackets and strings; nothing if they are never closed."""
    depth = 0
    for token in _TOKEN.finditer(code):
        depth += (token.lastgroup == "opens") - (token.lastgroup == "closes")
        if depth <= 0 and token.lastgroup == "line":
            return code[: token.start()]
    return code if depth <= 0 else ""


def _unparsed(node: ast.Assert) -> Iterator[str]:
    try:
        yield ast.unparse(ast.Assert(node.test, None))
    except RecursionError:  # a sum of thousands, say
        return


def _rust(code: str) -> Iterator[str]:
    for macro in macros(code):
        if macro.end - macro.start > 2 * MAX_CHARACTERS:
            continue
        yield _on_one_line(code[macro.start : macro.end])


def _on_one_line(test: str) -> str:
    code, line = code_of(test), test
    for match in reversed(list(re.finditer(r"\s*\n\s*", code))):
        line = f"{line[: match.start()]} {line[match.end() :]}"
    return f"{line};"
