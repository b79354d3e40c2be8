"""The source of Python tests: which are calls with plain values, and what the others need."""

import ast
import builtins
import operator
import re
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from langgraph_reflexion.envs.programming.problems import Case
from langgraph_reflexion.envs.programming.values import Call

_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_LARGEST = 1 << 64
"""Numbers in arithmetic are smaller than this, since `2 ** 64 * 2 ** 64 * ...` could be of any length."""
_SIGNS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
LONGEST = 12_000
"""Maximum characters of a program that is parsed: the parser holds up all other tasks."""


class NotLiteralError(ValueError):
    """An expression is not a literal."""


# What `warnings.catch_warnings` changes is shared by all threads.
_parsing = threading.Lock()


def parse(source: str, *, compiled: bool = False) -> ast.Module | None:
    """Parse source without warnings.

    Returns:
        The tree; None if the source is not Python, or `compiled` and it does not compile (a `return` out of place).
    """
    try:
        with _parsing, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
            if compiled:
                compile(tree, "solution.py", "exec")
            return tree
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    except SystemError:
        # Before Python 3.11.8 and 3.12.2, if another thread happens to parse something (CPython issue 106905).
        return parse(source, compiled=compiled)


def defines(source: str, name: str) -> bool:
    """Whether a program compiles and defines a function or method of this name; an endless one does not."""
    if len(source) > LONGEST:
        return False
    tree = parse(source, compiled=True)
    if tree is None:
        return False
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            return True
    return False


def expression(text: str) -> ast.expr:
    """Parse an expression, which may span several lines; raise NotLiteralError if it is not one."""
    tree = parse(f"({text.strip()}\n)")
    match tree and tree.body:
        case [ast.Expr(value)]:
            return value
    raise NotLiteralError(f"not an expression: {text[:100]!r}")


def literal(node: ast.expr) -> Any:
    """Evaluate a literal; arithmetic of small numbers, `nan`, `inf` and `float('nan')` are literals here.

    Raises:
        NotLiteralError: the expression is not one.
    """
    match node:
        case ast.BinOp(left, kind, right) if type(kind) in _ARITHMETIC:
            first = literal(left)
            second = literal(right)
            if _is_small(first) and _is_small(second):
                try:
                    return _ARITHMETIC[type(kind)](first, second)
                except ZeroDivisionError:
                    raise NotLiteralError(ast.unparse(node)) from None
            # What remains is for Python to decide: `1 + 2j` is a literal, and `[1] + [2]` is not.
        case ast.UnaryOp(ast.USub(), operand):
            value = literal(operand)
            if type(value) in (int, float, complex):
                return -value
        case ast.List(items):
            return [literal(each) for each in items]
        case ast.Tuple(items):
            return tuple([literal(each) for each in items])
        # What `repr` writes for these is not a literal in Python.
        case ast.Call(ast.Name("float"), [ast.Constant(str(text))], []) | ast.Name("inf" | "nan" as text):
            return float(text)
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError):
        raise NotLiteralError("not a literal") from None


def _is_small(value: Any) -> bool:
    """Whether this is a number with which arithmetic is done."""
    return type(value) in (int, float) and abs(value) < _LARGEST


def literal_of(text: str) -> Any:
    """Return the value of a literal's source; raise NotLiteralError if it is not one."""
    return literal(expression(text))


def call_of(text: str) -> Call:
    """Return the arguments of a call's source; raise NotLiteralError if it is not a call with literals."""
    return _arguments(expression(text))


def _arguments(node: ast.expr) -> Call:
    if not isinstance(node, ast.Call):
        raise NotLiteralError("no call")
    positional = [literal(each) for each in node.args]
    keywords = {each.arg or "": literal(each.value) for each in node.keywords}
    return positional, keywords


def case_of(test: ast.stmt, names: Sequence[str]) -> Case | None:
    """Return an assert as a call with plain values; None if it is something else.

    Args:
        test: A statement.
        names: What the function is called.
    """
    if not isinstance(test, ast.Assert):
        return None
    try:
        case = _compared(test.test, names)
        value = literal_of(case.expected)
    except (NotLiteralError, TypeError, ValueError, OverflowError, RecursionError):
        return None
    # Python does not define the identity of other values.
    singular = value is None or value is True or value is False
    if case.comparison in ("is", "is not") and not singular:
        return None
    return case


