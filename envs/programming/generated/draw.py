"""The random choice of generated functions and their arguments, plain ones and such as a hasty reading gets wrong."""

from collections.abc import Iterable
from functools import lru_cache
from itertools import cycle
from random import Random
from typing import Any, NamedTuple

from langgraph_reflexion.envs.programming.generated.pipeline import Pipeline, Step, Type, library

_NUMBERS = range(-6, 15)
_SIZES = {"digits": (100, 99999), "count_to": (5, 12), "divisors": (12, 60)}


class Inputs:
    """Draws arguments of a function."""

    def __init__(self, pipeline: Pipeline, random: Random) -> None:
        self.pipeline = pipeline
        self.random = random
        self.operations = {step.operation.name for step in pipeline.steps}

    def plain(self) -> list[Any]:
        """Draw arguments for an example."""
        limit = self._limit()
        return self._with_limit(self._value(limit), limit)

    def tricky(self) -> list[list[Any]]:
        """Draw arguments that no example has: empty ones, a single element, and boundary values."""
        nothing: dict[str, list[Any]] = {"numbers": [[]], "words": [[]], "text": ["", "  "], "number": [0, -12, 1]}
        drawn = [self._with_limit(value, self._limit()) for value in nothing[self.pipeline.source]]
        for count in (1, 2, 2, 3):
            limit = self._limit()
            drawn.append(self._with_limit(self._tempting(limit, count), limit))
        limit = self._limit()
        drawn.append(self._with_limit(self._short(limit), limit))
        return drawn

    def _limit(self) -> int:
        step = self.pipeline.argument
        return self.random.choice(step.operation.constants) if step else 0

    def _with_limit(self, value: Any, limit: int) -> list[Any]:
        return [value, limit] if self.pipeline.argument else [value]

    def _value(self, limit: int) -> Any:
        match self.pipeline.source:
            case "numbers":
                return self._numbers(limit)
            case "words":
                return self._words()
            case "text":
                return " ".join(self._words())
            case _:
                sizes = next(_SIZES[name] for name in self.operations if name in _SIZES)
                return self.random.randint(*sizes)

    def _numbers(self, limit: int) -> list[int]:
        avoided = self._elements(limit)
        pool = [n for n in self.random.sample(_NUMBERS, 9) if n not in avoided]
        return self.random.choices(pool, k=self.random.randint(5, 8))

    def _words(self) -> list[str]:
        by_length = {"longer", "brief"} & self.operations
        avoided = {len(each) for each in self._elements(0)} if by_length else set()
        words = [word for word in (self._word() for _ in range(12)) if len(word) not in avoided]
        pool = words[: self.random.randint(4, 5)]
        return [*pool, self.random.choice(pool)] if "unique" in self.operations else pool

    def _word(self) -> str:
        syllables = self.random.randint(1, 3)
        word = "".join(self.random.choice("bdfgklmnprst") + self.random.choice("aeiou") for _ in range(syllables))
        word = self.random.choice(["", "", self.random.choice("aeiou")]) + word
        word += self.random.choice(["", "n", "s", "rt"])
        capital = "lower" in self.operations and word[0] not in "aeiou" and self.random.random() < 0.5
        return word.capitalize() if capital else word

    def _elements(self, limit: int) -> list[Any]:
        """Return the elements that examples avoid."""
        return [
            each
            for step in self.pipeline.steps
            for each in step.operation.tempting(limit if step.argument else step.constant)
        ]

    def _tempting(self, limit: int, count: int) -> Any:
        value, elements = self._value(limit), self._elements(limit)
        if self.pipeline.source == "number":
            near = [each for each in elements if isinstance(each, int)]
            return self.random.choice(near) if near else value
        fitting = int if self.pipeline.source == "numbers" else str
        chosen = [each for each in elements if isinstance(each, fitting)]
        if not chosen:
            return value
        parts: list[Any] = value.split() if isinstance(value, str) else value
        for _ in range(count):
            parts.insert(self.random.randint(0, len(parts)), self.random.choice(chosen))
        return " ".join(parts) if isinstance(value, str) else parts

    def _short(self, limit: int) -> Any:
        value = self._value(limit)
        if isinstance(value, str):
            return value.split()[0]
        return value[:1] if isinstance(value, list) else value


COUNT = 32
"""Number of problems per seed."""
EXAMPLES = 3
"""Number of examples in a docstring."""
PLAIN = 5
"""Number of hidden tests like the examples."""
AS_ARGUMENT = 0.3
"""Probability that a constant is an argument instead, if it can be."""

_SOURCES: tuple[Type, ...] = ("numbers", "words", "numbers", "text", "numbers", "number", "numbers", "words")


class Drawn(NamedTuple):
    """A function, with arguments for its examples and for its hidden tests."""

    pipeline: Pipeline
    examples: list[list[Any]]
    tests: list[list[Any]]


@lru_cache(8)
def draw_family(seed: int) -> tuple[Drawn, ...]:
    """Draw the functions of a seed."""
    random = Random(f"programming {seed}")
    drawn: dict[str, Drawn] = {}
    sources = cycle(_SOURCES)
    while len(drawn) < COUNT:
        source = next(sources)
        while (one := _draw(source, random)) is None or one.pipeline.name in drawn:
            pass
        drawn[one.pipeline.name] = one
    return tuple(drawn.values())


def _draw(source: Type, random: Random) -> Drawn | None:
    """Draw one function; None if it would be a poor problem."""
    pipeline = _compose(source, random)
    if pipeline is None:
        return None
    inputs = Inputs(pipeline, random)
    plain = _distinct(inputs.plain() for _ in range(3 * (EXAMPLES + PLAIN)))
    # The last constant is the result if no element is left.
    informative = [each for each in plain if pipeline(*each) not in (pipeline.steps[-1].constant, [], "")]
    outcomes = {str(pipeline(*each)): each for each in informative}
    if len(outcomes) < EXAMPLES + 1:
        return None
    examples = list(outcomes.values())[:EXAMPLES]
    tests = [each for each in plain if each not in examples][:PLAIN]
    tests += [each for each in _distinct(inputs.tricky()) if each not in tests + examples]
    if all(_matters(pipeline, index, examples) for index in range(len(pipeline.steps) - 1)):
        return Drawn(pipeline, examples, tests)
    return None


def _compose(source: Type, random: Random) -> Pipeline | None:
    """Compose random operations, each taking the result of the one before; None at a dead end."""
    steps: list[Step] = []
    count = random.choice((1, 2, 2, 2, 3, 3))
    for last in (*[False] * count, True):
        value, before = (steps[-1].operation.gives, steps[-1].operation.kind) if steps else (source, "")
        used = {step.operation.name for step in steps}
        fitting = [
            each
            for each in library()
            if each.takes == value
            and (each.kind == "fold") is last
            and each.follows(before)
            and each.name not in used
        ]
        if not fitting:
            return None
        operation = random.choice(fitting)
        argument = operation.argument and random.random() < AS_ARGUMENT and not any(s.argument for s in steps)
        steps.append(Step(operation, random.choice(operation.constants or (0,)), argument))
    return Pipeline(tuple(steps))


def _matters(pipeline: Pipeline, index: int, examples: list[list[Any]]) -> bool:
    """Whether the examples depend on a step; one that changes the type always matters."""
    operation = pipeline.steps[index].operation
    if operation.takes != operation.gives:
        return True
    shorter = pipeline.without(index)
    return any(shorter(*(each if shorter.argument else each[:1])) != pipeline(*each) for each in examples)


def _distinct(arguments: Iterable[list[Any]]) -> list[list[Any]]:
    return list({str(each): each for each in arguments}.values())
