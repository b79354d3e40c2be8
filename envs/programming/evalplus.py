"""EvalPlus (Liu et al. 2023): HumanEval+ and MBPP+, whose canonical solutions define the expected values.

The rules are those of EvalPlus 0.3; floats are close within the task's tolerance, by default 1e-6, plus a relative
1e-7.
"""

import math
from collections.abc import Callable
from typing import Any

from langgraph_reflexion.envs.programming.problems import Case
from langgraph_reflexion.envs.programming.values import Answer
from langgraph_reflexion.support.files import Row, own_table

_DEFAULT_ATOL = 1e-6
_RTOL = 1e-7
RULES = frozenset(
    (
        "evalplus",
        "evalplus-any",
        "evalplus-or-zero",
        "evalplus-pyramid",
        "evalplus-digits",
        "evalplus-something",
        "evalplus-set",
        "evalplus-root",
    )
)

Arguments = list[Any]
"""The arguments of one call."""


def _tasks() -> Row:
    return own_table(__file__, "evalplus.toml")


def cases_of(
    dataset: str,
    task_id: str,
    entry_point: str,
    inputs: list[Arguments],
    atol: float,
) -> tuple[Case, ...]:
    """Return the hidden tests of a task; raise ValueError for an input of the wrong shape."""
    if dataset == "mbpp+":
        inputs = _restored(task_id, inputs)
    rule = _rule_of(dataset, entry_point)
    cases = []
    for args in inputs:
        arguments = ", ".join(map(repr, args))
        cases.append(Case(f"{entry_point}({arguments})", "", rule, atol))
    return tuple(cases)


def _rule_of(dataset: str, entry_point: str) -> str:
    """Return the rule by which the answers of a task are judged."""
    if dataset == "mbpp+":
        return str(_tasks()["rules"].get(entry_point, "evalplus"))
    if entry_point == "find_zero":
        return "evalplus-root"
    return "evalplus"


def _restored(task_id: str, inputs: list[Arguments]) -> list[Arguments]:
    """Return the inputs of a task of MBPP+ with the types that JSON does not have."""
    number = int(task_id.rpartition("/")[2])
    restore = _restoring(number)
    try:
        return [restore(args) for args in inputs]
    except (TypeError, AttributeError, IndexError) as error:
        raise ValueError(f"an input has the wrong shape for {task_id}: {error}") from None


def _restoring(number: int) -> Callable[[Arguments], Arguments]:
    """Return the function that restores the inputs of a task."""
    for kind, numbers in _tasks()["restore"].items():
        if number in numbers:
            return _RESTORE[kind]
    return list


def _tuples(args: Arguments) -> Arguments:
    return [tuple(each) for each in args]


def _lists_of_tuples(args: Arguments) -> Arguments:
    return [_tuples(each) for each in args]


def _first_list_of_tuples(args: Arguments) -> Arguments:
    return _with_changed(args, 0, _tuples)


def _first_tuple(args: Arguments) -> Arguments:
    return _with_changed(args, 0, tuple)


def _second_tuple(args: Arguments) -> Arguments:
    return _with_changed(args, 1, tuple)


def _with_changed(args: Arguments, position: int, change: Callable[[Any], Any]) -> Arguments:
    changed = list(args)
    changed[position] = change(args[position])
    return changed


def _tuples_of_tuples(args: Arguments) -> Arguments:
    restored = []
    for each in args:
        rows = map(_tuple_if_list, each)
        restored.append(tuple(rows))
    return restored


