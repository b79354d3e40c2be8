"""What the demo model makes of a transcript of repairs: what it has read, what it has tried, what came of it.

It goes by what it wrote itself: its thoughts say which line it changed to what, and how many tests failed then. Code
that it needs word for word it takes from what it was shown.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from langgraph_reflexion.demo.failing import NOTHING_RUNS, Outcome, read_outcome
from langgraph_reflexion.demo.suspects import Try
from langgraph_reflexion.demo.transcript import Turn

_CHANGE = re.compile(r"I change line (\d+) of (\S+) to: (.+)$")
_BACK = re.compile(r"I put line (\d+) of (\S+) back to: (.+)$")
_READ = re.compile(r"I read (\S+)\.$")
_FAIL = re.compile(r"^(\d+) tests? (?:still )?fails?\b")
_NOTED = re.compile(r"^line (\d+) of (\S+) changed to: (.+?) - ([^-]*)$", re.MULTILINE)
_NUMBERED = re.compile(r"^ *(\d+)(?:  (.*))?$", re.MULTILINE)
_FILE = re.compile(r"[\w@+./-]*\w\.(?:py|js|mjs|cjs|ts|rs)\b")
_PASSED = re.compile(r"^Verification passed")
NOTHING = "Nothing runs any more."


@dataclass
class Tried:
    """An edit that was made, and how many tests failed after it; None where that was not seen."""

    edit: Try
    failed: int | None = None


@dataclass
class Workshop:
    """The state of the work.

    Attributes:
        listed: The files of which there is word.
        looked: Whether it has asked for them.
        files: The lines of what was read, as they were at first.
        current: The same lines as they are now.
        outcomes: What the checks came to, each time.
        tried: The edits, in order.
        now: What stands otherwise than at first: the edit that is in place.
        checked: Whether the checks have run since the last edit.
        first: How many tests failed at first.
        handed_in: Whether it was handed in.
    """

    listed: list[str] = field(default_factory=list)
    looked: bool = False
    files: dict[str, list[str]] = field(default_factory=dict)
    current: dict[str, list[str]] = field(default_factory=dict)
    outcomes: list[Outcome] = field(default_factory=list)
    tried: list[Tried] = field(default_factory=list)
    now: Try | None = None
    checked: bool = True
    first: int | None = None
    handed_in: bool = False

    def line(self, path: str, number: int) -> str:
        """A line as it was at first, without its indentation."""
        lines = self.files.get(path, [])
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""

    def replacing(self, path: str, number: int, line: str) -> tuple[str, str]:
        """What to replace by what to make a line another one; with lines above it where there are several alike."""
        lines = self.current[path]
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
    """Read a transcript, from what is seen first."""
    shop = Workshop(listed=[path for line in opening.split("\n") if (path := line.strip()) and _FILE.fullmatch(path)])
    for turn in turns:
        _read_turn(shop, turn)
    return shop


def noted(reflections: Sequence[str]) -> dict[Try, str]:
    """The edits that the reflections speak of, and what they say came of each."""
    found = (match for text in reflections for match in _NOTED.finditer(text))
    return {Try(match[2], int(match[1]), match[3]): match[4].strip() for match in found}


def note(edit: Try, what: str) -> str:
    """How a reflection speaks of an edit."""
    return f"line {edit.number} of {edit.path} changed to: {edit.line} - {what}"


def _read_turn(shop: Workshop, turn: Turn) -> None:
    if told := _FAIL.match(turn.thought):
        _told(shop, int(told[1]))
    elif turn.thought.startswith(NOTHING):
        _told(shop, NOTHING_RUNS)
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
        shop.files[read[1]] = _lines([], turn.observation)
        shop.current[read[1]] = list(shop.files[read[1]])
    elif changed := _CHANGE.search(turn.thought):
        edit = Try(changed[2], int(changed[1]), changed[3])
        shop.tried.append(Tried(edit))
        if _edited(shop, edit.path, turn):
            shop.now, shop.checked = edit, False
    elif (back := _BACK.search(turn.thought)) and _edited(shop, back[2], turn):
        shop.now = None


def _edited(shop: Workshop, path: str, turn: Turn) -> bool:
    """Take in what the environment shows of an edit; False where it was refused."""
    if not turn.observation.startswith("Edited"):
        return False
    shop.current[path] = _lines(shop.current.get(path, []), turn.observation)
    return True


def _told(shop: Workshop, failed: int) -> None:
    if shop.first is None:
        shop.first = failed
    if shop.tried and shop.checked and shop.tried[-1].failed is None:
        shop.tried[-1].failed = failed


def _lines(before: list[str], observation: str) -> list[str]:
    numbered = {int(match[1]): match[2] or "" for match in _NUMBERED.finditer(observation)}
    last = max([len(before), *numbered])
    return [
        numbered.get(number, before[number - 1] if number <= len(before) else "") for number in range(1, last + 1)
    ]
