"""Readers of problem files: HumanEval, MBPP, MultiPL-E, EvalPlus, LeetCode-hard and the project's own form."""

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from langgraph_reflexion.envs.programming import evalplus
from langgraph_reflexion.envs.programming.languages import LANGUAGES, language_of
from langgraph_reflexion.envs.programming.problems import Problem
from langgraph_reflexion.envs.programming.python_source import (
    NotLiteralError,
    call_of,
    cases_of,
    helpers,
    literal_of,
    parse,
)
from langgraph_reflexion.envs.programming.rust_source import rust_cases_of
from langgraph_reflexion.envs.programming.values import COMPARISONS
from langgraph_reflexion.errors import ConfigurationError, explain
from langgraph_reflexion.support.files import Row, read_rows

_AFTER_A_FUNCTION = ("\nclass", "\ndef", "\n#", "\nif", "\nprint")


def load_problems(path: Path | str, language: str | None = None) -> list[Problem]:
    """Return the problems of a file, in order.

    Args:
        path: JSON Lines, optionally compressed with gzip, or a JSON list. The form is recognized by the rows' keys.
        language: Return only problems in this language.

    Raises:
        ConfigurationError: a row is not a problem, or there is none in this language; the message has the place.
    """
    path = Path(path)
    if language is not None:
        language = language_of(language)
    problems: dict[str, Problem] = {}
    for place, row in read_rows(path):
        problem = _problem(place, row)
        if problem.id in problems:
            raise ConfigurationError(f"{place}: a second problem {problem.id!r}")
        problems[problem.id] = problem
    chosen = [each for each in problems.values() if language in (None, each.language)]
    if not chosen:
        raise ConfigurationError(f"{path} contains no problems{f' in {language}' if language else ''}")
    return chosen


def _problem(place: str, row: Row) -> Problem:
    for keys, read in _FORMS:
        if keys <= row.keys():
            try:
                problem = read(row)
                if problem.gradable and not problem.cases and not problem.test:
                    raise ValueError("it has no hidden tests")
                return problem
            except (TypeError, ValueError, SyntaxError, KeyError, RecursionError) as error:
                said = f"{error} is missing" if isinstance(error, KeyError) else error
                raise ConfigurationError(f"{place}: {said}") from None
    raise ConfigurationError(f"{place}: unknown form of problem with the keys {', '.join(row)[:200] or 'none'}")


def _text(row: Row, key: str) -> str:
    value = row[key]
    if not isinstance(value, str):
        raise ValueError(f"{key!r} is not a text")
    return value


def _name(row: Row, key: str) -> str:
    name = _text(row, key)
    if not name.isidentifier():
        raise ValueError(f"{key!r} is not a name: {name[:60]!r}")
    return name


def _texts(row: Row, key: str) -> list[str]:
    value = row.get(key) or []
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValueError(f"{key!r} is not a list of texts")
    return value


def _hidden(test: str, prompt: str, entry_point: str) -> dict[str, Any]:
    """Return the fields of hidden tests in Python: cases, or source if they are more than calls with plain values."""
    cases = cases_of(test, entry_point)
    return {"test": test, "setup": helpers(prompt, entry_point)} if cases is None else {"cases": cases}


def _humaneval(row: Row) -> Problem:
    prompt, entry_point, test = _text(row, "prompt"), _name(row, "entry_point"), _text(row, "test")
    if not test.strip():
        return _leetcode(row)
    body = row.get("canonical_solution")
    return Problem(
        id=_text(row, "task_id"),
        language="python",
        prompt=prompt,
        entry_point=entry_point,
        stop_tokens=_AFTER_A_FUNCTION,
        canonical=prompt + body if isinstance(body, str) else None,
        **_hidden(f"{test}\n\ncheck(candidate)\n", prompt, entry_point),
    )


def _leetcode(row: Row) -> Problem:
    return Problem(
        id=_text(row, "task_id"),
        language="python",
        prompt=_text(row, "prompt"),
        entry_point=_name(row, "entry_point"),
        gradable=False,
        visible_tests=tuple(_texts(row, "visible_tests")),
    )


