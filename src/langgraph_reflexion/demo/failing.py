"""What the output of a check says: how many tests fail, which, where, and what they got instead of what.

It knows the forms in which pytest, node's test runner and cargo write, and nothing of the programs that are tested.
"""

import re
from dataclasses import dataclass

NOTHING_RUNS = 1000
"""As many failures as this count for a program that does not even start."""
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
_GOT = (
    r"^E\s+(?:AssertionError: )?assert (?P<got>.+?) (?:==|is) (?P<wanted>.+)$",
    r"^\s*left: (?P<got>.+)\n\s*right: (?P<wanted>.+)$",
    r"^\s*expected: (?P<wanted>.+)\n\s*actual: (?P<got>.+)$",
    r"^E\s+(?:AssertionError: )?assert (?P<got>not True|False)$",
)


@dataclass(frozen=True)
class Outcome:
    """What came of running the checks.

    Attributes:
        failed: How many tests fail; 0 where all checks pass.
        names: The failing tests.
        places: Path and line of what the output points at, in its order.
        pairs: What was got, and what was wanted, as they are written.
    """

    failed: int
    names: tuple[str, ...] = ()
    places: tuple[tuple[str, int], ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()


def read_outcome(output: str, *, passed: bool) -> Outcome:
    """Read the output of the checks.

    Args:
        output: The output, however it was shortened.
        passed: Whether all checks pass.
    """
    if passed:
        return Outcome(0)
    names = dict.fromkeys(name for form in _NAMES for name in re.findall(form, output, re.MULTILINE))
    counted = [sum(map(int, re.findall(form, output, re.MULTILINE))) for form in _COUNTS]
    failed = max([*counted, 0]) or len(names)
    if not failed or _BROKEN.search(output):
        failed = NOTHING_RUNS
    places = dict.fromkeys((path, int(line)) for path, line in _PLACE.findall(output))
    pairs = []
    for form in _GOT:
        for match in re.finditer(form, output, re.MULTILINE):
            said = match.groupdict()
            pairs.append((said["got"].strip(" ,"), said.get("wanted", "True").strip(" ,")))
    return Outcome(failed, tuple(names), tuple(places), tuple(pairs))


def leanings(outcome: Outcome) -> dict[str, float]:
    """Which sorts of edit the failures speak for, each with by how much.

    A count that is off by one speaks for a bound, a wrong sign for a swapped operator, yes for no for a comparison.
    """
    speak: dict[str, float] = {}

    def more(by: float, *sorts: str) -> None:
        for sort in sorts:
            speak[sort] = speak.get(sort, 1.0) + (by - 1) / len(outcome.pairs)

    for got, wanted in outcome.pairs:
        if {got, wanted} <= {"True", "False", "true", "false", "not True"}:
            more(2.0, "compare", "negate", "logic", "bound")
        if re.fullmatch(r"-?\d+", got) and re.fullmatch(r"-?\d+", wanted):
            off = abs(int(wanted) - int(got))
            if int(got) == -int(wanted):
                more(3.0, "swap", "sign")
            elif off == 1:
                more(3.0, "bound", "offset", "constant")
            else:
                more(1.5, "sign", "operator", "bound")
        elif got[:1] == wanted[:1] and got[:1] in "[({\"'":
            if abs(got.count(",") - wanted.count(",")) == 1 or abs(len(got) - len(wanted)) == 1:
                more(2.0, "bound", "offset")
            if sorted(got) == sorted(wanted):
                more(2.0, "swap", "compare")
            if got.lower() == wanted.lower():
                more(3.0, "word")
            more(1.5, "negate", "compare")
        elif wanted in ("None", "null", "undefined") or got in ("None", "null", "undefined"):
            more(1.5, "bound", "compare", "negate", "logic")
    return speak
