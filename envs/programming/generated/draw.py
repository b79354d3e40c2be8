"""The random choice of generated functions and their arguments."""

from collections.abc import Iterable
from functools import lru_cache
from itertools import cycle
from random import Random
from typing import Any, NamedTuple

from langgraph_reflexion.envs.programming.generated.inputs import Inputs
from langgraph_reflexion.envs.programming.generated.operations import Type, library
from langgraph_reflexion.envs.programming.generated.pipeline import Pipeline, Step

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
    informative = [each for each in plain if pipeline(*each) not in (_empty_result(pipeline), [], "")]
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


def _empty_result(pipeline: Pipeline) -> Any:
    """Return the result if no element is left."""
    return pipeline.steps[-1].constant


def _distinct(arguments: Iterable[list[Any]]) -> list[list[Any]]:
    return list({str(each): each for each in arguments}.values())