def _tuple_if_list(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(value)
    return value


def _first_list_of_sets(args: Arguments) -> Arguments:
    return [list(map(_set_if_filled, args[0]))]


def _set_if_filled(row: Any) -> Any:
    # The canonical solution distinguishes an empty set from an empty dictionary.
    if isinstance(row, list) and row:
        return set(row)
    return {}


def _float_and_complex(args: Arguments) -> Arguments:
    return [float(args[0]), complex(args[1])]


def _complex_number(args: Arguments) -> Arguments:
    return [complex(args[0])]


def _dictionary_of_tuples(args: Arguments) -> Arguments:
    return _with_changed(args, 0, _tuples_as_values)


def _tuples_as_values(table: Any) -> dict[Any, Any]:
    return {key: tuple(each) for key, each in table.items()}


def _tuples_all_through(args: Arguments) -> Arguments:
    return [_as_tuples(each) for each in args]


def _as_tuples(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    return tuple([_as_tuples(each) for each in value])


_RESTORE: dict[str, Callable[[Arguments], Arguments]] = {
    "tuples": _tuples,
    "lists_of_tuples": _lists_of_tuples,
    "first_list_of_tuples": _first_list_of_tuples,
    "second_tuple": _second_tuple,
    "first_tuple": _first_tuple,
    "tuples_of_tuples": _tuples_of_tuples,
    "first_list_of_sets": _first_list_of_sets,
    "float_and_complex": _float_and_complex,
    "complex_number": _complex_number,
    "dictionary_of_tuples": _dictionary_of_tuples,
    "tuples_all_through": _tuples_all_through,
}
"""How inputs are restored, by the names in `evalplus.toml`."""


def holds(
    rule: str,
    answer: Answer,
    right: Answer,
    atol: float,
    args: Arguments,
) -> bool:
    """Whether an answer is right by one of `RULES`, given that of the canonical solution."""
    try:
        return _holds(rule, answer, right, atol, args)
    except (TypeError, ValueError, OverflowError, RecursionError):
        # The value is of a kind that the rule cannot compare.
        return False


def _holds(
    rule: str,
    answer: Answer,
    right: Answer,
    atol: float,
    args: Arguments,
) -> bool:
    if rule == "evalplus-something" and (answer.odd or answer.returned):
        return _agree_on_something(answer, right)
    if not answer.returned:
        return False
    got = answer.value
    expected = right.value
    if rule == "evalplus-root":
        return _is_root(got, args[0], atol)
    if rule == "evalplus-set":
        return bool(set(got) == set(expected))
    if got == expected or _also_right(rule, got, atol, args):
        return True
    return _close(got, expected, atol)


def _agree_on_something(answer: Answer, right: Answer) -> bool:
    """Whether both answers are something, such as a match, or both None; True and False say the same."""
    expected = right.odd or right.value is not None
    if isinstance(answer.value, bool):
        return answer.value == expected
    got = answer.odd or answer.value is not None
    return got == expected


def _is_root(got: Any, coefficients: list[Any], atol: float) -> bool:
    """Whether a polynomial, given by its coefficients from the constant on, is almost zero at a point."""
    terms = [factor * math.pow(got, power) for power, factor in enumerate(coefficients)]
    return bool(abs(sum(terms)) <= atol)


def _also_right(rule: str, got: Any, atol: float, args: Arguments) -> bool:
    """Whether an answer that differs from the canonical one is right, too."""
    match rule:
        case "evalplus-any":
            return True
        case "evalplus-or-zero":
            return bool(got == 0)
        case "evalplus-pyramid":
            base, height = args
            # The height of the pyramid, not of its sides.
            slant = math.hypot(base / 2, height)
            surface = round(base * base + 2 * base * slant)
            return bool(abs(got - surface) <= atol)
        case "evalplus-digits":
            one, other = args
            return bool(got == _distance_of_digits(str(one), str(other)))
    return False


def _distance_of_digits(one: str, other: str) -> int:
    """Return the sum of the differences between the digits of two numbers."""
    # The shorter number is padded with zeros.
    width = max(len(one), len(other))
    distance = 0
    for digit, other_digit in zip(one.zfill(width), other.zfill(width), strict=True):
        distance += abs(int(digit) - int(other_digit))
    return distance


def _close(got: Any, expected: Any, atol: float) -> bool:
    """Whether two values are of the same kind, and floats in them within a tolerance."""
    # EvalPlus compares floats with a tolerance even where the task has none.
    if atol == 0 and _floats(expected):
        atol = _DEFAULT_ATOL
    if atol == 0 or type(got) is not type(expected):
        return False
    return _within(got, expected, atol)


def _floats(value: Any) -> bool:
    """Whether a value is a float, or a list of nothing else."""
    if isinstance(value, list | tuple):
        return bool(value) and all(isinstance(each, float) for each in value)
    return isinstance(value, float)


def _within(got: Any, expected: Any, atol: float) -> bool:
    if isinstance(expected, list | tuple):
        if len(got) != len(expected):
            return False
        pairs = zip(got, expected, strict=True)
        return all(_within(one, other, atol) for one, other in pairs)
    if got == expected:
        return True
    return bool(abs(got - expected) <= atol + _RTOL * abs(expected))
