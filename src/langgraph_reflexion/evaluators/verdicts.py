"""The verdicts of a judge on criteria, as its reply gives them: as labelled lines, as JSON, or as a tool call."""

import copy
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from langgraph_reflexion.support.text import plain, sanitize

Met = Literal["yes", "no", "unknown"]

REPORT = "report_verdicts"
"""The name of the tool by which a judge gives its verdicts."""

VERDICTS_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "verdicts": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "criterion": {"type": "integer", "description": "its number"},
                    "evidence": {
                        "type": "string",
                        "description": "the words of the trial that decide it, copied exactly; empty if none",
                    },
                    "missing": {
                        "type": "string",
                        "description": "what is missing, in a few words; empty if nothing",
                    },
                    "met": {"type": "string", "enum": ["yes", "no", "unknown"]},
                },
                "required": ["criterion", "evidence", "missing", "met"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["verdicts"],
    "additionalProperties": False,
}
"""The JSON schema of verdicts. The verdict itself comes last, after its reasons."""

REPORT_SCHEMA: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": REPORT,
        "description": "Give the verdicts, one for each criterion.",
        "parameters": VERDICTS_SCHEMA,
    },
}
"""The tool as models are offered it: LangChain's structured output by tool calls."""

LONGEST_TEXT = 300
"""Characters of evidence and of what is missing in JSON that a grammar holds to: small models write without end."""

LONGEST_REPLY = 200_000
"""Characters of a reply that are read."""

_FIELD = re.compile(r"^(?:[^\w|]|_)*(criterion|evidence|missing|met)\b[\s*_`]*:?[\s*_`]*(.*)$", re.IGNORECASE)
"""A labelled line of a reply, whose label may be emphasized. A bar before it marks a quotation from the trial."""

_FENCE = re.compile(r"```\w*\s*\n(?P<inside>.*?)```", re.DOTALL)
"""A block of code."""


@dataclass
class CriterionVerdict:
    """What a judge says of a criterion."""

    evidence: str = ""
    """What in the trial shows it, in its words; empty if nothing does."""
    missing: str = ""
    """What is missing; empty if nothing is."""
    met: Met | None = None
    """The verdict; None if the judge has skipped it."""


class _Found(NamedTuple):
    """A verdict in a reply, and the number of its criterion as the reply gives it."""

    place: int
    verdict: CriterionVerdict


def verdicts_schema(number: int) -> dict[str, Any]:
    """Return the JSON schema of the verdicts on this number of criteria, for a server that holds to it."""
    schema = copy.deepcopy(VERDICTS_SCHEMA)
    verdicts = schema["properties"]["verdicts"]
    verdicts["minItems"] = number
    verdicts["maxItems"] = number
    fields = verdicts["items"]["properties"]
    for name in ("evidence", "missing"):
        fields[name]["maxLength"] = LONGEST_TEXT
    return schema


def read_verdicts(reply: str, number: int) -> dict[int, CriterionVerdict]:
    """Return the verdicts in a reply by the number of the criterion, counted from 1, of which there are `number`.

    A criterion without a readable verdict is left out, and so is one with two verdicts that contradict each other:
    the words of the trial, which the judge copies, may look like a verdict. So a reply has none at all if one of them
    is on a criterion that does not exist.
    """
    reply = reply[:LONGEST_REPLY]
    value = _json_of(reply)
    if value is None:
        return _settled(_in_lines(reply, number), number)
    return read_report(value, number)


def read_report(value: Any, number: int) -> dict[int, CriterionVerdict]:
    """Return the verdicts in the arguments of a `REPORT`, or in JSON of that form, as `read_verdicts` does."""
    return read_reports([value], number)


def read_reports(values: Iterable[Any], number: int) -> dict[int, CriterionVerdict]:
    """Return the verdicts in several reports of one reply together, as `read_report` does those of one."""
    entries: list[Any] = []
    for value in values:
        of_report = value
        if isinstance(value, dict):
            of_report = value.get("verdicts", [value])
        if isinstance(of_report, list):
            entries += of_report
    return _settled(_in_entries(entries, number), number)


