"""Program search: chains of small operations tried on the examples, the shortest first.

The operations are a programmer's everyday ones, from no problem in particular; some problems need others. Chains that
agree on all examples are followed up as one (observational equivalence). The order of the operations decides between
programs that fit equally well.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from string import Template
from typing import Any, NamedTuple

FAR = 300
"""Limit of ranges."""


@dataclass(frozen=True)
class Operation:
    """A step from one type to another: `int`, `ints`, `str` or `strs`."""

    takes: str
    gives: str
    code: str
    """An expression of the value `$x` and perhaps a constant `$c`."""

    @cached_property
    def numbered(self) -> bool:
        return "$c" in self.code

    @cached_property
    def run(self) -> Callable[[Any, Any], Any]:
        """The expression as a function, with tuples for lists."""
        scope = {"range": lambda *ends: range(*ends)[:FAR]}
        function = eval(f"lambda x, c: {Template(self.code).substitute(x='x', c='c')}", scope)

        def run(value: Any, constant: Any) -> Any:
            result = function(value, constant)
            return tuple(result) if isinstance(result, list) else result

        return run


@dataclass(frozen=True)
class Step:
    """An operation with its constant: a number, or the name of an argument."""

    operation: Operation
    constant: int | str = 0


@dataclass(frozen=True)
class Program:
    """A chain of operations, which begins with an argument."""

    argument: str
    steps: tuple[Step, ...]

    def write(self) -> list[str]:
        """Return the statements of a function's body."""
        lines, x = [], self.argument
        for step in self.steps:
            lines.append(Template(step.operation.code).substitute(x=x, c=step.constant))
            x = "result"
        *before, last = lines or [x]
        return [*(f"result = {line}" for line in before), f"return {last}"]


def _table(text: str) -> tuple[Operation, ...]:
    """Read operations, one per line: types, and the expression. `list` stands for both types of lists."""
    operations: list[Operation] = []
    for line in text.strip().splitlines():
        takes, gives, code = line.split(maxsplit=2)
        kinds = [("ints", "ints"), ("strs", "strs")] if takes == "list" else [(takes, gives)]
        operations += [Operation(*each, code) for each in kinds]
    return tuple(operations)


OTHERS = _table(
    """
    ints ints [each for each in $x if each % 2 == 0]
    ints ints [each for each in $x if each % 2 == 1]
    ints ints [each for each in $x if each > $c]
    ints ints [each for each in $x if each < $c]
    ints ints [each for each in $x if each >= $c]
    ints ints [each for each in $x if each <= $c]
    ints ints [each for each in $x if each % $c == 0]
    strs strs [each for each in $x if len(each) > $c]
    strs strs [each for each in $x if len(each) < $c]
    strs strs [each for each in $x if len(each) >= $c]
    strs strs [each for each in $x if len(each) <= $c]
    strs strs [each for each in $x if each[:1] in tuple('aeiou')]
    strs strs [each for each in $x if each[:1] in tuple('aeiouAEIOU')]
    ints ints [each * each for each in $x]
    ints ints [abs(each) for each in $x]
    ints ints [each + $c for each in $x]
    ints ints [each * $c for each in $x]
    strs strs [each[::-1] for each in $x]
    strs strs [each.upper() for each in $x]
    strs ints [len(each) for each in $x]
    list list sorted($x)
    list list sorted($x, reverse=True)
    list list $x[::-1]
    list list list(dict.fromkeys($x))
    list list $x[:$c]
    list list $x[1:]
    list list $x[::2]
    list list $x[:-1]
    ints ints [sum($x[: i + 1]) for i in range(len($x))]
    str strs $x.split()
    str str $x.lower()
    str str $x.upper()
    str str $x[::-1]
    str str $x.replace(' ', '')
    str str $x.strip()
    str str ''.join(c for c in $x if c not in 'aeiou')
    str str ''.join(c for c in $x if c not in 'aeiouAEIOU')
    int ints [int(digit) for digit in str(abs($x))]
    int ints list(range(1, $x + 1))
    int ints [n for n in range(1, $x + 1) if $x % n == 0]
    """
)
"""Operations inside a chain. In this list and the next, the order is that of search."""

