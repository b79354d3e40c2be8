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


def tests_in(code: str, language: str) -> list[str]:
    """Return the asserts in code, in order, without duplicates; they may be invalid."""
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