def _json_of(reply: str) -> Any:
    """Return the JSON that is the whole reply, bare or in a block of code; None if it is anything else."""
    text = reply.strip()
    fenced = _FENCE.fullmatch(text)
    if fenced:
        text = fenced["inside"].strip()
    if not text.startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    # Python's parser gives up at brackets that are nested deep.
    except (ValueError, RecursionError):
        return None


def _settled(found: Iterable[_Found], number: int) -> dict[int, CriterionVerdict]:
    """Return the verdicts by the number of the criterion, without those that contradict each other."""
    verdicts: dict[int, CriterionVerdict] = {}
    contradicted: set[int] = set()
    for place, verdict in found:
        if not verdict.met:
            continue
        if not 1 <= place <= number:
            # The judge counts otherwise, or these are words of the trial: then the others may be, too.
            return {}
        earlier = verdicts.get(place)
        if earlier and earlier.met != verdict.met:
            contradicted.add(place)
        verdicts[place] = verdict
    return {place: verdict for place, verdict in verdicts.items() if place not in contradicted}


def _in_lines(reply: str, number: int) -> Iterator[_Found]:
    """Yield the verdicts in labelled lines."""
    current = CriterionVerdict()
    # A judge need not name the only criterion. Of several, no verdict counts before one is named.
    place = 0
    if number == 1:
        place = 1
    # Not `splitlines`: signs such as U+2028 may be in the words of the trial, and a copied line would become two.
    for line in reply.split("\n"):
        matched = _FIELD.match(line)
        if matched is None:
            continue
        label = matched[1].lower()
        value = matched[2].strip().strip("*").strip()
        if label == "criterion":
            place = _number_in(value)
            if number == 1 and not value[:1].isdigit():
                # The only one, which the judge has repeated in words.
                place = 1
            current = CriterionVerdict()
        elif label == "evidence":
            current.evidence = _unless_nothing(value)
        elif label == "missing":
            current.missing = _unless_nothing(value)
        else:
            # A copy, as further lines on this criterion change the current verdict.
            verdict = CriterionVerdict(current.evidence, current.missing, _met(value))
            yield _Found(place, verdict)


def _in_entries(entries: Sequence[Any], number: int) -> Iterator[_Found]:
    """Yield the verdicts in a list of JSON objects."""
    for entry in entries:
        if not isinstance(entry, dict):
            continue
        # Of one criterion the number says nothing.
        place = 1
        if number > 1:
            place = _whole_number(entry.get("criterion"))
        evidence = _unless_nothing(_text_of(entry.get("evidence")))
        missing = _unless_nothing(_text_of(entry.get("missing")))
        yield _Found(place, CriterionVerdict(evidence, missing, _met_of(entry.get("met"))))


def _number_in(value: str) -> int:
    """Return the number with which a text begins; 0 without one."""
    # Up to three signs may precede the number, as in `#1` or `**(1)`.
    digits = re.match(r"\D{0,3}([0-9]{1,4})(?!\d)", value)
    if digits is None:
        return 0
    return int(digits[1])


def _whole_number(value: Any) -> int:
    """Return a whole number, which may be a text; 0 for anything else."""
    written = str(plain(value)).strip()
    if not re.fullmatch("[0-9]{1,4}", written):
        return 0
    return int(written)


def _text_of(value: Any) -> str:
    """Return a text on one line; an empty one for anything else."""
    if not isinstance(value, str):
        return ""
    return " ".join(sanitize(value).split())


def _met_of(value: Any) -> Met | None:
    """Return the verdict that a JSON value stands for."""
    if value is True:
        return "yes"
    if value is False:
        return "no"
    return _met(_text_of(value))


def _met(value: str) -> Met | None:
    """Return the verdict that a text begins with; None if others follow, as where the request is repeated."""
    first = re.match(r"\W*(yes|no|unknown)\b", value, re.IGNORECASE)
    if first is None:
        return None
    rest = value[first.end() :]
    if re.match(r"[\s,/|]*(?:and|or)?[\s,/|]*(?:yes|no|unknown)\b", rest, re.IGNORECASE):
        return None
    word = first[1].lower()
    if word == "yes":
        return "yes"
    if word == "no":
        return "no"
    return "unknown"


def _unless_nothing(value: str) -> str:
    """Return a text; empty if it says that there is nothing."""
    if value.strip(" .\"'").lower() in ("", "none", "nothing", "n/a"):
        return ""
    return value
