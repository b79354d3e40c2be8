"""Evidence that the tests of a test program ran to the end and passed.

Code under test runs in the process that tests it, and can end that process with status 0. So the known test programs
must print their summary. pytest and node keep a test's output apart from it. unittest and cargo do not: unittest
reports its result apart from its output, and cargo must print a line for each of its tests (see `test_runners`). This
catches a stray `exit(0)` and simple cheats, but not code that is written to deceive the test program.

All readers here take linear time: the output may be a megabyte of anything.
"""

import re
from collections import Counter
from collections.abc import Callable

from langgraph_reflexion.envs.workspace.test_runners import CARGO, UNITTEST, active, listed, unittest_failure
from langgraph_reflexion.envs.workspace.truncate import plain_text

Source = Callable[[str], str]
"""Reads a file that the output names; returns "" if there is none."""
Check = Callable[[str, Source], str]
"""Returns why the output of a test program is not a success, or ""."""

_SUMMARY = re.compile(r"^=*[ \t]*((?:\d+ [a-z ]+?(?:, )?)+) in \S*s\b", re.MULTILINE)
# As the plugin pytest-sugar writes it.
_SUGAR = re.compile(r"^Results \(.*\):\n((?:[ \t]+\d+ [a-z]+(?:\n|\Z))+)", re.MULTILINE)
# What pytest says of a run that was left before its end.
_LEFT = re.compile(r"^(?:!{2,} |! [\w.]*Exit: |=*[ \t]*no tests ran in )", re.MULTILINE)
_ENDED_PROGRESS = re.compile(r"^[.sxX]+ +\[100%\]$", re.MULTILINE)
_FAILED_PROGRESS = re.compile(r"^\S*[FE]\S* ", re.MULTILINE)
_FAILED = re.compile(r"\b(?:failed|errors?)\b")
_PASSED = re.compile(r"\d (?:passed|xpassed|xfailed)\b")
_LONGEST_LINE = 1000
_LONGEST_NAME = 200
_MOST_SCRIPTS = 100
# Not at the beginning of a word: what a child of a test prints may come right before it.
_RAN = re.compile(r"test (\S+)(?: - [\w ]+)? \.\.\.")
_COUNTED = re.compile(r"^test result: ok\. (\d{1,9}) passed; \d{1,9} failed; (\d{1,9}) ignored", re.MULTILINE)
_QUIET = re.compile(r" (?:-q|--quiet)\b")
# The output is redirected, or an option suppresses the summary.
_UNKNOWN = re.compile(
    r"[|>`]|\$\(|-qq|-q\s.*-q\b|no:terminal|--reporter|--test-reporter|--no-run|--list|--format|--collect-only|--co\b"
)


def lacks_evidence(command: str, output: str, source: Source, reported: str = "") -> str:
    """Return why a success of a command does not count, or "".

    Args:
        command: The command line.
        output: What it printed.
        source: Reads a file that the output names.
        reported: What its test programs reported apart from their output.
    """
    shown = "\n".join(line[:_LONGEST_LINE] for line in plain_text(output).split("\n"))
    runs = [command]
    if _RUNNER.search(command):
        # npm and the like print the script that they run.
        runs += _SCRIPT.findall(shown)[:_MOST_SCRIPTS]
    for run in runs:
        check = _check_of(run)
        if check is None:
            continue
        if check is _unittest and run is command and "||" not in run:
            # Its report is there also where its output is redirected.
            failure = unittest_failure(reported)
            if failure is not None:
                return failure
        if _UNKNOWN.search(run.replace("2>&1", "")):
            continue
        why = check(shown, source)
        if why:
            return why
        if check is _cargo:
            return _unprinted(run, shown, reported)
        # Where a second run decides, the first one may fail.
        if check is _pytest and "||" not in run:
            return _earlier_failure(shown)
        return ""
    return ""


def _check_of(command: str) -> Check | None:
    for pattern, check in _KNOWN:
        if pattern.search(command):
            return check
    return None


def _unprinted(command: str, output: str, reported: str) -> str:
    """Return which of the tests that cargo's test programs listed did not pass, or ""."""
    wanted = listed(plain_text(reported))
    ended = 0
    for passed, ignored in _COUNTED.findall(output):
        ended += int(passed) + int(ignored)
    if ended < wanted.total():
        return f"cargo reports {ended} tests, of {wanted.total()}"
    if _QUIET.search(command):
        return ""
    missing = wanted - Counter(_RAN.findall(output))
    if missing:
        return f"cargo does not report the test {min(missing)[:_LONGEST_NAME]}"
    return ""


