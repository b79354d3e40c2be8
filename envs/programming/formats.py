"""Readers of problem files: HumanEval, MBPP, MultiPL-E, EvalPlus, LeetCode-hard and the project's own form."""

import ast
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from langgraph_reflexion.envs.programming import evalplus
from langgraph_reflexion.envs.programming.languages import LANGUAGES, language_of
from langgraph_reflexion.envs.programming.problems import Case, Problem
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

_NO_INPUTS = "'base_input' and 'plus_input' are lists of argument lists"
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
    chosen = list(problems.values())
    if language is not None:
        # After all are read, so that a faulty row is an error in any language.
        chosen = [problem for problem in chosen if problem.language == language]
    if not chosen:
        if language is None:
            raise ConfigurationError(f"{path} contains no problems")
        raise ConfigurationError(f"{path} contains no problems in {language}")
    return chosen


def _problem(place: str, row: Row) -> Problem:
    """Return the problem of a row; raise ConfigurationError with its place if it is none."""
    for keys, read in _FORMS:
        if keys <= row.keys():
            return _read(place, row, read)
    names = ", ".join(row)[:200] or "none"
    raise ConfigurationError(f"{place}: unknown form of problem with the keys {names}")


def _read(place: str, row: Row, read: Callable[[Row], Problem]) -> Problem:
    try:
        problem = read(row)
    except KeyError as error:
        raise ConfigurationError(f"{place}: {error} is missing") from None
    except (TypeError, ValueError, SyntaxError, RecursionError) as error:
        raise ConfigurationError(f"{place}: {error}") from None
    if problem.gradable and not problem.cases and not problem.test:
        raise ConfigurationError(f"{place}: it has no hidden tests")
    return problem


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


@dataclass(frozen=True, slots=True)
class _Hidden:
    """Hidden tests in Python; see the fields of `Problem`."""

    cases: tuple[Case, ...] = ()
    test: str = ""
    setup: str = ""


def _hidden(test: str, prompt: str, entry_point: str) -> _Hidden:
    """Return hidden tests in Python: cases, or source if they are more than calls with plain values."""
    cases = cases_of(test, entry_point)
    if cases is None:
        return _Hidden(test=test, setup=helpers(prompt, entry_point))
    return _Hidden(cases=cases)


