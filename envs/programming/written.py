"""Tests out of what a model wrote: each by itself, as source."""

import ast
import re
from collections.abc import Iterator

from langgraph_reflexion.envs.programming.python_source import parse
from langgraph_reflexion.envs.programming.rust_source import code_of, macros

MANY = 100
"""So many tests are looked at: more is no test suite, but a model that does not stop."""
LONGEST = 1000
"""A test of more characters is left out: every prompt would have to hold it."""


def tests_in(code: str, language: str) -> list[str]:
    """The asserts in a piece of code, in their order, none twice. Whether one is valid is for the judge to say.

    Args:
        code: What a model wrote.
        language: `python` or `rust`.
    """
    found = _rust(code) if language == "rust" else _python(code)
    return [test for test in dict.fromkeys(found) if len(test) <= LONGEST][:MANY]


def _python(code: str) -> Iterator[str]:
    tree = parse(code)
    if tree is None:
        yield from _python_lines(code)
        return
    asserts = [node for node in ast.walk(tree) if isinstance(node, ast.Assert)]
    for node in sorted(asserts, key=lambda node: (node.lineno, node.col_offset)):
        yield from _unparsed(node)


def _python_lines(code: str) -> Iterator[str]:
    """The asserts of code that does not parse as a whole, each from its own line on, as far as it needs."""
    lines = code.splitlines()
    for start, line in enumerate(lines):
        if not line.lstrip().startswith("assert "):
            continue
        for end in range(start + 1, min(start + 20, len(lines)) + 1):
            tree = parse("\n".join([line.lstrip(), *lines[start + 1 : end]]))
            if tree is not None:
                yield from (test for node in tree.body if isinstance(node, ast.Assert) for test in _unparsed(node))
                break


def _unparsed(node: ast.Assert) -> Iterator[str]:
    try:
        yield ast.unparse(ast.Assert(node.test, None))
    except RecursionError:  # a sum of thousands, say
        return


def _rust(code: str) -> Iterator[str]:
    for macro in macros(code):
        yield _one_line(code[macro.start : macro.end])


def _one_line(test: str) -> str:
    code, line = code_of(test), test
    for match in reversed(list(re.finditer(r"\s*\n\s*", code))):
        line = f"{line[: match.start()]} {line[match.end() :]}"
    return f"{line};"
