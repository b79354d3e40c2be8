"""Prompts, read back into memory, task and steps: the demo model sees the messages and nothing else."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage


def sentences_of(text: str) -> list[str]:
    """Split a text into sentences."""
    return [part.strip() for part in re.split(r"(?<=[.!?])\s+(?=[\"A-Z])", text) if part.strip()]


@dataclass(frozen=True)
class Advice:
    """The sentences of some notes."""

    sentences: tuple[str, ...]

    @classmethod
    def of(cls, notes: Sequence[str]) -> "Advice":
        return cls(tuple(sentence for text in notes for sentence in sentences_of(text)))

    def on(self, name: str) -> "Advice":
        """Return the sentences that mention a name."""
        return Advice(tuple(s for s in self.sentences if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", s)))

    def says(self, what: str) -> bool:
        return any(what in sentence for sentence in self.sentences)

    def quoted(self, form: str) -> list[str]:
        """Return what the group of a pattern matches."""
        return [found for sentence in self.sentences for found in re.findall(form, sentence)]


Role = Literal["act", "reflect", "judge", "learn", "condense"]

_STEP = re.compile(
    r"^(?:Thought(?: \d+)?: (?P<thought>.*?)\n)?(?:Action(?: \d+)?: (?P<action>.*?)\n)?"
    r"Observation(?: \d+)?: (?P<observation>.*?)(?=\n(?:Thought|Action|Observation|Status)(?: \d+)?:|\n\n|\Z)",
    re.MULTILINE | re.DOTALL,
)
_CUE = re.compile(r"\n(?:Thought(?: \d+)?: [^\n]*\n)?(?P<cue>Thought|Action)(?: \d+)?:\Z")
_NOTES = re.compile(
    r"\ANotes from other tasks follow.*?^\(End of the notes from other tasks\)(?:\n+|\Z)",
    re.MULTILINE | re.DOTALL,
)
_NOTE = re.compile(r"^- Note \d+: (?P<quoted>\".*\")$", re.MULTILINE)
_NEXT_TASK = "That task is done. Here is the next one:\n\n"
_QUOTED = re.compile(r"^\| ?", re.MULTILINE)
_CONTINUED = re.compile(r"\n\| ?")
_MAP = re.compile(r"\n\n(?=What this world has shown you so far)")
REFLECTION = re.compile(
    r"^- Trial (?P<trial>\d+): (?P<text>.*?)(?=\n- Trial \d+: |\n\n|\Z)", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True)
class Turn:
    """A step of a transcript."""

    thought: str
    action: str
    observation: str


@dataclass(frozen=True)
class Prompt:
    """A prompt: its role, the instruction and the parts of the first message."""

    role: Role
    system: str
    opening: str
    """The first observation and the task."""
    reflections: tuple[str, ...] = ()
    """Oldest first."""
    turns: tuple[Turn, ...] = ()
    allowed: frozenset[str] = frozenset()
    """The names of the actions."""
    cue: str = ""
    """`Thought` or `Action` if only that is asked for."""
    recalled: tuple[str, ...] = ()
    """The lessons from other tasks."""


def split_notes(messages: Sequence[BaseMessage]) -> tuple[list[BaseMessage], tuple[str, ...]]:
    """Return the messages without lessons from other tasks, and the lessons."""
    read, notes = [], list[str]()
    for message in messages:
        if not isinstance(message, SystemMessage | AIMessage) and (block := _NOTES.match(message.text)):
            notes += [str(json.loads(note["quoted"])) for note in _NOTE.finditer(block[0])]
            message = message.model_copy(update={"content": message.text[block.end() :]})
        read.append(message)
    return read, tuple(notes)


def without_examples(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return the messages without the few-shot examples between the instruction and the task."""
    system = [message for message in messages if isinstance(message, SystemMessage)]
    said = [message for message in messages if not isinstance(message, SystemMessage)]
    if said and said[-1].text.rstrip().endswith("Reflection:"):
        return [*system, said[-1]]
    for index in range(len(said) - 1, -1, -1):
        _, marker, task = said[index].text.rpartition(_NEXT_TASK)
        if marker and isinstance(said[index], HumanMessage):
            return [*system, HumanMessage(task), *said[index + 1 :]]
    return [*system, *said]


def read_prompt(messages: Sequence[BaseMessage], tools: Sequence[str]) -> Prompt:
    """Read a prompt without lessons from other tasks; `tools` are the names of the bound tools."""
    system = "\n".join(message.text for message in messages if isinstance(message, SystemMessage))
    said = [message for message in messages if not isinstance(message, SystemMessage)]
    first = said[0].text if said else ""
    reflections = tuple(match["text"].strip() for match in REFLECTION.finditer(first))
    if first.rstrip().endswith("Reflection:"):
        return _whole_trial("reflect", system, first, reflections)
    if first.rstrip().endswith("Lesson:"):
        return _whole_trial("learn", system, first, reflections)
    if first.rstrip().endswith("One note in place of these:"):
        return Prompt("condense", system, "", reflections)
    if "Verdict: yes" in system:
        return _whole_trial("judge", system, first, reflections)
    opening = first.rpartition("Here is the task again:")[2].strip()
    allowed = frozenset([*tools, *re.findall(r"^- (\w+)", system, re.MULTILINE)])
    if cue := _CUE.search(opening):
        steps, opening = _steps(_without_map(opening[: cue.start()]))
        return Prompt("act", system, opening, reflections, steps, allowed, cue["cue"])
    return Prompt("act", system, _without_map(opening), reflections, tuple(_turns(said[1:])), allowed)


def _whole_trial(role: Role, system: str, text: str, reflections: tuple[str, ...]) -> Prompt:
    trial = re.split(r"^The trial that has just (?:ended|failed|succeeded):", text, flags=re.MULTILINE)[-1].strip()
    quoted_turns, quoted_opening = _steps(_without_map(trial))
    opening = _QUOTED.sub("", quoted_opening)
    turns = tuple(_without_quotes(turn) for turn in quoted_turns)
    return Prompt(role, system, opening, reflections, turns)


def _without_quotes(turn: Turn) -> Turn:
    # Each text goes on after its label, so that its first line is not quoted.
    return Turn(*(_CONTINUED.sub("\n", text) for text in (turn.thought, turn.action, turn.observation)))


def _steps(text: str) -> tuple[tuple[Turn, ...], str]:
    """Return the steps of a transcript, and the text before them."""
    turns = [Turn(m["thought"] or "", m["action"] or "", m["observation"].strip()) for m in _STEP.finditer(text)]
    begin = _STEP.search(text)
    return tuple(turns), text[: begin.start()].strip() if begin else text


def _turns(messages: Sequence[BaseMessage]) -> list[Turn]:
    turns = []
    for said, answer in zip(messages[::2], messages[1::2], strict=False):
        thought, action = _said(said)
        turns.append(Turn(thought, action, _without_map(answer.text).removeprefix("Observation: ").strip()))
    return turns


def _without_map(text: str) -> str:
    """Cut off the memory map, which says nothing that the steps do not."""
    return _MAP.split(text)[0]


def _said(message: BaseMessage) -> tuple[str, str]:
    if isinstance(message, AIMessage) and message.tool_calls:
        call = message.tool_calls[0]
        return message.text, " ".join([call["name"], *(str(value) for value in call["args"].values())])
    thought, _, action = message.text.partition("Action: ")
    return thought.removeprefix("Thought: ").strip(), action.strip()