def _humaneval(row: Row) -> Problem:
    prompt = _text(row, "prompt")
    entry_point = _name(row, "entry_point")
    test = _text(row, "test")
    if not test.strip():
        # LeetCode-hard has the same keys, and no hidden tests.
        return _leetcode(row)
    task_id = _text(row, "task_id")
    canonical = None
    body = row.get("canonical_solution")
    if isinstance(body, str):
        canonical = prompt + body
    hidden = _hidden(f"{test}\n\ncheck(candidate)\n", prompt, entry_point)
    return Problem(
        id=task_id,
        language="python",
        prompt=prompt,
        entry_point=entry_point,
        cases=hidden.cases,
        test=hidden.test,
        setup=hidden.setup,
        stop_tokens=_AFTER_A_FUNCTION,
        canonical=canonical,
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
    prompt = _text(row, "prompt")
    entry_point = _name(row, "entry_point")
    test = _text(row, "test")
    if language not in ("python", "rust"):
        raise ValueError(f"MultiPL-E's tests are supported in Python and Rust, not {language}")
    name = _text(row, "name")
    stop_tokens = _texts(row, "stop_tokens")
    if language == "rust":
        hidden = _Hidden(cases=rust_cases_of(test, entry_point))
    else:
        hidden = _hidden(test, prompt, entry_point)
    return Problem(
        id=name,
        language=language,
        prompt=prompt,
        entry_point=entry_point,
        cases=hidden.cases,
        test=hidden.test,
        setup=hidden.setup,
        stop_tokens=tuple(stop_tokens),
    )


def _mbpp(row: Row) -> Problem:
    tests = _texts(row, "test_list") + _texts(row, "challenge_test_list")
    code = _text(row, "code").replace("\r\n", "\n")
    setup_lines = [*_texts(row, "test_imports"), str(row.get("test_setup_code") or "")]
    setup = "\n".join(setup_lines).strip()
    source = "\n".join(tests)
    entry_point = _tested_function(code, source)
    cases = cases_of(source, entry_point)
    if cases is None:
        hidden = _Hidden(test=source)
    else:
        hidden = _Hidden(cases=cases)
    # As in its paper, the prompt includes a test, since the function's name is nowhere else.
    description = _description(row)
    prompt = f'"""\n{description.strip()}\n{tests[0]}\n"""\n'
    return Problem(
        id=f"mbpp/{row['task_id']}",
        language="python",
        prompt=prompt,
        entry_point=entry_point,
        cases=hidden.cases,
        test=hidden.test,
        setup=setup,
        canonical=code,
        # Objects of the tests' own classes cannot be sent to another process.
        gradable="class " not in setup,
        visible_tests=(tests[0],),
    )


def _tested_function(code: str, tests: str) -> str:
    """Return the name of the first function of a program that its tests use; raise ValueError if there is none."""
    solution = parse(code)
    checks = parse(tests)
    if solution is None or checks is None:
        raise ValueError("'code' and 'test_list' are not Python")
    defined = {node.name for node in ast.walk(solution) if isinstance(node, ast.FunctionDef)}
    for node in ast.walk(checks):
        if isinstance(node, ast.Name) and node.id in defined:
            return node.id
    raise ValueError("its tests call no function that 'code' defines")


def _description(row: Row) -> str:
    """Return the task in words: `text` in the original files, `prompt` in the sanitized ones."""
    if "text" in row:
        text = row["text"]
    else:
        text = row["prompt"]
    if not isinstance(text, str):
        raise ValueError("'text' is not a text")
    return text


def _evalplus(row: Row) -> Problem:
    task_id = _text(row, "task_id")
    entry_point = _name(row, "entry_point")
    dataset = "humaneval+"
    if task_id.lower().startswith("mbpp"):
        dataset = "mbpp+"
    base = row["base_input"]
    further = row["plus_input"] or []
    inputs = _argument_lists(base) + _argument_lists(further)
    if not inputs:
        raise ValueError(_NO_INPUTS)
    prompt = _text(row, "prompt")
    body = _text(row, "canonical_solution")
    atol = float(row.get("atol") or 0)
    return Problem(
        id=task_id,
        language="python",
        prompt=prompt,
        entry_point=entry_point,
        cases=evalplus.cases_of(dataset, task_id, entry_point, inputs, atol),
        stop_tokens=_AFTER_A_FUNCTION,
        canonical=prompt + body,
    )


def _argument_lists(value: Any) -> list[Any]:
    if not isinstance(value, list) or not all(isinstance(each, list) for each in value):
        raise ValueError(_NO_INPUTS)
    return value


def _own(row: Row) -> Problem:
    try:
        problem = TypeAdapter(Problem).validate_python(row)
    except ValidationError as error:
        raise ValueError(explain(error)) from None
    if problem.language not in LANGUAGES:
        known = ", ".join(LANGUAGES)
        raise ValueError(f"unknown language {problem.language!r}: choose one of {known}")
    if problem.language == "python":
        for case in problem.cases:
            _expect_readable(case)
    return problem


def _expect_readable(case: Case) -> None:
    """Expect a case whose call, value and comparison the grader of Python can read; raise ValueError otherwise."""
    try:
        call_of(case.call)
        literal_of(case.expected or "None")
    except NotLiteralError as error:
        raise ValueError(f"{case.call[:200]}, {case.expected[:200]}: {error}") from None
    if case.comparison not in COMPARISONS and case.comparison not in evalplus.RULES:
        known = ", ".join(sorted(COMPARISONS))
        raise ValueError(f"unknown comparison {case.comparison!r}: choose one of {known}")


_FORMS: tuple[tuple[set[str], Callable[[Row], Problem]], ...] = (
    ({"id", "language", "cases"}, _own),
    ({"task_id", "base_input", "plus_input", "canonical_solution"}, _evalplus),
    ({"name", "language", "prompt", "test", "stop_tokens", "entry_point"}, _multipl_e),
    ({"task_id", "test_list", "code"}, _mbpp),
    ({"task_id", "prompt", "entry_point", "test"}, _humaneval),
)
"""The keys of each form, of which the first that fits counts, and its reader."""
