"""Truncation of a command's output to its first errors and last lines."""

import re
from collections.abc import Iterable

MAX_CHARS = 4000
"""Characters of an output that the agent sees."""

_LONGEST_LINE = 400
_BEFORE, _AFTER = 1, 12
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|[@-Z\\-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_ERROR = re.compile(
    r"""
    \b(?:error|errors|failed|failure|failures|failing|fatal|panicked|exception|traceback|undefined|cannot|aborted)\b
    | \b[A-Z]\w*(?:Error|Exception)\b
    | ^\s*(?:E\s{2,}|not\ ok\b|[✖✗\u00d7●]|FAIL\b)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_NO_ERROR = re.compile(
    r"\b(?:0|no)\s+(?:errors?|failures?|failed|failing)\b|\b(?:errors?|failures?|fail(?:ed)?)\s*[:=]?\s*0\b"
    r"|^\s*(?:ok|✔|✓)\s|\.\.\. ok$|^# fail 0",
    re.IGNORECASE,
)
# What differs between runs without meaning: equal states should give equal observations.
_UNSTEADY = (
    (re.compile(r"\b(in|after|took|finished in)(\s+)\d+(?:\.\d+)?(\s?)(ms|s|sec|secs|seconds)\b"), r"\1\2…\3\4"),
    (re.compile(r"\(\d+(?:\.\d+)?\s?(ms|s)\)"), r"(… \1)"),
    (re.compile(r"\b(duration_ms:?)(\s+)\d+(?:\.\d+)?"), r"\1\2…"),
    (re.compile(r"\b0x[0-9a-f]{6,16}\b"), "0x…"),
    (re.compile(r"\b(target/\w+/deps/\w+-)[0-9a-f]{16}\b"), r"\1…"),
    (re.compile(r"(thread '[^']*') \(\d+\) (panicked)"), r"\1 \2"),
)


def plain_text(output: str) -> str:
    """Return the output as a terminal shows it in the end, without colours, run times and addresses."""
    text = _ANSI.sub("", output.replace("\r\n", "\n"))
    lines = []
    for line in text.split("\n"):
        shown = next((part for part in reversed(line.split("\r")) if part), "")
        shown = _CONTROL.sub("", shown.replace("\b", "")).rstrip()
        for pattern, instead in _UNSTEADY:
            shown = pattern.sub(instead, shown)
        lines.append(shown)
    return "\n".join(lines).strip("\n")


def truncate(output: str, most: int = MAX_CHARS) -> str:
    """Return the output if it fits, else its last lines, its first errors with lines around them, and its start."""
    lines = [
        line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 1]}…"
        for line in plain_text(output).split("\n")
    ]
    if sum(len(line) + 1 for line in lines) - 1 <= most:
        return "\n".join(lines)
    # Space for the notes on omitted lines.
    room = most - 120
    every = range(len(lines))
    errors = [n for n, line in enumerate(lines) if _ERROR.search(line) and not _NO_ERROR.search(line)]
    kept: set[int] = set()
    _keep(kept, reversed(every), lines, room * 2 // 5)
    _keep(kept, (n for error in errors for n in every[max(error - _BEFORE, 0) : error + _AFTER]), lines, room)
    _keep(kept, every, lines, room)
    return _joined(sorted(kept), lines)[:most]


def _keep(kept: set[int], numbers: Iterable[int], lines: list[str], room: int) -> None:
    """Keep lines in the given order, while they fit."""
    size = sum(len(lines[number]) + 1 for number in kept)
    for number in numbers:
        if number not in kept:
            # A gap costs a note on the omitted lines.
            size += len(lines[number]) + 1 + (0 if kept & {number - 1, number + 1} else 30)
            if size > room:
                return
            kept.add(number)


def _joined(numbers: list[int], lines: list[str]) -> str:
    parts: list[str] = []
    expected = 0
    for number in [*numbers, len(lines)]:
        if number > expected:
            parts.append(f"[{number - expected} {'line' if number == expected + 1 else 'lines'} omitted]")
        if number < len(lines):
            parts.append(lines[number])
        expected = number + 1
    return "\n".join(parts)
