"""Whether a test program that exited with status 0 has said itself that its tests ran to their end and passed.

What is tested runs in the process that tests it, and can end that process with any status. It is harder for it to say
what the test program says at its end: pytest, node and cargo keep a test's output away from their own. So of the
programs known here the summary is asked for. That is no proof against code that is written to deceive them; it keeps
a stray `exit(0)`, and the simple cheats, from counting.
"""

import re
from collections.abc import Callable

from langgraph_reflexion.envs.workspace.shortening import plain

Source = Callable[[str], str]
"""Reads a file that a program has named; empty where there is none."""

_SUMMARY = re.compile(r"^=*\s*((?:\d+ [a-z ]+?(?:, )?)+) in \S*s\b", re.MULTILINE)
# As the plugin pytest-sugar writes it.
_SUGAR = re.compile(r"^Results \(.*\):\n((?:\s+\d+ [a-z]+$)+)", re.MULTILINE)
# The output goes elsewhere, or the program is told to say less.
_UNKNOWN = re.compile(
    r"[|>`]|\$\(|-qq|-q\s.*-q\b|no:terminal|--reporter|--test-reporter|--no-run|--list|--format|--collect-only|--co\b"
)


def unproven(command: str, output: str, source: Source) -> str:
    """What is missing for a success to count, in words; empty where nothing is.

    Args:
        command: The command line.
        output: What it printed.
        source: Reads a file that the output names.
    """
    shown = plain(output)
    # npm and its like print which script they run.
    for run in [command, *(_SCRIPT.findall(shown) if _RUNNER.search(command) else [])]:
        check = next((check for pattern, check in _KNOWN if pattern.search(run)), None)
        if check is not None and not _UNKNOWN.search(run.replace("2>&1", "")):
            return check(shown, source)
    return ""


def _pytest(output: str, source: Source) -> str:
    said = _SUMMARY.findall(output) or _SUGAR.findall(output)
    if not said:
        # Told twice to be quiet, once perhaps in its configuration, it shows its progress alone.
        if re.search(r"^[.sxX]+ +\[100%\]$", output, re.MULTILINE) and not re.search(
            r"^\S*[FE]\S* ", output, re.MULTILINE
        ):
            return ""
        return "pytest was ended before it could say how its tests went"
    return f"pytest itself says: {said[-1]}" if re.search(r"\b(?:failed|errors?)\b", said[-1]) else ""


def _unittest(output: str, source: Source) -> str:
    if not re.search(r"^Ran \d+ tests? in ", output, re.MULTILINE):
        return "unittest was ended before it could say how its tests went"
    return "" if re.search(r"^OK\b", output, re.MULTILINE) else "unittest itself does not say OK"


def _node(output: str, source: Source) -> str:
    if not (failed := re.findall(r"^(?:#|\u2139) fail (\d+)$", output, re.MULTILINE)):
        return "node was ended before it could say how its tests went"
    if failed[-1] != "0":
        return f"node itself says that {failed[-1]} failed"
    # A file that is named as if it were a test has ended before its first one; helpers beside the tests have none.
    alone = re.findall(r"^(?:# Subtest: (?=.+\nok )|\u2714 )(.+\.[cm]?[jt]s)(?: \(|$)", output, re.MULTILINE)
    empty = [path for path in alone if re.search(r"""["'](?:node:)?test["']""", source(path))]
    return f"{empty[0]} ended before its first test" if empty else ""


def _cargo(output: str, source: Source) -> str:
    begun = re.findall(r"^running \d+ tests?$", output, re.MULTILINE)
    ended = re.findall(r"^test result: (\w+)", output, re.MULTILINE)
    if len(begun) != len(ended) or not ended:
        return "a test program was ended before it could say how its tests went"
    return "" if set(ended) == {"ok"} else "a test program itself says that it failed"


def _named(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?:^|[\s;&(/]){words}(?=[\s;&)]|$)")


_RUNNER, _SCRIPT = _named(r"(?:npm|pnpm|yarn)"), re.compile(r"^[>$] (.+)$", re.MULTILINE)
_KNOWN: tuple[tuple[re.Pattern[str], Callable[[str, Source], str]], ...] = (
    (_named(r"(?:pytest|py\.test)"), _pytest),
    (_named(r"python[\d.]* (?:-[WX] \S+ |-\S+ )*-m unittest"), _unittest),
    (_named(r"node (?:(?:-r|--require|--import|--loader) \S+ |-\S+ )*--test"), _node),
    (_named(r"cargo (?:\+\S+ )?(?:-\S+ )*(?:t|test)"), _cargo),
)