def runs_cargo(command: str) -> bool:
    """Return whether a command runs tests through cargo."""
    return _CARGO_NAMED.search(command) is not None


def lost_test(before: str, reported: str) -> str:
    """Return why a success of cargo does not count, as a test that it listed at the beginning is gone, or ""."""
    missing = active(plain_text(before)) - active(plain_text(reported))
    if not missing:
        return ""
    return f"the test {min(missing)[:_LONGEST_NAME]}, which was there at the beginning, is gone or ignored"


def _pytest(output: str, source: Source) -> str:
    summaries = _SUMMARY.findall(output) or _SUGAR.findall(output)
    if not summaries:
        # With -q twice, once perhaps in its configuration, pytest prints its progress only.
        if _ENDED_PROGRESS.search(output) and not _FAILED_PROGRESS.search(output):
            return ""
        return "pytest ended without a summary"
    last = summaries[-1]
    if _FAILED.search(last):
        return f"pytest reports: {last}"
    if not _PASSED.search(last):
        return f"pytest ran no test: {last}"
    return ""


def _earlier_failure(output: str) -> str:
    """Return the failure that pytest printed before a last summary of the tested code, or ""."""
    for summary in _SUMMARY.findall(output):
        if _FAILED.search(summary):
            return f"pytest reports: {summary}"
    if _LEFT.search(output):
        return "pytest ended before its last test"
    return ""


def _unittest(output: str, source: Source) -> str:
    if not re.search(r"^Ran \d+ tests? in ", output, re.MULTILINE):
        return "unittest ended without a summary"
    if not re.search(r"^OK\b", output, re.MULTILINE):
        return "unittest does not report OK"
    return ""


def _node(output: str, source: Source) -> str:
    failed = re.findall(r"^(?:#|\u2139) fail (\d+)$", output, re.MULTILINE)
    if not failed:
        return "node ended without a summary"
    if failed[-1] != "0":
        return f"node reports {failed[-1]} failed"
    # A test named like a file ended before its first test; helper files have no tests.
    alone = re.findall(r"^(?:# Subtest: (?=.+\nok )|\u2714 )(.+\.[cm]?[jt]s)(?: \(|$)", output, re.MULTILINE)
    for path in alone:
        if re.search(r"""["'](?:node:)?test["']""", source(path)):
            return f"{path} ended before its first test"
    return ""


def _cargo(output: str, source: Source) -> str:
    begun = re.findall(r"^running \d+ tests?$", output, re.MULTILINE)
    ended = re.findall(r"^test result: (\w+)", output, re.MULTILINE)
    if len(begun) != len(ended) or not ended:
        return "a test program ended without a summary"
    if set(ended) != {"ok"}:
        return "a test program reports a failure"
    return ""


def _go(output: str, source: Source) -> str:
    passed = re.findall(r"^PASS\n(?:coverage: .*\n)?ok\s", output, re.MULTILINE)
    ended = re.findall(r"^ok\s", output, re.MULTILINE)
    if len(passed) != len(ended):
        return "a test program ended without PASS"
    return ""


def _named(words: str) -> re.Pattern[str]:
    """Return a pattern of a program's name between other words of a command."""
    return re.compile(rf"(?:^|[\s;&(/'\"]){words}(?=[\s;&)'\"]|$)")


_CARGO_NAMED = _named(CARGO)
_RUNNER = _named(r"(?:npm|pnpm|yarn)")
_SCRIPT = re.compile(r"^[>$] (.+)$", re.MULTILINE)
_KNOWN: tuple[tuple[re.Pattern[str], Check], ...] = (
    (_named(r"(?:pytest|py\.test)"), _pytest),
    (_named(UNITTEST), _unittest),
    (_named(r"node (?:(?:-r|--require|--import|--loader) \S+ |-\S+ )*--test"), _node),
    (_CARGO_NAMED, _cargo),
    # Without -v, go prints nothing of a test program that ends with status 0.
    (_named(r"go test (?:\S+ )*-v"), _go),
)
