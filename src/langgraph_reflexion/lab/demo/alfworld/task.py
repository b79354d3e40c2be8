"""What the demo model reads in ALFWorld: its task, and what reflections say about the thing to find."""

import re
from dataclasses import dataclass, field

from langgraph_reflexion.lab.demo.alfworld.world import NAME, class_of, places_in
from langgraph_reflexion.lab.demo.prompt import ParsedPrompt

_SMALL_WORDS = """
    a again an and at both bring by chill clean cold cool examine find heat hold hot in in/on into is it it's its
    leave light look of on one onto place put same some the them then this to two turn under up warm wash with you
    your
"""
_STOPWORDS = frozenset(_SMALL_WORDS.split())
# A task is of the first kind whose pattern it contains.
_KINDS = (
    ("two", r"\btwo\b"),
    ("look", r"\b(?:look at|examine|light|under)\b"),
    ("clean", r"\b(?:clean|wash|rinse)\b"),
    ("heat", r"\b(?:hot|heat|warm)\b"),
    ("cool", r"\b(?:cool|cold|chill)\b"),
)


@dataclass(frozen=True)
class Goal:
    """The task: do something to a thing, and bring it somewhere.

    Attributes:
        kind: What to do, a name in `_KINDS`; `pick` for only bringing the thing.
        thing: The class of the thing, such as `mug`.
        target: The class of the place to bring it to; for `look`, of the lamp. Empty if the task names none.
        tool: The class of the place that cleans, heats or cools the thing; empty if none is needed.
        text: The task in its own words, in lower case.
    """

    kind: str
    thing: str
    target: str
    tool: str
    text: str


@dataclass
class Notes:
    """What reflections say about the thing to find.

    Attributes:
        found: The place of each thing that was seen, both with their numbers.
        searched: Places without the thing.
        take_first: Whether a reflection advises to take the thing first.
    """

    found: dict[str, str] = field(default_factory=dict)
    searched: list[str] = field(default_factory=list)
    take_first: bool = False


def read_goal(prompt: ParsedPrompt) -> Goal:
    """Read the task from the opening, and the tool for it from the instruction."""
    _, _, asked_for = prompt.opening.rpartition("Your task is to:")
    text = asked_for.strip().lower()
    kind = _kind_of(text)
    words = re.findall(r"[a-z/']+", text)
    nouns = [word for word in words if word not in _STOPWORDS]
    thing = ""
    if nouns:
        thing = nouns[0]
    if kind == "look":
        # The target is a lamp: a thing, which the opening does not list among the places.
        targets = nouns
    else:
        classes = {class_of(place) for place in places_in(prompt.opening)}
        targets = [word for word in nouns[1:] if word in classes]
    target = ""
    if targets:
        target = targets[-1]
    tool = ""
    # As in "to heat something, take it to the microwave".
    told = re.search(rf"\bto {kind} (?:something|it), (?:take it )?to the (\w+)", prompt.system, re.IGNORECASE)
    if told:
        tool = told[1].lower()
    return Goal(kind, thing, target, tool, text)


def _kind_of(text: str) -> str:
    """Return what a task wants to be done with a thing."""
    for kind, pattern in _KINDS:
        if re.search(pattern, text):
            return kind
    return "pick"


def read_notes(reflections: tuple[str, ...], goal: Goal) -> Notes:
    """Return what reflections say about the thing to find."""
    notes = Notes()
    sentences = re.split(r"(?<=[.;])\s+", " ".join(reflections))
    for sentence in sentences:
        text = sentence.lower()
        words = re.findall(r"[a-z]+", text)
        if goal.thing in words:
            _read_note(notes, text, goal.thing)
    return notes


def _read_note(notes: Notes, text: str, wanted: str) -> None:
    """Read a sentence about the thing to find."""
    # As in "mug 1 was in drawer 2".
    located = re.search(rf"\b({wanted} \d+)\b.*?\b(?:in|on|at|from) ({NAME})", text)
    # As in "there was no mug in drawer 1 and drawer 2".
    denied = re.search(r"\bno\b", text)
    if denied:
        names = re.findall(NAME, text)
        places = [name for name in names if class_of(name) != wanted]
        notes.searched += [place for place in places if place not in notes.searched]
    elif located:
        thing, place = located.groups()
        notes.found[thing] = place
    if "take" in text:
        notes.take_first = True