FOLDS = _table(
    """
    ints int sum($x)
    ints int len($x)
    ints int max($x, default=$c)
    ints int min($x, default=$c)
    ints int $x[-1] if $x else $c
    ints int $x[0] if $x else $c
    ints int max($x) - min($x) if $x else $c
    strs int len($x)
    strs str max($x, key=len, default='')
    strs str min($x, key=len, default='')
    strs str max($x[::-1], key=len, default='')
    strs str ' '.join($x)
    strs str '-'.join($x)
    strs str ''.join(each[:1] for each in $x)
    str int len($x)
    str int sum(c in 'aeiou' for c in $x)
    str int sum(c in 'aeiouAEIOU' for c in $x)
    """
)
"""Operations that end a chain."""

_Numbers = dict[int | str, tuple[int, ...]]
_State = tuple[str, tuple[Any, ...]]
"""A type, and the value in each example."""

STEPS = 4
"""Maximum length of a chain."""
EFFORT = 60_000
"""Number of operations tried before it gives up."""
LONG = 64
"""Number of list elements that cost as much as an operation."""


class Function(NamedTuple):
    """Named arguments with types, and the type of the result."""

    arguments: tuple[tuple[str, str], ...]
    returns: str


class Example(NamedTuple):
    """Arguments and their result, with tuples for lists."""

    arguments: tuple[Any, ...]
    result: Any


@lru_cache(4096)
def find_program(function: Function, examples: frozenset[Example], constants: tuple[int, ...]) -> Program | None:
    """Return the shortest program that fits all examples; `constants` are tried in their order."""
    ordered = sorted(examples, key=repr)
    name, kind = function.arguments[0]
    search = _Search(kind, tuple(example.arguments[0] for example in ordered), _numbers(function, ordered, constants))
    wanted = (function.returns, tuple(example.result for example in ordered))
    level = list(search.reached)
    for _ in range(STEPS):
        if wanted in search.reached or search.effort < 0:
            break
        search.through(level, FOLDS)
        if wanted not in search.reached:
            level = search.through(level, OTHERS)
    return Program(name, search.reached[wanted]) if wanted in search.reached else None


def _numbers(function: Function, examples: Sequence[Example], constants: Sequence[int]) -> _Numbers:
    """Return the values of each possible constant, an argument or a number, in all examples."""
    numbers: _Numbers = {
        name: tuple(example.arguments[index] for example in examples)
        for index, (name, kind) in enumerate(function.arguments)
        if kind == "int" and index
    }
    numbers.update((constant, (constant,) * len(examples)) for constant in constants)
    return numbers


class _Search:
    """The states reached so far.

    Attributes:
        reached: The first chain found to each state.
        effort: The number of operations left to try.
    """

    def __init__(self, kind: str, values: tuple[Any, ...], numbers: _Numbers) -> None:
        self.reached: dict[_State, tuple[Step, ...]] = {(kind, values): ()}
        self.effort = EFFORT
        self.numbers = numbers

    def through(self, level: Sequence[_State], operations: Sequence[Operation]) -> list[_State]:
        """Try operations on all states of a level, and return the new states."""
        following = []
        for state in level:
            effort = 1 + sum(len(value) for value in state[1] if isinstance(value, tuple)) // LONG
            for step, after in self._tried(state, operations):
                self.effort -= effort
                if after not in self.reached:
                    self.reached[after] = (*self.reached[state], step)
                    following.append(after)
            if self.effort < 0:
                break
        return following

    def _tried(self, state: _State, operations: Sequence[Operation]) -> Iterator[tuple[Step, _State]]:
        kind, values = state
        for operation in operations:
            if operation.takes != kind:
                continue
            run, gives = operation.run, operation.gives
            for constant, each in self.numbers.items() if operation.numbered else [(0, (0,) * len(values))]:
                with contextlib.suppress(ZeroDivisionError):
                    yield Step(operation, constant), (gives, tuple(map(run, values, each)))
