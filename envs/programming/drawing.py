"""Draws members of the family that the project's own problems come from."""

from collections.abc import Iterable
from functools import lru_cache
from itertools import cycle
from random import Random
from typing import Any, NamedTuple

from langgraph_reflexion.envs.programming.inputs import Inputs
from langgraph_reflexion.envs.programming.operation import Type, library
from langgraph_reflexion.envs.programming.pipeline import Pipeline, Step

OWN = 32
"""How many problems there are under one seed."""
EXAMPLES = 3
"""How many examples a docstring shows."""
PLAIN = 5
"""How many of the hidden tests are like the examples."""
AS_ARGUMENT = 0.3
"""How often a constant is an argument instead, where it can be."""

_SOURCES: tuple[Type, ...] = ("numbers", "words", "numbers", "text", "numbers", "number", "numbers", "words")


class Drawn(NamedTuple):
    """A function of the family, with arguments for its examples and for its hidden tests."""

    pipeline: Pipeline
    examples: list[list[Any]]
    tests: list[list[Any]]


@lru_cache(8)
def draw_family(seed: int) -> tuple[Drawn, ...]:
    """Draw functions of the family.

    Args:
        seed: Another seed gives other functions.
    """
    random = Random(f"programming {seed}")
    drawn: dict[str, Drawn] = {}
    sources = cycle(_SOURCES)
    while len(drawn) < OWN:
        source = next(sources)
        while (one := _draw(source, random)) is None or one.pipeline.name in drawn:
            pass
        drawn[one.pipeline.name] = one
    return tuple(drawn.values())


def _draw(source: Type, random: Random) -> Drawn | None:
    """Draw one function; None where it would be a poor problem."""
    pipeline = _compose(source, random)
    if pipeline is None:
        return None
    inputs = Inputs(pipeline, random)
    plain = _distinct(inputs.plain() for _ in range(3 * (EXAMPLES + PLAIN)))
    telling = [each for each in plain if pipeline(*each) not in (_of_nothing(pipeline), [], "")]
    outcomes = {str(pipeline(*each)): each for each in telling}
    if len(outcomes) < EXAMPLES + 1:
        return None
    examples = list(outcomes.values())[:EXAMPLES]
    tests = [each for each in plain if each not in examples][:PLAIN]
    tests += [each for each in _distinct(inputs.tricky()) if each not in tests + examples]
    if all(_matters(pipeline, index, examples) for index in range(len(pipeline.steps) - 1)):
        return Drawn(pipeline, examples, tests)
    return None


def _compose(source: Type, random: Random) -> Pipeline | None:
    """Compose operations at random, each taking what the one before it gives; None where that leads nowhere."""
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
    """Whether the examples show a step; one that changes the type cannot be left out."""
    operation = pipeline.steps[index].operation
    if operation.takes != operation.gives:
        return True
    shorter = pipeline.without(index)
    return any(shorter(*(each if shorter.argument else each[:1])) != pipeline(*each) for each in examples)


def _of_nothing(pipeline: Pipeline) -> Any:
    """What comes out where nothing is left."""
    return pipeline.steps[-1].constant


def _distinct(arguments: Iterable[list[Any]]) -> list[list[Any]]:
    return list({str(each): each for each in arguments}.values())
