"""A parser of failures in the output of test programs, compilers and linters."""

import re

from langgraph_reflexion.envs.workspace.truncate import plain_text

_MOST = 50
_TESTS = (
    re.compile(r"^(?:FAILED|ERROR) (\S+?::.+?|\S+\.py)(?: - .*)?$"),  # pytest
    re.compile(r"^\s*not ok \d+ - (.+?)(?:\s+#.*)?$"),  # TAP: node --test, tap
    re.compile(r"^\s*✖ (?!failing tests|\d+ problem)(.+?)(?: \(.*\))?$"),  # node --test, its own form
    re.compile(r"^test (.+?) \.\.\. FAILED$"),  # cargo test
    re.compile(r"^\s*● (.+)$"),  # jest
    re.compile(r"^\s*--- FAIL: (\S+)"),  # go test
    re.compile(r"^(?:FAIL|ERROR): (\w+ \([\w.]+\).*)$"),  # unittest
)
_LINTERS = (
    re.compile(r"^\S[^:(]*\(\d+,\d+\): error .*$"),  # tsc
    re.compile(r"^\S[^:\s]*:\d+:(?:\d+:?)?(?: -)? (?:error\b.*|[A-Z]{1,4}\d{3,4}\b.*)$"),  # mypy, tsc --pretty, ruff
    re.compile(r"^\s+\d+:\d+\s+error\s+.*$"),  # eslint
    re.compile(r"^error(?:\[E\d+\])?: (?!test failed|could not compile|aborting|\d+ targets?).+$"),  # rustc, clippy
)
_FIRST = (
    re.compile(r"^E\s{2,}(\S.*)$"),
    re.compile(r"^(?:\s*)((?:[A-Z]\w*\.)*[A-Z]\w*(?:Error|Exception)\b.*)$"),
    re.compile(r"^(thread '.*' .*panicked at .*)$"),
    re.compile(r"^\s*(error(?:\[E\d+\])?: (?!\|-?$).*)$"),
)
_ANY = re.compile(r"error|fail|not ok|panicked|✖|exception", re.IGNORECASE)


def failed_tests(output: str) -> list[str]:
    """Return the names of the failed tests, in order, each once."""
    return _found(_TESTS, output)


def linter_errors(output: str) -> list[str]:
    """Return the error lines of compilers and linters, in order, each once."""
    return _found(_LINTERS, output)


def first_error(output: str) -> str:
    """Return the first line that describes an error, or else the last line that is not empty."""
    lines = [line for line in plain_text(output).split("\n") if line.strip()]
    for line in lines:
        for pattern in _FIRST:
            if match := pattern.match(line):
                return match[1].strip()[:300]
    worded = [line for line in lines if _ANY.search(line) or any(each.match(line) for each in (*_TESTS, *_LINTERS))]
    return (worded or lines[-1:] or [""])[0].strip()[:300]


def _found(patterns: tuple[re.Pattern[str], ...], output: str) -> list[str]:
    found: dict[str, None] = {}
    for line in plain_text(output).split("\n"):
        for pattern in patterns:
            if match := pattern.match(line[:1000]):
                found[(match[1] if pattern.groups else match[0]).strip()[:300]] = None
                break
    return list(found)[:_MOST]
