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
_PLACES = 7
"""The decimal places to which `assertAlmostEqual` compares by default."""


def converted(node: ast.stmt) -> Iterator[ast.expr]:
    """Yield what a statement asserts, as expressions that are true if it holds; nothing if it is not a known check.

    Args:
        node: A statement: a call of a `unittest` method, or a `with` block of `assertRaises` or `pytest.raises`.
    """
    match node:
        case ast.Expr(ast.Call(ast.Attribute(_, name)) as call):
            found = _of_call(name, call)
        case ast.With([ast.withitem(ast.Call(ast.Attribute(_, name), [kinds, *_]))], [ast.Expr(value)]) if name in (
            "assertRaises",
            "assertRaisesRegex",
            "raises",
        ):
            found = _raises(kinds, value)
        case _:
            return
    if found is not None:
        yield ast.fix_missing_locations(found)


def _of_call(name: str, call: ast.Call) -> ast.expr | None:
    """Return what a call of a `unittest` method asserts; None if it is not a known one."""
    if name in _COMPARED and len(call.args) >= 2:
        return _comparison(call.args[0], _COMPARED[name](), call.args[1])
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
            return ast.Call(ast.Name("isinstance", ast.Load()), [value, kind], [])
        case "assertCountEqual", [left, right, *_]:
            return _comparison(_sorted(left), ast.Eq(), _sorted(right))
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


def _sorted(value: ast.expr) -> ast.expr:
    return ast.Call(ast.Name("sorted", ast.Load()), [value], [])


def _almost_equal(
    left: ast.expr, right: ast.expr, rest: list[ast.expr], keywords: list[ast.keyword]
) -> ast.expr | None:
    options = {each.arg: each.value for each in keywords}
    places: ast.expr = ast.Constant(_PLACES)
    if rest:
        places = rest[0]
    places = options.get("places", places)
    if "delta" in options:
        bound = options["delta"]
    elif isinstance(places, ast.Constant) and isinstance(places.value, int) and 0 <= places.value <= 20:
        # `unittest` rounds the difference to this place.
        bound = ast.Constant(0.5 * 10**-places.value)
    else:
        return None
    difference = ast.Call(ast.Name("abs", ast.Load()), [ast.BinOp(left, ast.Sub(), right)], [])
    return ast.Compare(difference, [ast.Lt()], [bound])


def _raises(kinds: ast.expr, value: ast.expr) -> ast.expr:
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.Call(ast.Name(RAISES, ast.Load()), [kinds, ast.Lambda(nothing, value)], [])