def _multipl_e(row: Row) -> Problem:
    language = language_of(_text(row, "language"))
    prompt, entry_point, test = _text(row, "prompt"), _name(row, "entry_point"), _text(row, "test")
    if language not in ("python", "rust"):
        raise ValueError(f"MultiPL-E's tests are supported in Python and Rust, not {language}")
    rust = language == "rust"
    return Problem(
        id=_text(row, "name"),
        language=language,
        prompt=prompt,
        entry_point=entry_point,
        stop_tokens=tuple(_texts(row, "stop_tokens")),
        **({"cases": rust_cases_of(test, entry_point)} if rust else _hidden(test, prompt, entry_point)),
    )


def _mbpp(row: Row) -> Problem:
    tests = _texts(row, "test_list") + _texts(row, "challenge_test_list")
    code = _text(row, "code").replace("\r\n", "\n")
    setup = "\n".join([*_texts(row, "test_imports"), str(row.get("test_setup_code") or "")]).strip()
    source = "\n".join(tests)
    solution, checks = parse(code), parse(source)
    if solution is None or checks is None:
        raise ValueError("'code' and 'test_list' are not Python")
    defined = [node.name for node in ast.walk(solution) if isinstance(node, ast.FunctionDef)]
    called = [node.id for node in ast.walk(checks) if isinstance(node, ast.Name)]
    names = [name for name in called if name in defined]
    if not names:
        raise ValueError("its tests call no function that 'code' defines")
    cases = cases_of(source, names[0])
    text = row["text"] if "text" in row else row["prompt"]
    if not isinstance(text, str):
        raise ValueError("'text' is not a text")
    # As in its paper, the prompt includes a test, since the function's name is nowhere else.
    prompt = f'"""\n{text.strip()}\n{tests[0]}\n"""\n'
    return Problem(
        id=f"mbpp/{row['task_id']}",
        language="python",
        prompt=prompt,
        entry_point=names[0],
        cases=cases or (),
        test=source if cases is None else "",
        setup=setup,
        canonical=code,
        # Objects of the tests' own classes cannot be sent to another process.
        gradable="class " not in setup,
        visible_tests=(tests[0],),
    )


def _evalplus(row: Row) -> Problem:
    task_id, entry_point = _text(row, "task_id"), _name(row, "entry_point")
    dataset = "mbpp+" if task_id.lower().startswith("mbpp") else "humaneval+"
    lists = [row["base_input"], row["plus_input"] or []]
    inputs = [each for some in lists if isinstance(some, list) for each in some]
    if not inputs or not all(isinstance(each, list) for each in [*lists, *inputs]):
        raise ValueError("'base_input' and 'plus_input' are lists of argument lists")
    prompt, body = _text(row, "prompt"), _text(row, "canonical_solution")
    return Problem(
        id=task_id,
        language="python",
        prompt=prompt,
        entry_point=entry_point,
        cases=evalplus.cases_of(dataset, task_id, entry_point, inputs, float(row.get("atol") or 0)),
        stop_tokens=_AFTER_A_FUNCTION,
        canonical=prompt + body,
    )


def _own(row: Row) -> Problem:
    try:
        problem = TypeAdapter(Problem).validate_python(row)
    except ValidationError as error:
        raise ValueError(explain(error)) from None
    if problem.language not in LANGUAGES:
        raise ValueError(f"unknown language {problem.language!r}: choose one of {', '.join(LANGUAGES)}")
    for case in problem.cases if problem.language == "python" else ():
        try:
            call_of(case.call)
            literal_of(case.expected or "None")
        except NotLiteralError as error:
            raise ValueError(f"{case.call[:200]}, {case.expected[:200]}: {error}") from None
        if case.comparison not in COMPARISONS | evalplus.RULES:
            raise ValueError(
                f"unknown comparison {case.comparison!r}: choose one of {', '.join(sorted(COMPARISONS))}"
            )
    return problem


_FORMS: tuple[tuple[set[str], Callable[[Row], Problem]], ...] = (
    ({"id", "language", "cases"}, _own),
    ({"task_id", "base_input", "plus_input", "canonical_solution"}, _evalplus),
    ({"name", "language", "prompt", "test", "stop_tokens", "entry_point"}, _multipl_e),
    ({"task_id", "test_list", "code"}, _mbpp),
    ({"task_id", "prompt", "entry_point", "test"}, _humaneval),
)
