"""EvalPlus (Liu et al. 2023): HumanEval+ and MBPP+, whose canonical solutions define the expected values.

The rules are those of EvalPlus 0.3; floats are close within the task's tolerance, by default 1e-6, plus a relative
1e-7.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from langgraph_reflexion.envs.programming.problems import Case
from langgraph_reflexion.envs.programming.values import Answer
from langgraph_reflexion.support.files import own_table

_DEFAULT_ATOL = 1e-6
_RTOL = 1e-7
RULES = frozenset(
    f"evalplus{name}" for name in ("", "-any", "-or-zero", "-pyramid", "-digits", "-something", "-set", "-root")
)
_tasks = partial(own_table, __file__, "evalplus.toml")


def cases_of(dataset: str, task_id: str, entry_point: str, inputs: list[Any], atol: float) -> tuple[Case, ...]:
    """Return the hidden tests of a task; raise ValueError for an input of the wrong shape."""
    rule = "evalplus"
    if dataset == "mbpp+":
        number = int(task_id.rpartition("/")[2])
        kinds = [kind for kind, numbers in _tasks()["restore"].items() if number in numbers]
        restore = _RESTORE[kinds[0]] if kinds else list
        try:
            inputs = [restore(each) for each in inputs]
        except (TypeError, AttributeError, IndexError) as error:
            raise ValueError(f"an input has the wrong shape for {task_id}: {error}") from None
        rule = _tasks()["rules"].get(entry_point, rule)
    elif entry_point == "find_zero":
        rule = "evalplus-root"
    return tuple(Case(f"{entry_point}({', '.join(map(repr, each))})", "", rule, atol) for each in inputs)


_RESTORE: dict[str, Callable[[list[Any]], list[Any]]] = {
    "tuples": lambda args: [tuple(each) for each in args],
    "lists_of_tuples": lambda args: [[tuple(row) for row in each] for each in args],
    "first_list_of_tuples": lambda args: [[tuple(row) for row in args[0]], *args[1:]],
    "second_tuple": lambda args: [args[0], tuple(args[1]), *args[2:]],
    "first_tuple": lambda args: [tuple(args[0]), *args[1:]],
    "tuples_of_tuples": lambda args: [
        tuple([tuple(row) if isinstance(row, list) else row for row in each]) for each in args
    ],
    # The canonical solution distinguishes an empty set from an empty dictionary.
    "first_list_of_sets": lambda args: [[set(row) if isinstance(row, list) and row else {} for row in args[0]]],
    "float_and_complex": lambda args: [float(args[0]), complex(args[1])],
    "complex_number": lambda args: [complex(args[0])],
    "dictionary_of_tuples": lambda args: [{key: tuple(each) for key, each in args[0].items()}, *args[1:]],
    "tuples_all_through": lambda args: [_tuples(each) for each in args],
}


def _tuples(value: Any) -> Any:
    return tuple([_tuples(each) for each in value]) if isinstance(value, list) else value


def holds(rule: str, answer: Answer, right: Answer, atol: float, args: list[Any]) -> bool:
    """Whether an answer is right by one of `RULES`, given that of the canonical solution."""
    got, expected = answer.value, right.value
    try:
        if rule == "evalplus-something" and (answer.odd or answer.returned):
            there = right.odd or expected is not None
            return bool(got == there) if isinstance(got, bool) else there == (answer.odd or got is not None)
        if not answer.returned:
            return False
        if rule == "evalplus-root":
            return bool(abs(sum(factor * math.pow(got, power) for power, factor in enumerate(args[0]))) <= atol)
        if rule == "evalplus-set":
            return bool(set(got) == set(expected))
        return bool(got == expected) or _also_right(rule, got, atol, args) or _close(got, expected, atol)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return False


def _also_right(rule: str, got: Any, atol: float, args: list[Any]) -> bool:
    match rule:
        case "evalplus-any":
            return True
        case "evalplus-or-zero":
            return bool(got == 0)
        case "evalplus-pyramid":
            # The height of the pyramid, not of its sides.
            base, height = args
            slant = math.hypot(base / 2, height)
            return bool(abs(got - round(base * base + 2 * base * slant)) <= atol)
        case "evalplus-digits":
            # The shorter number is padded with zeros.
            one, other = (str(each) for each in args)
            width = max(len(one), len(other))
            pairs = zip(one.zfill(width), other.zfill(width), strict=True)
            return bool(got == sum(abs(int(a) - int(b)) for a, b in pairs))
    return False


def _close(got: Any, expected: Any, atol: float) -> bool:
    if atol == 0 and _floats(expected):
        atol = _DEFAULT_ATOL
    return atol != 0 and type(got) is type(expected) and _within(got, expected, atol)


def _floats(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return bool(value) and all(isinstance(each, float) for each in value)
    return isinstance(value, float)


def _within(got: Any, expected: Any, atol: float) -> bool:
    if isinstance(expected, list | tuple):
        return len(got) == len(expected) and all(_within(*pair, atol) for pair in zip(got, expected, strict=True))
    if got == expected:
        return True
    return bool(abs(got - expected) <= atol + _RTOL * abs(expected))
