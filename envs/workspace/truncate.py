"""The output of commands: truncated to its first errors and last lines, and the failures in it."""

import re
from collections.abc import Iterable, Iterator

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
    (
        re.compile(r"\b(in|after|took|finished in)([ \t]+)\d+(?:\.\d+)?([ \t]?)(ms|s|sec|secs|seconds)\b"),
        r"\1\2…\3\4",
    ),
    (re.compile(r"\(\d+(?:\.\d+)?[ \t]?(ms|s)\)"), r"(… \1)"),
    (re.compile(r"\b(duration_ms:?)([ \t]+)\d+(?:\.\d+)?"), r"\1\2…"),
    (re.compile(r"\b0x[0-9a-f]{6,16}\b"), "0x…"),
    (re.compile(r"\b(target/\w+/deps/\w+-)[0-9a-f]{16}\b"), r"\1…"),
    (re.compile(r"(thread '[^'\n]*') \(\d+\) (panicked)"), r"\1 \2"),
)


def plain_text(output: str) -> str:
    """Return the output as a terminal shows it in the end, without colours, run times and addresses."""
    text = _ANSI.sub("", output.replace("\r\n", "\n"))
    if "\r" in text:
        text = "\n".join(map(_last_part, text.split("\n")))
    text = _CONTROL.sub("", text)
    text = "\n".join(line.rstrip() for line in text.split("\n"))
    # On the whole text, since code under test can print half a million lines.
    for pattern, instead in _UNSTEADY:
        text = pattern.sub(instead, text)
    return text.strip("\n")


def _last_part(line: str) -> str:
    """Return what is left of a line that carriage returns have overwritten."""
    for part in reversed(line.split("\r")):
        if part:
            return part
    return ""


def truncate(output: str, most: int = MAX_CHARS) -> str:
    """Return the output if it fits, else its last lines, its first errors with lines around them, and its start."""
    lines = [_shortened(line) for line in plain_text(output).split("\n")]
    whole = "\n".join(lines)
    if len(whole) <= most:
        return whole
    # Space for the notes on omitted lines.
    room = most - 120
    every = range(len(lines))
    # The last lines get two fifths of the room, and the beginning gets what the errors leave.
    kept: set[int] = set()
    _keep(kept, reversed(every), lines, room * 2 // 5)
    _keep(kept, _around_errors(lines), lines, room)
    _keep(kept, every, lines, room)
    return _joined(sorted(kept), lines)[:most]


def _shortened(line: str) -> str:
    if len(line) <= _LONGEST_LINE:
        return line
    return f"{line[: _LONGEST_LINE - 1]}…"


def _around_errors(lines: list[str]) -> Iterator[int]:
    """Yield the numbers of lines with an error, and of those around them."""
    every = range(len(lines))
    for number, line in enumerate(lines):
        if _ERROR.search(line) and not _NO_ERROR.search(line):
            yield from every[max(number - _BEFORE, 0) : number + _AFTER]


def _keep(kept: set[int], numbers: Iterable[int], lines: list[str], room: int) -> None:
    """Keep lines in the given order, while they fit."""
    size = sum(len(lines[number]) + 1 for number in kept)
    for number in numbers:
        if number in kept:
            continue
        size += len(lines[number]) + 1
        if number - 1 not in kept and number + 1 not in kept:
            # The gap costs a note on the omitted lines.
            size += 30
        if size > room:
            return
        kept.add(number)


def _joined(numbers: list[int], lines: list[str]) -> str:
    parts: list[str] = []
    expected = 0
    for number in [*numbers, len(lines)]:
        omitted = number - expected
        if omitted == 1:
            parts.append("[1 line omitted]")
        elif omitted > 1:
            parts.append(f"[{omitted} lines omitted]")
        if number < len(lines):
            parts.append(lines[number])
        expected = number + 1
    return "\n".join(parts)


_MOST = 50
_LONGEST_DESCRIPTION = 300
_TESTS = (
    re.compile(r"^(?:FAILED|ERROR) (\S+?::.+?|\S+\.py)(?: - .*)?$"),  # pytest
    re.compile(r"^\s*not ok \d+ - (.+?)(?:(?<!\s)\s+#.*)?$"),  # TAP: node --test, tap
    re.compile(r"^\s*✖ (?!failing tests|\d+ problem)(.+?)(?: \([^()]*\))?$"),  # node --test, its own form
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
    re.compile(r"^(thread '[^']*' .*panicked at .*)$"),
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
            match = pattern.match(line)
            if match:
                return _described(match[1])
    for line in lines:
        if _ANY.search(line) or any(pattern.match(line) for pattern in _TESTS + _LINTERS):
            return _described(line)
    if not lines:
        return ""
    return _described(lines[-1])


def _described(text: str) -> str:
    return text.strip()[:_LONGEST_DESCRIPTION]


def _found(patterns: tuple[re.Pattern[str], ...], output: str) -> list[str]:
    found: dict[str, None] = {}
    for line in plain_text(output).split("\n"):
        for pattern in patterns:
            match = pattern.match(line[:1000])
            if match:
                name = match[0]
                if pattern.groups:
                    name = match[1]
                found[_described(name)] = None
                break
    return list(found)[:_MOST]