def _compared(condition: ast.expr, names: Sequence[str]) -> Case:
    """Return a condition as a call and what its value is compared with; raise NotLiteralError for any other."""
    match condition:
        case ast.Compare(ast.Call(ast.Name("abs"), [ast.BinOp(call, ast.Sub(), right)], []), [ast.Lt()], [bound]):
            source = _call(call, names)
            return Case(source, ast.unparse(right), "close", float(literal(bound)))
        case ast.Compare(call, [kind], [right]):
            source = _call(call, names)
            return Case(source, ast.unparse(right), _SIGNS[type(kind)])
        case ast.UnaryOp(ast.Not(), call):
            return Case(_call(call, names), "False", "truth")
    return Case(_call(condition, names), "True", "truth")


def _call(node: ast.expr, names: Sequence[str]) -> str:
    """Return the source of a call of the function with literals; raise NotLiteralError for any other."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names):
        raise NotLiteralError("not a call of the candidate")
    if any(keyword.arg is None for keyword in node.keywords):
        raise NotLiteralError("unpacked arguments")
    _arguments(node)
    return ast.unparse(node)


def cases_of(source: str, entry_point: str) -> tuple[Case, ...] | None:
    """Return hidden tests, a function `check` or plain asserts, as cases; None if one of them is something else.

    Raises:
        ValueError: they are not Python.
    """
    tree = parse(source)
    if tree is None:
        raise ValueError("the tests are not Python")
    names = [entry_point]
    statements = tree.body
    check = _check_function(tree)
    if check is not None:
        if len(check.args.args) != 1:
            return None
        # Within `check`, the function is called by the name of the parameter.
        names.append(check.args.args[0].arg)
        statements = check.body

    cases = []
    for statement in statements:
        if _is_empty(statement):
            continue
        case = case_of(statement, names)
        if case is None:
            return None
        cases.append(case)
    return tuple(cases)


def _check_function(tree: ast.Module) -> ast.FunctionDef | None:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == "check":
            return node
    return None


def _is_empty(statement: ast.stmt) -> bool:
    """Whether a statement checks nothing: `pass`, a docstring, `assert True`."""
    match statement:
        case ast.Pass() | ast.Expr(ast.Constant() | ast.Name()):
            return True
        case ast.Assert(ast.Constant(value)):
            return bool(value)
    return False


def helpers(prompt: str, entry_point: str) -> str:
    """Return the imports and other definitions in a prompt, which may end within the requested function."""
    tree = _begun(prompt)
    if tree is None:
        return ""
    kept = []
    for node in tree.body:
        if not isinstance(node, ast.Import | ast.ImportFrom | ast.Assign | ast.FunctionDef | ast.ClassDef):
            continue
        source = ast.unparse(node)
        if not defines(source, entry_point):
            kept.append(source)
    return "\n".join(kept)


def _begun(prompt: str) -> ast.Module | None:
    """Parse a program that may end within a function or a method; None if it is not Python."""
    # A prompt often ends with a signature and a description, perhaps of a method.
    for ending in ("", "\n    pass\n", "\n        pass\n"):
        tree = parse(prompt.rstrip() + ending)
        if tree is not None:
            return tree
    return None


def valid(test: str, entry_point: str, setup: str) -> bool:
    """Whether a text is a single assert that calls the function and knows every name in it, given the `setup`."""
    tree = parse(test, compiled=True)
    if tree is None or len(tree.body) != 1:
        return False
    node = tree.body[0]
    if not isinstance(node, ast.Assert) or not _calls(node, entry_point):
        return False
    if "*" in setup:
        # `from module import *` may define any name.
        return True

    # A name that only the model's own code defined would fail with every program.
    known = {entry_point}
    known.update(dir(builtins))
    known.update(re.findall(r"\w+", setup))
    used = set()
    for each in ast.walk(node):
        if isinstance(each, ast.arg):
            known.add(each.arg)
        if isinstance(each, ast.Name):
            used.add(each.id)
            if isinstance(each.ctx, ast.Store):
                known.add(each.id)
    return used <= known


def _calls(node: ast.AST, name: str) -> bool:
    """Whether the function of this name is called somewhere in a node."""
    for each in ast.walk(node):
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id == name:
            return True
    return False
