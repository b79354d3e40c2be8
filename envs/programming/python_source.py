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
LONGEST = 12_000
"""Maximum characters of a program that is parsed: the parser holds up all other tasks."""


class NotLiteralError(ValueError):
    """An expression is not a literal."""


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
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    return tree is not None and any(isinstance(node, kinds) and node.name == name for node in ast.walk(tree))


def expression(text: str) -> ast.expr:
    """Parse an expression, which may span several lines; raise NotLiteralError if it is not one."""
    tree = parse(f"({text.strip()}\n)")
    match tree and tree.body:
        case [ast.Expr(value)]:
            return value
    raise NotLiteralError(f"not an expression: {text[:100]!r}")


def literal(node: ast.expr) -> Any:
    """Evaluate a literal; arithmetic of small numbers, `nan`, `inf` and `float('nan')` are literals here."""
    match node:
        case ast.BinOp(left, kind, right) if type(kind) in _ARITHMETIC:
            numbers = [literal(left), literal(right)]
            if all(type(each) in (int, float) and abs(each) < _LARGEST for each in numbers):
                try:
                    return _ARITHMETIC[type(kind)](*numbers)
                except ZeroDivisionError:
                    raise NotLiteralError(ast.unparse(node)) from None
        case ast.UnaryOp(ast.USub(), operand):
            value = literal(operand)
            if type(value) in (int, float, complex):
                return -value
        case ast.List(items):
            return [literal(each) for each in items]
        case ast.Tuple(items):
            return tuple([literal(each) for each in items])
        case ast.Call(ast.Name("float"), [ast.Constant(str(text))], []) | ast.Name("inf" | "nan" as text):
            return float(text)
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError):
        raise NotLiteralError("not a literal") from None


def literal_of(text: str) -> Any:
    """The value of a literal's source."""
    return literal(expression(text))


def call_of(text: str) -> Call:
    """The arguments of a call's source."""
    return _arguments(expression(text))


def _arguments(node: ast.expr) -> Call:
    if not isinstance(node, ast.Call):
        raise NotLiteralError("no call")
    return [literal(each) for each in node.args], {each.arg or "": literal(each.value) for each in node.keywords}


def case_of(test: ast.stmt, names: Sequence[str]) -> Case | None:
    """An assert as a call with plain values; None where it is something else."""
    if not isinstance(test, ast.Assert):
        return None
    try:
        match test.test:
            case ast.Compare(ast.Call(ast.Name("abs"), [ast.BinOp(call, ast.Sub(), right)], []), [ast.Lt()], [bound]):
                made = Case(_call(call, names), ast.unparse(right), "close", float(literal(bound)))
            case ast.Compare(call, [kind], [right]):
                sign = ast.unparse(ast.Compare(ast.Name("a"), [kind], [ast.Name("b")])).strip("ab ")
                made = Case(_call(call, names), ast.unparse(right), sign)
            case ast.UnaryOp(ast.Not(), call):
                made = Case(_call(call, names), "False", "truth")
            case call:
                made = Case(_call(call, names), "True", "truth")
        value = literal_of(made.expected)
    except (NotLiteralError, TypeError, ValueError, OverflowError, RecursionError):
        return None
    # Python does not define the identity of other values.
    singular = value is None or value is True or value is False
    return made if singular or made.comparison not in ("is", "is not") else None


def _call(node: ast.expr, names: Sequence[str]) -> str:
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
    body = tree.body
    checks = [node for node in body if isinstance(node, ast.FunctionDef) and node.name == "check"]
    statements = checks[0].body if checks else body
    if checks and len(checks[0].args.args) != 1:
        return None
    names = [entry_point, *(check.args.args[0].arg for check in checks[:1])]
    cases = [case_of(statement, names) for statement in statements if not _is_empty(statement)]
    found = tuple(case for case in cases if case)
    return found if len(found) == len(cases) else None


def _is_empty(statement: ast.stmt) -> bool:
    match statement:
        case ast.Pass() | ast.Expr(ast.Constant() | ast.Name()):
            return True
        case ast.Assert(ast.Constant(value)):
            return bool(value)
    return False


def helpers(prompt: str, entry_point: str) -> str:
    """Return the imports and other definitions in a prompt, which may end within the requested function."""
    kinds = ast.Import | ast.ImportFrom | ast.Assign | ast.FunctionDef | ast.ClassDef
    for ending in ("", "\n    pass\n", "\n        pass\n"):
        if (tree := parse(prompt.rstrip() + ending)) is not None:
            kept = [ast.unparse(node) for node in tree.body if isinstance(node, kinds)]
            return "\n".join(each for each in kept if not defines(each, entry_point))
    return ""


def valid(test: str, entry_point: str, setup: str) -> bool:
    """Whether a text is a single assert that calls the function and knows every name in it, given the `setup`."""
    tree = parse(test, compiled=True)
    match tree and tree.body:
        case [ast.Assert() as node] if _calls(node, entry_point):
            names = [each for each in ast.walk(node) if isinstance(each, ast.Name)]
            bound = {each.id for each in names if isinstance(each.ctx, ast.Store)}
            bound |= {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
            # A name that only the model's own code defined would fail with every program.
            known = {*dir(builtins), *re.findall(r"\w+", setup), entry_point, *bound}
            return "*" in setup or all(each.id in known for each in names)
    return False


def _calls(node: ast.AST, name: str) -> bool:
    called = [each.func for each in ast.walk(node) if isinstance(each, ast.Call)]
    return any(isinstance(each, ast.Name) and each.id == name for each in called)
