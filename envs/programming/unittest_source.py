"""Checks of `unittest` and `pytest` as plain asserts, which the grader can run one by one."""

import ast
from collections.abc import Iterator

RAISES = "raises"
"""The name of the function that tests of exceptions call; see `RAISES_SOURCE`."""

RAISES_SOURCE = f"""
def {RAISES}(_kinds, _function):
    try:
        _function()
    except _kinds:
        return True
    return False
"""
"""The source of this function, for the process that runs the checks."""

_COMPARED: dict[str, type[ast.cmpop]] = {
    "assertEqual": ast.Eq,
    "assertEquals": ast.Eq,
    "assertListEqual": ast.Eq,
    "assertTupleEqual": ast.Eq,
    "assertDictEqual": ast.Eq,
    "assertSetEqual": ast.Eq,
    "assertSequenceEqual": ast.Eq,
    "assertMultiLineEqual": ast.Eq,
    "assertNotEqual": ast.NotEq,
    "assertIs": ast.Is,
    "assertIsNot": ast.IsNot,
    "assertIn": ast.In,
    "assertNotIn": ast.NotIn,
    "assertLess": ast.Lt,
    "assertLessEqual": ast.LtE,
    "assertGreater": ast.Gt,
    "assertGreaterEqual": ast.GtE,
}
_SYMMETRIC = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)
_RAISING = ("assertRaises", "assertRaisesRegex", "raises")
"""The functions whose `with` block has to raise an exception."""
_PLACES = 7
"""The decimal places to which `assertAlmostEqual` compares by default."""
_MOST_PLACES = 20
"""More decimal places than a float has."""


def converted(node: ast.stmt) -> Iterator[ast.expr]:
    """Yield what a statement asserts, as expressions that are true if it holds; nothing if it is not a known check.

    Args:
        node: A statement: a call of a `unittest` method, or a `with` block of `assertRaises` or `pytest.raises`.
    """
    match node:
        case ast.Expr(ast.Call(ast.Attribute(_, name)) as call):
            found = _of_call(name, call)
        case ast.With([ast.withitem(ast.Call() as call)], [ast.Expr(value)]):
            found = _of_block(call, value)
        case _:
            return
    if found is not None:
        yield ast.fix_missing_locations(found)


def _of_block(call: ast.Call, value: ast.expr) -> ast.expr | None:
    """Return what a `with` block of one expression asserts; None if its function is not one that expects errors."""
    match call:
        case ast.Call(ast.Attribute(_, name), [kinds, *_]) if name in _RAISING:
            return _raises(kinds, value)
    return None


def _of_call(name: str, call: ast.Call) -> ast.expr | None:
    """Return what a call of a `unittest` method asserts; None if it is not a known one."""
    if name in _COMPARED and len(call.args) >= 2:
        operator = _COMPARED[name]()
        return _comparison(call.args[0], operator, call.args[1])
    match name, call.args:
        case "assertTrue", [value, *_]:
            return value
        case "assertFalse", [value, *_]:
            return ast.UnaryOp(ast.Not(), value)
        case "assertIsNone", [value, *_]:
            return ast.Compare(value, [ast.Is()], [ast.Constant(None)])
        case "assertIsNotNone", [value, *_]:
            return ast.Compare(value, [ast.IsNot()], [ast.Constant(None)])
        case "assertIsInstance", [value, kind, *_]:
            return _call("isinstance", value, kind)
        # The same elements in any order.
        case "assertCountEqual", [left, right, *_]:
            return _comparison(_call("sorted", left), ast.Eq(), _call("sorted", right))
        case "assertAlmostEqual", [left, right, *rest]:
            return _almost_equal(left, right, rest, call.keywords)
        case "assertRaises", [kinds, function, *arguments]:
            return _raises(kinds, ast.Call(function, arguments, call.keywords))
    return None


def _comparison(left: ast.expr, operator: ast.cmpop, right: ast.expr) -> ast.expr:
    # Some write the expected value first. The grader shows what came out where the call is on the left.
    backwards = isinstance(right, ast.Call) and not isinstance(left, ast.Call)
    if backwards and isinstance(operator, _SYMMETRIC):
        left, right = right, left
    return ast.Compare(left, [operator], [right])


def _call(function: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(function, ast.Load()), list(arguments), [])


def _almost_equal(
    left: ast.expr,
    right: ast.expr,
    rest: list[ast.expr],
    keywords: list[ast.keyword],
) -> ast.expr | None:
    bound = _bound(rest, keywords)
    if bound is None:
        return None
    difference = _call("abs", ast.BinOp(left, ast.Sub(), right))
    return ast.Compare(difference, [ast.Lt()], [bound])


def _bound(rest: list[ast.expr], keywords: list[ast.keyword]) -> ast.expr | None:
    """Return what a difference has to be less than; None if the number of places is not a literal.

    Args:
        rest: The arguments of `assertAlmostEqual` after the two values.
        keywords: Its keyword arguments.
    """
    # `places` and `delta` may be given by name.
    options = {each.arg: each.value for each in keywords}
    if "delta" in options:
        return options["delta"]
    places: ast.expr = ast.Constant(_PLACES)
    if rest:
        places = rest[0]
    places = options.get("places", places)
    if not isinstance(places, ast.Constant) or not isinstance(places.value, int):
        return None
    if not 0 <= places.value <= _MOST_PLACES:
        return None
    # `unittest` rounds the difference to this place.
    return ast.Constant(0.5 * 10**-places.value)


def _raises(kinds: ast.expr, value: ast.expr) -> ast.expr:
    """Return a call of `RAISES` with the value in a function, since its evaluation has to raise."""
    no_parameters = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return _call(RAISES, kinds, ast.Lambda(no_parameters, value))
