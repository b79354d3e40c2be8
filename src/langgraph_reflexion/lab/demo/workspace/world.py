"""The workspace as the demo model reads it: the output of checks, and the state of its own work.

Outputs are those of pytest, node's test runner and cargo. The model's own thoughts say which line it changed, and how
many tests failed then.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from langgraph_reflexion.lab.demo.prompt import Turn


@dataclass(frozen=True)
class Try:
    """A new text for a line, without its indentation."""

    path: str
    number: int
    line: str


NOTHING_RUNS = 1000
"""Number of failures that stands for a program that does not start."""
_COUNTS = (r"(\d+) failed", r"^# fail (\d+)", r"\bfail (\d+)$")
_BROKEN = re.compile(
    r"\bSyntaxError\b|^error(?:\[E\d+\])?: (?!test failed|\d+ targets? failed)|could not compile"
    r"|error during collection|errors? in \d|ERROR collecting|Interrupted: \d+ error",
    re.MULTILINE,
)
_PLACE = re.compile(r"([\w@+.~/-]*\w\.(?:py|js|mjs|cjs|ts|rs)):(\d+)")
_NAMES = (
    r"^FAILED \S+?::(?:\w+::)*(\w+)",
    r"^_{3,} (?:\w+\.)*(\w+)(?:\[.*\])? _{3,}$",
    r"^\s*not ok \d+ - (.+?)\s*$",
    r"^\s*\u2716 (.+?) \([\d.]+ms\)$",
    r"^test (?:\w+::)*(\w+) \.\.\. FAILED",
    r"^---- (?:\w+::)*(\w+) stdout ----",
)


@dataclass(frozen=True)
class Outcome:
    """The result of the checks: the number of failed tests, their names, and the paths and lines in the output."""

    failed: int
    names: tuple[str, ...] = ()
    places: tuple[tuple[str, int], ...] = ()


def read_outcome(output: str, *, passed: bool) -> Outcome:
    """Read the output of the checks."""
    if passed:
        return Outcome(0)
    names = dict.fromkeys(name for form in _NAMES for name in re.findall(form, output, re.MULTILINE))
    counted = [sum(map(int, re.findall(form, output, re.MULTILINE))) for form in _COUNTS]
    failed = max([*counted, 0]) or len(names)
    if not failed or _BROKEN.search(output):
        failed = NOTHING_RUNS
    places = dict.fromkeys((path, int(line)) for path, line in _PLACE.findall(output))
    return Outcome(failed, tuple(names), tuple(places))


_CHANGE = re.compile(r"I change line (\d+) of (\S+) to: (.+)$")
_BACK = re.compile(r"I put line (\d+) of (\S+) back to: (.+)$")
_FAIL = re.compile(r"^(?:(\d+) tests? fails?\b|Nothing runs any more)")
_READ = re.compile(r"I read (\S+)\.$")
_NOTED = re.compile(r"^line (\d+) of (\S+) changed to: (.+?) - ([^-]*)$", re.MULTILINE)
_NUMBERED = re.compile(r"^ *(\d+)(?:  (.*))?$", re.MULTILINE)
_FILE = re.compile(r"[\w@+./-]*\w\.(?:py|js|mjs|cjs|ts|rs)\b")
_PASSED = re.compile(r"^Verification passed")


@dataclass
class Workshop:
    """The state of the work."""

    listed: list[str] = field(default_factory=list)
    looked: bool = False
    """Whether it has listed files."""
    files: dict[str, list[str]] = field(default_factory=dict)
    """The lines of read files, as they were at first."""
    outcomes: list[Outcome] = field(default_factory=list)
    tried: dict[Try, int | None] = field(default_factory=dict)
    """The edits, and the numbers of failed tests after them; None while unknown."""
    now: Try | None = None
    """The edit in place."""
    checked: bool = True
    """Whether the checks have run since the last edit."""
    first: int | None = None
    """The number of failed tests at first."""
    handed_in: bool = False

    def line(self, path: str, number: int) -> str:
        lines = self.files.get(path, [])
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""

    def replacing(self, path: str, number: int, line: str) -> tuple[str, str]:
        """Return the old and new text of an edit, with lines above it where the line is not unique."""
        lines = list(self.files[path])
        if self.now and self.now.path == path:
            before = lines[self.now.number - 1]
            lines[self.now.number - 1] = before.replace(before.strip(), self.now.line, 1)
        whole, was = "\n".join(lines), lines[number - 1]
        indent = was[: len(was) - len(was.lstrip())]
        old, new, above = was.strip(), line, number - 1
        while whole.count(old) > 1 and above > 0:
            above -= 1
            head = "\n".join(lines[above : number - 1]).lstrip()
            if head:
                old, new = f"{head}\n{indent}{was.strip()}", f"{head}\n{indent}{line}"
        return old, new


def read_workshop(opening: str, turns: Sequence[Turn]) -> Workshop:
    """Read a transcript and its opening."""
    shop = Workshop(listed=[path for line in opening.split("\n") if (path := line.strip()) and _FILE.fullmatch(path)])
    for turn in turns:
        _read_turn(shop, turn)
    return shop


def noted(reflections: Sequence[str]) -> dict[Try, str]:
    """Return the edits in reflections, with their results."""
    found = (match for text in reflections for match in _NOTED.finditer(text))
    return {Try(match[2], int(match[1]), match[3]): match[4].strip() for match in found}


def note(edit: Try, what: str) -> str:
    """Return the line about an edit in a reflection."""
    return f"line {edit.number} of {edit.path} changed to: {edit.line} - {what}"


def _read_turn(shop: Workshop, turn: Turn) -> None:
    if said := _FAIL.match(turn.thought):
        failed = int(said[1] or NOTHING_RUNS)
        shop.first = failed if shop.first is None else shop.first
        last = next(reversed(shop.tried), None)
        if last and shop.checked and shop.tried[last] is None:
            shop.tried[last] = failed
    edited = turn.observation.startswith("Edited")
    name = re.match(r"\w*", turn.action)[0]  # type: ignore[index]  # it matches the empty text
    if name == "verify":
        shop.checked = True
        shop.outcomes.append(read_outcome(turn.observation, passed=_PASSED.search(turn.observation) is not None))
    elif name == "submit":
        shop.handed_in = True
    elif name == "list_files":
        shop.looked = True
        shop.listed += [path for path in turn.observation.split("\n") if _FILE.fullmatch(path)]
    elif read := _READ.search(turn.thought):
        numbered = {int(match[1]): match[2] or "" for match in _NUMBERED.finditer(turn.observation)}
        shop.files[read[1]] = [numbered.get(number, "") for number in range(1, max(numbered, default=0) + 1)]
    elif changed := _CHANGE.search(turn.thought):
        edit = Try(changed[2], int(changed[1]), changed[3])
        shop.tried.setdefault(edit)
        if edited:
            shop.now, shop.checked = edit, False
    elif edited and _BACK.search(turn.thought):
        shop.now = None
