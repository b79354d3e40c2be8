"""How the demo model finds a program: by trying out its operations on the examples, the shortest chains first.

Chains that give the same on all examples are the same to it (observational equivalence), and are followed up as one.
What the examples leave open is decided by what came to mind first.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from langgraph_reflexion.demo.programs import Operation, Program, Step
from langgraph_reflexion.demo.repertoire import FOLDS, OTHERS

_Numbers = dict[int | str, tuple[int, ...]]
_State = tuple[str, tuple[Any, ...]]
"""The type of a value, and what it is in each example."""

STEPS = 4
"""How long a chain can get."""
EFFORT = 60_000
"""How many operations are tried out before it gives up."""
LONG = 64
"""So many elements more in all examples together make an operation as much work again."""
ALTERNATIVES = 24
"""How many programs are kept that do as well."""
WAYS = 6
"""How many ways to one state are kept."""


class Function(NamedTuple):
    """What is asked for: arguments by name with their types, and the type of the result."""

    arguments: tuple[tuple[str, str], ...]
    returns: str


class Example(NamedTuple):
    """Arguments, and what comes out. Lists are tuples."""

    arguments: tuple[Any, ...]
    result: Any


@lru_cache(4096)
def find_programs(
    function: Function, examples: frozenset[Example], constants: tuple[int, ...]
) -> tuple[Program, ...]:
    """The shortest programs that fit, in the order in which they come to mind; none where none is found.

    Args:
        function: What is asked for.
        examples: What they have to do.
        constants: The numbers that are tried, the likeliest first.
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
    """What a constant can be, by how it is written: an argument, or a number. Of each, its value in each example."""
    numbers: _Numbers = {
        name: tuple(example.arguments[index] for example in examples)
        for index, (name, kind) in enumerate(function.arguments)
        if kind == "int" and index
    }
    numbers.update((constant, (constant,) * len(examples)) for constant in constants)
    return numbers


class _Search:
    """What was reached so far.

    Attributes:
        reached: The ways to each state, by the state before and the step from there. All are of one length.
        effort: How many more operations are tried out.
    """

    def __init__(self, kind: str, values: tuple[Any, ...], numbers: _Numbers) -> None:
        self.reached: dict[_State, list[tuple[_State, Step]]] = {(kind, values): []}
        self.lengths: dict[_State, int] = {(kind, values): 0}
        self.effort = EFFORT
        self.numbers = numbers

    def through(self, level: Sequence[_State], operations: Sequence[Operation], length: int) -> list[_State]:
        """Try operations on all states of a level; what is new makes up the next one."""
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
        """The chains that lead to a state."""
        if self.lengths.get(state) == 0:
            yield ()
        for before, step in self.reached.get(state, ()):
            for chain in self.chains(before):
                yield (*chain, step)

    def _tried(self, state: _State, operations: Sequence[Operation]) -> Iterator[tuple[Step, _State]]:
        """Every one of some operations, with where it leads."""
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
