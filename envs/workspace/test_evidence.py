"""Evidence in a test program's output that its tests ran to the end and passed.

Code under test runs in the process that tests it, and can end that process with status 0. Faking the test program's
summary is harder: pytest, node and cargo capture a test's output. So the known test programs must print their
summary. This catches a stray `exit(0)` and simple cheats, but not code that is written to deceive the test program.
"""

import re
from collections.abc import Callable

from langgraph_reflexion.envs.workspace.truncate import plain_text

Source = Callable[[str], str]
"""Reads a file that the output names; returns "" if there is none."""

_SUMMARY = re.compile(r"^=*\s*((?:\d+ [a-z ]+?(?:, )?)+) in \S*s\b", re.MULTILINE)
# As the plugin pytest-sugar writes it.
_SUGAR = re.compile(r"^Results \(.*\):\n((?:\s+\d+ [a-z]+$)+)", re.MULTILINE)
# The output is redirected, or an option suppresses the summary.
_UNKNOWN = re.compile(
    r"[|>`]|\$\(|-qq|-q\s.*-q\b|no:terminal|--reporter|--test-reporter|--no-run|--list|--format|--collect-only|--co\b"
)


def lacks_evidence(command: str, output: str, source: Source) -> str:
    """Return why a success of a command with this output does not count, or ""."""
    shown = plain_text(output)
    # npm and the like print the script that they run.
    for run in [command, *(_SCRIPT.findall(shown) if _RUNNER.search(command) else [])]:
        check = next((check for pattern, check in _KNOWN if pattern.search(run)), None)
        if check is not None and not _UNKNOWN.search(run.replace("2>&1", "")):
            return check(shown, source)
    return ""


def _pytest(output: str, source: Source) -> str:
    said = _SUMMARY.findall(output) or _SUGAR.findall(output)
    if not said:
        # With -q twice, once perhaps in its configuration, pytest prints its progress only.
        if re.search(r"^[.sxX]+ +\[100%\]$", output, re.MULTILINE) and not re.search(
            r"^\S*[FE]\S* ", output, re.MULTILINE
        ):
            return ""
        return "pytest ended without a summary"
    return f"pytest reports: {said[-1]}" if re.search(r"\b(?:failed|errors?)\b", said[-1]) else ""


def _unittest(output: str, source: Source) -> str:
    if not re.search(r"^Ran \d+ tests? in ", output, re.MULTILINE):
        return "unittest ended without a summary"
    return "" if re.search(r"^OK\b", output, re.MULTILINE) else "unittest does not report OK"


def _node(output: str, source: Source) -> str:
    if not (failed := re.findall(r"^(?:#|\u2139) fail (\d+)$", output, re.MULTILINE)):
        return "node ended without a summary"
    if failed[-1] != "0":
        return f"node reports {failed[-1]} failed"
    # A test named like a file ended before its first test; helper files have no tests.
    alone = re.findall(r"^(?:# Subtest: (?=.+\nok )|\u2714 )(.+\.[cm]?[jt]s)(?: \(|$)", output, re.MULTILINE)
    empty = [path for path in alone if re.search(r"""["'](?:node:)?test["']""", source(path))]
    return f"{empty[0]} ended before its first test" if empty else ""


def _cargo(output: str, source: Source) -> str:
    begun = re.findall(r"^running \d+ tests?$", output, re.MULTILINE)
    ended = re.findall(r"^test result: (\w+)", output, re.MULTILINE)
    if len(begun) != len(ended) or not ended:
        return "a test program ended without a summary"
    return "" if set(ended) == {"ok"} else "a test program reports a failure"


def _go(output: str, source: Source) -> str:
    passed = re.findall(r"^PASS\n(?:coverage: .*\n)?ok\s", output, re.MULTILINE)
    ended = re.findall(r"^ok\s", output, re.MULTILINE)
    return "" if len(passed) == len(ended) else "a test program ended without PASS"


def _named(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?:^|[\s;&(/]){words}(?=[\s;&)]|$)")


_RUNNER, _SCRIPT = _named(r"(?:npm|pnpm|yarn)"), re.compile(r"^[>$] (.+)$", re.MULTILINE)
_KNOWN: tuple[tuple[re.Pattern[str], Callable[[str, Source], str]], ...] = (
    (_named(r"(?:pytest|py\.test)"), _pytest),
    (_named(r"python[\d.]* (?:-[WX] \S+ |-\S+ )*-m unittest"), _unittest),
    (_named(r"node (?:(?:-r|--require|--import|--loader) \S+ |-\S+ )*--test"), _node),
    (_named(r"cargo (?:\+\S+ )?(?:-\S+ )*(?:t|test)"), _cargo),
    # Without -v, go prints nothing of a test program that ends with status 0.
    (_named(r"go test (?:\S+ )*-v"), _go),
)
