"""The project's own problems: small functions over numbers, lists and texts, drawn from a seed.

The family: a function takes a number, a list of numbers, a text or a list of words, perhaps with a limit, does two to
four operations of the library one after the other, and returns what comes out. Its docstring says what it does, and
shows three examples; those leave open what happens at the edges, which the words settle and the hidden tests test.
"""

from textwrap import fill
from typing import Any

from langgraph_reflexion.envs.programming.drawing import Drawn, draw_family
from langgraph_reflexion.envs.programming.operation import TYPES
from langgraph_reflexion.envs.programming.pipeline import Pipeline
from langgraph_reflexion.envs.programming.problems import Case, Problem
from langgraph_reflexion.errors import ConfigurationError


def own_problems(language: str, seed: int = 0) -> list[Problem]:
    """The project's own problems. They are the same ones in every language.

    Args:
        language: `python` or `rust`.
        seed: Another seed gives other problems.

    Raises:
        ConfigurationError: there are none in this language.
    """
    if language not in TYPES:
        raise ConfigurationError(
            f"there are no problems of the project's own in {language}: choose one of {', '.join(TYPES)}"
        )
    return [_problem(drawn, language, f"own/s{seed}/{index:02d}") for index, drawn in enumerate(draw_family(seed))]


def _problem(drawn: Drawn, language: str, id_: str) -> Problem:
    pipeline = drawn.pipeline
    cases = [_case(pipeline, each, language) for each in drawn.tests]
    prompt = _prompt(drawn, language)
    body, end = pipeline.body(language), "" if language == "python" else "}\n"
    return Problem(
        id=id_,
        source="own",
        language=language,
        prompt=prompt,
        entry_point=pipeline.name,
        cases=tuple(cases),
        canonical=prompt + body + end,
    )


def _case(pipeline: Pipeline, arguments: list[Any], language: str) -> Case:
    given = ", ".join(literal(each, language) for each in arguments)
    return Case(f"{pipeline.name}({given})", literal(pipeline(*arguments), language))


def _prompt(drawn: Drawn, language: str) -> str:
    """The signature and what the function does, with examples, as the language writes it."""
    pipeline = drawn.pipeline
    told = [*fill(pipeline.words(), 84).splitlines(), ""]
    for case in (_case(pipeline, each, language) for each in drawn.examples):
        told += [f">>> {case.call}", case.expected]
    signature = pipeline.signature(language)
    if language == "python":
        lines = "\n".join(f"    {line}".rstrip() for line in told)
        return f'{signature}:\n    """{lines.lstrip()}\n    """\n'
    lines = "\n".join(f"/// {line}".rstrip() for line in told)
    return f"{lines}\n{signature} {{\n"


def literal(value: Any, language: str) -> str:
    """A value as it is written in a language."""
    if language == "python":
        return repr(value)
    if isinstance(value, list):
        return f"vec![{', '.join(literal(each, language) for each in value)}]"
    return f'"{value}".to_string()' if isinstance(value, str) else str(value)
