"""Program search: chains of operations tried on the examples, the shortest first.

Chains that agree on all examples are followed up as one (observational equivalence). The order of the operations
decides between programs that fit equally well.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from langgraph_reflexion.demo.programming.operations import FOLDS, OTHERS, Operation, Program, Step

_Numbers = dict[int | str, tuple[int, ...]]
_State = tuple[str, tuple[Any, ...]]
"""A type, and the value in each example."""

STEPS = 4
"""Maximum length of a chain."""
EFFORT = 60_000
"""Number of operations tried before it gives up."""
LONG = 64
"""Number of list elements that cost as much as an operation."""
ALTERNATIVES = 24
"""Number of equivalent programs kept."""
WAYS = 6
"""Number of ways kept to one state."""


class Function(NamedTuple):
    """Named arguments with types, and the type of the result."""

    arguments: tuple[tuple[str, str], ...]
    returns: str


class Example(NamedTuple):
    """Arguments and their result, with tuples for lists."""

    arguments: tuple[Any, ...]
    result: Any


@lru_cache(4096)
def find_programs(
    function: Function, examples: frozenset[Example], constants: tuple[int, ...]
) -> tuple[Program, ...]:
    """Return the shortest programs that fit all examples.

    `constants` are tried in their order.
    """
    ordered = sorted(examples, key=repr)
    name, kind = function.arguments[0]
    search = _Search(kind, tuple(example.arguments[0] for example in ordered), _numbers(function, ordered, constants))
    wanted = (function.returns, tuple(example.result for example in ordered))
    level = list(search.reached)
    for length in range(1, STEPS + 1):
        if wanted in search.reached or search.effort < 0:
            break
        search.through(level, FOLDS, length)
        if wanted not in search.reached:
            level = search.through(level, OTHERS, length)
    return tuple(Program(name, steps) for steps in islice(search.chains(wanted), ALTERNATIVES))


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
        reached: The ways to each state, all of one length: the state before, and the step.
        effort: The number of operations left to try.
    """

    def __init__(self, kind: str, values: tuple[Any, ...], numbers: _Numbers) -> None:
        self.reached: dict[_State, list[tuple[_State, Step]]] = {(kind, values): []}
        self.lengths: dict[_State, int] = {(kind, values): 0}
        self.effort = EFFORT
        self.numbers = numbers

    def through(self, level: Sequence[_State], operations: Sequence[Operation], length: int) -> list[_State]:
        """Try operations on all states of a level, and return the new states."""
        following = []
        for state in level:
            effort = 1 + sum(len(value) for value in state[1] if isinstance(value, tuple)) // LONG
            for step, after in self._tried(state, operations):
                self.effort -= effort
                if after not in self.reached:
                    self.reached[after], self.lengths[after] = [], length
                    following.append(after)
                if self.lengths[after] == length and len(self.reached[after]) < WAYS:
                    self.reached[after].append((state, step))
            if self.effort < 0:
                break
        return following

    def chains(self, state: _State) -> Iterator[tuple[Step, ...]]:
        if self.lengths.get(state) == 0:
            yield ()
        for before, step in self.reached.get(state, ()):
            for chain in self.chains(before):
                yield (*chain, step)

    def _tried(self, state: _State, operations: Sequence[Operation]) -> Iterator[tuple[Step, _State]]:
        kind, values = state
        for operation in operations:
            if operation.takes != kind:
                continue
            run, gives = operation.run, operation.gives
            if operation.numbered:
                for constant, each in self.numbers.items():
                    yield Step(operation, constant), (gives, tuple(map(run, values, each)))
            else:
                yield Step(operation), (gives, tuple([run(value, 0) for value in values]))
