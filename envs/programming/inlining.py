"""The statements of tests, with the values of variables in their place: each test has to stand alone."""

import ast
import copy
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

LONGEST_VALUE = 1000
"""Maximum characters of a value that replaces its variable."""
MOST_ROUNDS = 100
"""Maximum rounds of a loop that are written out."""
LONGEST_LOOP = 5
"""Maximum statements of a loop that is written out."""
MOST_NODES = 2000
"""Maximum nodes of a statement's tree with the values in place: one with more is too long for a test."""

_NESTED = ("body", "orelse", "finalbody")
Values = Mapping[str, ast.expr]
_Node = TypeVar("_Node", bound=ast.AST)


def standing_alone(
    body: Sequence[ast.stmt],
    known: Values | None = None,
    *,
    loops: bool = True,
) -> Iterator[ast.stmt]:
    """Yield the statements of a body and of all blocks in it, in order.

    A variable with a plain value is replaced by it, and a loop over a literal is written out, once for each element.

    Args:
        body: The statements.
        known: The values of variables by name.
        loops: Whether loops are written out; not within another one.
    """
    values = dict(known or {})
    for node in body:
        match node:
            case ast.Assign([ast.Name(name)], value):
                _remember(values, name, value)
                continue
        if loops and isinstance(node, ast.For):
            rounds = _rounds(node, values)
            for variables in rounds:
                # Only in the loop's body, and only for this round.
                known_there = dict(values)
                known_there.update(variables)
                yield from standing_alone(node.body, known_there, loops=False)
            if rounds:
                _forget(values, _stored(node))
                continue
        # No other statement can be a check.
        if isinstance(node, ast.Assert | ast.Expr | ast.With):
            yield _replaced(node, values)
        _forget_changed(values, node)
        for field in _NESTED:
            yield from standing_alone(getattr(node, field, []), values, loops=loops)


def _forget_changed(values: dict[str, ast.expr], node: ast.stmt) -> None:
    """Forget the variables that a statement may change; a check changes none."""
    if _is_sub_test(node):
        _forget(values, _stored(node))
        return
    if not isinstance(node, ast.Assert) and not _is_check(node):
        _forget(values, _named(node))


def _remember(values: dict[str, ast.expr], name: str, value: ast.expr) -> None:
    """Give a variable its value, or none where that is too long."""
    try:
        replaced = _replaced(value, values)
        fits = len(ast.unparse(replaced)) <= LONGEST_VALUE
    except RecursionError:
        fits = False
    values.pop(name, None)
    if fits:
        values[name] = replaced


def _forget(values: dict[str, ast.expr], names: set[str]) -> None:
    for name in names:
        values.pop(name, None)


def _named(node: ast.AST) -> set[str]:
    """Return the variables that a statement or its blocks may change, and the parameters of a function."""
    names = _stored(node)
    for each in ast.walk(node):
        if isinstance(each, ast.Name):
            names.add(each.id)
    return names


def _stored(node: ast.AST) -> set[str]:
    """Return the names that a node gives a value, such as the variables of a comprehension, and parameters."""
    names = set()
    for each in ast.walk(node):
        if isinstance(each, ast.arg):
            names.add(each.arg)
        elif isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            names.add(each.id)
    return names


def _is_sub_test(node: ast.stmt) -> bool:
    match node:
        case ast.With([ast.withitem(ast.Call(ast.Attribute(_, "subTest")))]):
            return True
    return False


def _is_check(node: ast.stmt) -> bool:
    match node:
        case ast.Expr(ast.Call(ast.Attribute(_, name))):
            return name.startswith("assert")
    return False


def _rounds(loop: ast.For, values: Values) -> list[dict[str, ast.expr]]:
    """Return the variables of a loop for each of its rounds; nothing if it is not a short loop over a literal."""
    if len(loop.body) > LONGEST_LOOP or _depends_on_rounds(loop, values):
        return []
    over = _replaced(loop.iter, values)
    if not isinstance(over, ast.List | ast.Tuple) or len(over.elts) > MOST_ROUNDS:
        return []
    rounds = []
    for element in over.elts:
        variables = _bound(loop.target, element)
        if variables is None:
            return []
        rounds.append(variables)
    return rounds


def _bound(target: ast.expr, element: ast.expr) -> dict[str, ast.expr] | None:
    """Return the values of a loop's variables for an element; None if they are not plain names, or do not fit."""
    match target, element:
        case ast.Name(name), _:
            return {name: element}
        case ast.Tuple(targets), ast.Tuple(parts) | ast.List(parts) if len(targets) == len(parts):
            variables = {}
            for each, part in zip(targets, parts, strict=True):
                if not isinstance(each, ast.Name):
                    return None
                variables[each.id] = part
            return variables
    return None


def _depends_on_rounds(loop: ast.For, values: Values) -> bool:
    """Return whether a round depends on the ones before, as with a counter, or leaves out a part of the body."""
    for statement in loop.body:
        for each in ast.walk(statement):
            if isinstance(each, ast.If | ast.Continue | ast.Break | ast.AugAssign):
                return True
    for statement in loop.body:
        changed = _stored(statement)
        if isinstance(statement, ast.Expr) and not _is_check(statement):
            # A call such as `numbers.append(n)` may change what it names.
            changed = _named(statement)
        if changed & values.keys():
            return True
    return False


class _Replacing(ast.NodeTransformer):
    """Puts the values of variables in their place."""

    def __init__(self, values: Values) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load) and node.id in self.values:
            return copy.deepcopy(self.values[node.id])
        return node


def _replaced(node: _Node, values: Values) -> _Node:
    """Return a copy of a node with the values of variables in their place; the node itself if it has none."""
    nodes = list(ast.walk(node))
    used = Counter(each.id for each in nodes if isinstance(each, ast.Name))
    # The variables of a comprehension or lambda are others of the same name.
    names_here = used.keys() - _stored(node)
    found = {name: values[name] for name in names_here if name in values}
    if not found:
        return node
    size = len(nodes)
    for name, value in found.items():
        nodes_of_value = sum(1 for _ in ast.walk(value))
        size += used[name] * nodes_of_value
    if size > MOST_NODES:
        return node
    try:
        # A copy, since other rounds and statements need the original.
        made: _Node = _Replacing(found).visit(copy.deepcopy(node))
    except RecursionError:
        return node
    return made
