"""Generated problems: small functions over numbers, lists and texts, drawn from a seed.

A function takes a number, a list of numbers, a text or a list of words, perhaps with a limit, applies two to four
operations of the library, and returns the result. Its docstring describes it, with three examples; these leave open
the edge cases, which the description defines and the hidden tests check.
"""

from textwrap import fill
from typing import Any

from langgraph_reflexion.envs.programming.generated.draw import Drawn, draw_family
from langgraph_reflexion.envs.programming.generated.pipeline import TYPES, Pipeline
from langgraph_reflexion.envs.programming.problems import Case, Problem
from langgraph_reflexion.errors import ConfigurationError


def generated_problems(language: str, seed: int = 0) -> list[Problem]:
    """Return the generated problems, which are the same in every language.

    Raises:
        ConfigurationError: there are none in this language.
    """
    if language not in TYPES:
        raise ConfigurationError(f"there are no generated problems in {language}: choose one of {', '.join(TYPES)}")
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
    pipeline = drawn.pipeline
    lines_ = [*fill(pipeline.words(), 84).splitlines(), ""]
    for case in (_case(pipeline, each, language) for each in drawn.examples):
        lines_ += [f">>> {case.call}", case.expected]
    signature = pipeline.signature(language)
    if language == "python":
        lines = "\n".join(f"    {line}".rstrip() for line in lines_)
        return f'{signature}:\n    """{lines.lstrip()}\n    """\n'
    lines = "\n".join(f"/// {line}".rstrip() for line in lines_)
    return f"{lines}\n{signature} {{\n"


def literal(value: Any, language: str) -> str:
    """Return a value as a literal of a language."""
    if language == "python":
        return repr(value)
    if isinstance(value, list):
        return f"vec![{', '.join(literal(each, language) for each in value)}]"
    return f'"{value}".to_string()' if isinstance(value, str) else str(value)
