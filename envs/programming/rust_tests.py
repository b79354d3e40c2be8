"""Rust tests: asserts as expressions with expected values."""

import contextlib
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from langgraph_reflexion.envs.programming.assemble import assemble
from langgraph_reflexion.envs.programming.compiled_runs import CompiledRuns
from langgraph_reflexion.envs.programming.languages import Language
from langgraph_reflexion.envs.programming.problems import Case, Problem
from langgraph_reflexion.envs.programming.rust_source import Macro, closing, code_of, comparison, macros
from langgraph_reflexion.envs.programming.rust_values import NotValueError, read_value


def cases_of(test: str, entry_point: str) -> tuple[Case, ...]:
    """Return the hidden tests in MultiPL-E's `main`, which calls `candidate`; raise ValueError for others."""
    cases = []
    for macro in macros(test):
        if macro.name != "assert_eq" or len(macro.arguments) < 2 or not literal(macro.arguments[1]):
            raise ValueError(
                f"a test is not assert_eq! of a call and a literal: {test[macro.start : macro.end][:200]}"
            )
        cases.append(Case(_named(macro.arguments[0], entry_point), macro.arguments[1]))
    if not cases:
        raise ValueError("'test' holds no assert_eq!")
    return tuple(cases)


def _named(call: str, entry_point: str) -> str:
    code = code_of(call)
    for match in reversed(list(re.finditer(r"\bcandidate\b", code))):
        call = call[: match.start()] + entry_point + call[match.end() :]
    return call


def case_of(macro: Macro) -> Case:
    """Convert an assert to an expression with its expected value: the literal in it, or `true`."""
    match macro.name, macro.arguments:
        case "assert", (expression, *_):
            if found := comparison(expression):
                return _compared(*found)
            if expression.startswith("!") and not re.search(r"&&|\|\||[=<>]", code_of(expression)):
                return Case(expression[1:].strip(), "false")
            return Case(expression, "true")
        case "assert_eq", (left, right, *_):
            return _compared(left, "==", right)
        case "assert_ne", (left, right, *_):
            return _compared(left, "!=", right)
    raise ValueError(f"{macro.name}! with too few arguments")


def _compared(left: str, by: str, right: str) -> Case:
    if literal(right):
        return Case(left, right, by)
    if literal(left):
        return Case(right, left, by)
    return Case(f"({left}) {by} ({right})", "true")


def literal(text: str) -> bool:
    """Whether this is the source of a literal."""
    try:
        return _constant(read_value(text))
    except NotValueError:
        return False


def _constant(tree: Any) -> bool:
    # Any other name may be a variable, a constant or a function.
    if isinstance(tree, frozenset):
        return all(map(_constant, tree))
    if not isinstance(tree, tuple):
        return True
    if tree[0] == "struct" or (tree[0] == "name" and tree[1] not in ("Some", "None", "Ok", "Err")):
        return False
    return all(map(_constant, tree[1:]))


def cases_in(text: str, entry_point: str) -> list[Case]:
    """Return the asserts in a text that call the function."""
    return [case_of(macro) for macro in macros(text) if _call_in(text[macro.start : macro.end], entry_point)]


def inner_call(expression: str, entry_point: str) -> str:
    """Return the call of the function within an expression; empty if there is none, or it is the whole expression."""
    match = _call_in(expression, entry_point)
    if match is None:
        return ""
    end = closing(expression, match.end())
    call = expression[match.start() : end]
    return "" if end is None or call == expression.strip() else call


def _call_in(text: str, entry_point: str) -> re.Match[str] | None:
    return re.search(rf"\b{re.escape(entry_point)}\s*\(", code_of(text))


def valid_tests(runs: CompiledRuns, language: Language, problem: Problem, tests: Sequence[str]) -> list[str]:
    """Return the asserts, each in one line, that compile against the prompt's signature.

    All are compiled together, and those with errors are removed until none is left. Errors in the prompt, which may
    leave something to the candidate, keep all.
    """
    tests = [test for test in tests if _call_in(test, problem.entry_point)]
    stub = assemble(problem, "    unimplemented!()\n}\n")
    head = f"{stub}\n#[allow(unused_imports)]\nuse std::collections::*;\n"
    first = head.count("\n") + 1
    while tests:
        lines = [f"fn test_{number}() {{ {test} }}" for number, test in enumerate(tests)]
        source = head + "\n".join(lines) + "\n"
        argv = ["rustc", "--edition=2021", "--crate-type=lib", "--emit=metadata", "--error-format=json", "-Awarnings"]
        done = runs.command(language, [*argv, language.file], {language.file: source})
        if done.status == "ok":
            return tests
        wrong = {line - first for line in _complaints(done.errors, language.file)}
        left = [test for number, test in enumerate(tests) if number not in wrong]
        if len(left) == len(tests):
            # The prompt itself does not compile, so the tests cannot be validated.
            return tests
        tests = left
    return []


def _complaints(printed: str, file: str) -> Iterator[int]:
    """Yield the lines of a file with errors."""
    for message in _messages(printed):
        for span in (each for each in message["spans"] if each["is_primary"]):
            while span["file_name"] != file and span.get("expansion"):
                span = span["expansion"]["span"]
            if span["file_name"] == file:
                yield span["line_start"]


def _messages(printed: str) -> Iterator[dict[str, Any]]:
    for line in printed.splitlines():
        with contextlib.suppress(ValueError):
            message = json.loads(line)
            if isinstance(message, dict) and message.get("level") == "error" and "spans" in message:
                yield message
