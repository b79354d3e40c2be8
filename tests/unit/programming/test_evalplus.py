import json
import math

import pytest

from langgraph_reflexion.envs.programming import evalplus
from langgraph_reflexion.envs.programming.values import Answer


def holds(rule, got, expected, atol=0.0, args=(), odd=False):
    return evalplus.holds(rule, Answer(got, not odd, odd=odd), Answer(expected, True), atol, list(args))


@pytest.mark.parametrize(
    ("rule", "got", "expected", "args", "right"),
    [
        ("evalplus", (1, 2), [1, 2], [], False),
        ("evalplus", 0.1 + 0.2, 0.3, [], True),
        ("evalplus", [0.1 + 0.2, 1.0], [0.3, 1.0], [], True),
        ("evalplus", [0.3], [0.3, 1.0], [], False),
        ("evalplus-set", [2, 1, 1], (1, 2), [], True),
        ("evalplus-set", 3, (1, 2), [], False),
        ("evalplus-any", "whatever", True, [], True),
        ("evalplus-or-zero", 0, 7, [], True),
        ("evalplus-or-zero", 6, 7, [], False),
        ("evalplus-pyramid", round(9 + 6 * math.hypot(1.5, 4)), 33, [3, 4], True),
        ("evalplus-digits", 1 + 1, 3, [12, 101 - 100], True),
        ("evalplus-digits", 5, 3, [12, 1], False),
        ("evalplus-something", None, "match", [], False),
        ("evalplus-something", None, None, [], True),
        ("evalplus-something", True, "match", [], True),
        ("evalplus-root", 3.00001, None, [[-3.0, 1.0]], True),
        ("evalplus-root", 3.1, None, [[-3.0, 1.0]], False),
    ],
)
def test_rules(rule, got, expected, args, right):
    assert rule in evalplus.RULES
    assert holds(rule, got, expected, 1e-4 if rule == "evalplus-root" else 0.0, args) is right


def test_value_that_is_not_plain():
    assert holds("evalplus-something", None, True, odd=True)
    assert not holds("evalplus-something", None, None, odd=True)
    assert not holds("evalplus-any", None, True, odd=True)


@pytest.mark.parametrize(
    ("number", "inputs", "call"),
    [
        (2, [[1, 2], [3]], "f((1, 2), (3,))"),
        (75, [[[1, 2]], 2], "f([(1, 2)], 2)"),
        (106, [[1], [2, 3]], "f([1], (2, 3))"),
        (115, [[[1], [], {}]], "f([{1}, {}, {}])"),
        (124, ["0.5", "1+2j"], "f(0.5, (1+2j))"),
        (259, [[[1, 2]], [[3, 4]]], "f(((1, 2),), ((3, 4),))"),
        (580, [[1, [2, [3]]]], "f((1, (2, (3,))))"),
        (722, [{"a": [1, 2]}, 3], "f({'a': (1, 2)}, 3)"),
    ],
)
def test_input_types_are_restored(number, inputs, call):
    (case,) = evalplus.cases_of("mbpp+", f"Mbpp/{number}", "f", [json.loads(json.dumps(inputs))], 0.0)
    assert case.call == call
