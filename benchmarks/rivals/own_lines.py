"""Count the lines that a user writes to let an agent try again in a rival's way."""

import ast
from pathlib import Path

NOT_COUNTED = ("solve_kept", "solve_fresh", "limit_steps")
"""Functions of an adapter that are there for the benchmark."""


def own_lines(file: Path) -> int:
    """Return the lines of code of an adapter, without imports, docstrings, comments and what is for the benchmark."""
    text = file.read_text(encoding="utf-8")
    tree = ast.parse(text)
    counted: set[int] = set()
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom) or is_docstring(node):
            continue
        if isinstance(node, ast.FunctionDef) and node.name in NOT_COUNTED:
            continue
        counted.update(lines_of(node))
    for inner in ast.walk(tree):
        if is_docstring(inner):
            counted.difference_update(lines_of(inner))
    written = text.splitlines()
    return sum(is_code(written[number - 1]) for number in counted)


def is_docstring(node: ast.AST) -> bool:
    """Return whether a statement is a text alone."""
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
        return False
    return isinstance(node.value.value, str)


def lines_of(node: ast.AST) -> range:
    """Return the numbers of the lines of a statement."""
    assert isinstance(node, ast.stmt)
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def is_code(line: str) -> bool:
    """Return whether a line holds more than a comment."""
    stripped = line.strip()
    return bool(stripped) and not stripped.startswith("#")
