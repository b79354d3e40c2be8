"""Python tests as source: which are calls with plain values, and what the others need."""

import ast
import builtins
import operator
import re
import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph_reflexion.envs.programming.problems import Case
from langgraph_reflexion.envs.programming.python_runs import Call

_NAMES = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Is: "is",
    ast.IsNot: "is not",
}
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_LARGEST = 1 << 64


class NotLiteralError(ValueError):
    """An expression is no literal."""


_parsing = threading.Lock()


def parse(source: str) -> ast.Module | None:
    """The source as a tree; None where it is no Python. What Python warns of in it is nobody's concern here."""
    with _parsing, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def defines(source: str, name: str) -> bool:
    """Whether this is a program that can be compiled, and defines a function, by itself or as a method."""
    tree = parse(source)
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    return (
        tree is not None
        and compiles(tree)
        and any(isinstance(node, kinds) and node.name == name for node in ast.walk(tree))
    )


def compiles(tree: ast.Module) -> bool:
    """Whether a program that parses is one: `return` and `await` are at their places."""
    with _parsing, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(tree, "solution.py", "exec")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


def expression(text: str) -> ast.expr:
    """The tree of an expression's source, which may go over several lines.

    Raises:
        NotLiteralError: it is none.
    """
    tree = parse(f"({text.strip()}\n)")
    match tree and tree.body:
        case [ast.Expr(value)]:
            return value
    raise NotLiteralError(f"no expression: {text[:100]!r}")


def literal(node: ast.expr) -> Any:
    """The value of a literal; sums, products and the like of small numbers, and float('nan'), are literals here.

    Raises:
        NotLiteralError: it is something else.
    """
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
        case ast.Call(ast.Name("float"), [ast.Constant(str(text))], []):
            return float(text)
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError):
        raise NotLiteralError("no literal") from None


def literal_of(text: str) -> Any:
    """The value of a literal's source.

    Raises:
        NotLiteralError: it is none.
    """
    return literal(expression(text))


def call_of(text: str) -> Call:
    """The arguments of a call's source.

    Raises:
        NotLiteralError: it is no call with plain arguments.
    """
    return _arguments(expression(text))


def _arguments(node: ast.expr) -> Call:
    if not isinstance(node, ast.Call):
        raise NotLiteralError("no call")
    return [literal(each) for each in node.args], {each.arg or "": literal(each.value) for each in node.keywords}


def case_of(test: ast.stmt, names: Sequence[str]) -> Case | None:
    """An assert as a call with plain values; None where it is something else.

    Args:
        test: The statement.
        names: What the candidate is called in it.
    """
    if not isinstance(test, ast.Assert):
        return None
    try:
        match test.test:
            case ast.Compare(ast.Call(ast.Name("abs"), [ast.BinOp(call, ast.Sub(), right)], []), [ast.Lt()], [bound]):
                made = Case(_call(call, names), ast.unparse(right), "close", float(literal(bound)))
            case ast.Compare(call, [kind], [right]):
                made = Case(_call(call, names), ast.unparse(right), _NAMES[type(kind)])
            case ast.UnaryOp(ast.Not(), call):
                made = Case(_call(call, names), "False", "truth")
            case call:
                made = Case(_call(call, names), "True", "truth")
        value = literal_of(made.expected)
    except (NotLiteralError, TypeError, ValueError, OverflowError, RecursionError):
        return None
    # Identity of anything else is nobody's promise.
    singular = value is None or value is True or value is False
    return made if singular or made.comparison not in ("is", "is not") else None


def _call(node: ast.expr, names: Sequence[str]) -> str:
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names):
        raise NotLiteralError("no call of the candidate")
    if any(keyword.arg is None for keyword in node.keywords):
        raise NotLiteralError("unpacked arguments")
    _arguments(node)
    return ast.unparse(node)


@dataclass(frozen=True, slots=True)
class Split:
    """Tests taken apart."""

    cases: tuple[Case, ...]
    rest: bool
    """Whether there is anything that is no such call."""


def split_tests(source: str, entry_point: str) -> Split:
    """Take a file of hidden tests apart: a function `check`, or asserts by themselves.

    Args:
        source: The tests.
        entry_point: What they may call beside `candidate`.

    Raises:
        ValueError: it is no Python.
    """
    tree = parse(source)
    if tree is None:
        raise ValueError("the tests are no Python")
    body = tree.body
    checks = [node for node in body if isinstance(node, ast.FunctionDef) and node.name == "check"]
    statements = checks[0].body if checks else body
    if checks and len(checks[0].args.args) != 1:
        return Split((), rest=True)
    names = {checks[0].args.args[0].arg, entry_point} if checks else {entry_point}
    cases, rest = [], False
    for statement in statements:
        if _says_nothing(statement):
            continue
        case = case_of(statement, sorted(names))
        rest = rest or case is None
        cases += [case] if case else []
    return Split(tuple(cases), rest)


def _says_nothing(statement: ast.stmt) -> bool:
    match statement:
        case ast.Pass() | ast.Expr(ast.Constant() | ast.Name()):
            return True
        case ast.Assert(ast.Constant(value)):
            return bool(value)
    return False


def helpers(prompt: str, entry_point: str) -> str:
    """What a prompt holds beside the function that is asked for: imports, and functions that are there already.

    Args:
        prompt: The prompt, which may end within that function.
        entry_point: Its name.
    """
    kinds = ast.Import | ast.ImportFrom | ast.Assign | ast.FunctionDef | ast.ClassDef
    for ending in ("", "\n    pass\n", "\n        pass\n"):
        if (tree := parse(prompt.rstrip() + ending)) is not None:
            kept = [node for node in tree.body if isinstance(node, kinds) and not _asked_for(node, entry_point)]
            return "\n".join(ast.unparse(node) for node in kept)
    return ""


def _asked_for(node: ast.stmt, entry_point: str) -> bool:
    return any(isinstance(each, ast.FunctionDef) and each.name == entry_point for each in ast.walk(node))


def valid(test: str, entry_point: str, setup: str) -> bool:
    """Whether a text is one assert that can be run: it calls the function, and knows every name in it.

    Args:
        test: The text.
        entry_point: The function.
        setup: What a test has beside the function, as source.
    """
    tree = parse(test)
    if tree is None or not compiles(tree):
        return False
    match tree.body:
        case [ast.Assert() as node] if _calls(node, entry_point):
            names = [each for each in ast.walk(node) if isinstance(each, ast.Name)]
            bound = {each.id for each in names if isinstance(each.ctx, ast.Store)}
            bound |= {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
            # A name that a variable of the model's stood for would fail with every program.
            known = {*dir(builtins), *re.findall(r"\w+", setup), entry_point, *bound}
            return "*" in setup or all(each.id in known for each in names)
    return False


def _calls(node: ast.AST, name: str) -> bool:
    called = [each.func for each in ast.walk(node) if isinstance(each, ast.Call)]
    return any(isinstance(each, ast.Name) and each.id == name for each in called)
