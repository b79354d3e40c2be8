"""Prompts, read back into memory, task and steps: the demo model sees the messages and nothing else."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage


def sentences_of(text: str) -> list[str]:
    """Split a text into sentences."""
    parts = re.split(r"(?<=[.!?])\s+(?=[\"A-Z])", text)
    sentences = []
    for part in parts:
        sentence = part.strip()
        if sentence:
            sentences.append(sentence)
    return sentences


@dataclass(frozen=True)
class Advice:
    """The sentences of some notes."""

    sentences: tuple[str, ...]

    @classmethod
    def of(cls, notes: Sequence[str]) -> "Advice":
        sentences: list[str] = []
        for note in notes:
            sentences += sentences_of(note)
        return cls(tuple(sentences))

    def on(self, name: str) -> "Advice":
        """Return the sentences that mention a name."""
        whole_name = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
        about = [sentence for sentence in self.sentences if whole_name.search(sentence)]
        return Advice(tuple(about))

    def says(self, what: str) -> bool:
        return any(what in sentence for sentence in self.sentences)

    def quoted(self, form: str) -> list[str]:
        """Return what the group of a pattern matches."""
        found: list[str] = []
        for sentence in self.sentences:
            found += re.findall(form, sentence)
        return found


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
class ParsedPrompt:
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
    read = []
    notes: list[str] = []
    for message in messages:
        block = None
        # Neither the instruction nor the model's own words can contain notes.
        if not isinstance(message, SystemMessage | AIMessage):
            block = _NOTES.match(message.text)
        if block:
            for note in _NOTE.finditer(block[0]):
                notes.append(str(json.loads(note["quoted"])))
            rest = message.text[block.end() :]
            message = message.model_copy(update={"content": rest})
        read.append(message)
    return read, tuple(notes)


def without_examples(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return the messages without the few-shot examples between the instruction and the task."""
    system, said = _apart(messages)
    if said and said[-1].text.rstrip().endswith("Reflection:"):
        return system + said[-1:]
    # The last marker counts: each example ends with one.
    for index in reversed(range(len(said))):
        message = said[index]
        _, marker, task = message.text.rpartition(_NEXT_TASK)
        if marker and isinstance(message, HumanMessage):
            task_and_steps: list[BaseMessage] = [HumanMessage(task)]
            task_and_steps += said[index + 1 :]
            return system + task_and_steps
    return system + said


def _apart(messages: Sequence[BaseMessage]) -> tuple[list[BaseMessage], list[BaseMessage]]:
    """Return the instruction's messages, and all others."""
    system: list[BaseMessage] = []
    said: list[BaseMessage] = []
    for message in messages:
        if isinstance(message, SystemMessage):
            system.append(message)
        else:
            said.append(message)
    return system, said


def read_prompt(messages: Sequence[BaseMessage], tools: Sequence[str]) -> ParsedPrompt:
    """Read a prompt: its role, by what it asks for last, and its parts.

    Args:
        messages: The prompt, without examples and without lessons from other tasks.
        tools: The names of the bound tools.
    """
    instruction, said = _apart(messages)
    system = "\n".join(message.text for message in instruction)
    # The first message has reflections and the task; the prompt of another node has a whole trial in it.
    first = ""
    if said:
        first = said[0].text
    reflections = _reflections_in(first)
    asked_for = first.rstrip()
    if asked_for.endswith("Reflection:"):
        return _whole_trial("reflect", system, first, reflections)
    if asked_for.endswith("Lesson:"):
        return _whole_trial("learn", system, first, reflections)
    if asked_for.endswith("One note in place of these:"):
        return ParsedPrompt("condense", system, "", reflections)
    if "Verdict: yes" in system:
        return _whole_trial("judge", system, first, reflections)
    # All others are prompts of an actor, in which this line stands between reflections and the task.
    _, _, after_reflections = first.rpartition("Here is the task again:")
    opening = after_reflections.strip()
    # An actor without tools has the list of its actions in the instruction.
    listed = re.findall(r"^- (\w+)", system, re.MULTILINE)
    allowed = frozenset(tools) | frozenset(listed)
    cue = _CUE.search(opening)
    if not cue:
        turns = tuple(_turns(said[1:]))
        return ParsedPrompt("act", system, _without_map(opening), reflections, turns, allowed)
    # Thought and action are asked for one after the other, in one text with the steps.
    before_cue = opening[: cue.start()]
    turns, opening = _steps(_without_map(before_cue))
    return ParsedPrompt("act", system, opening, reflections, turns, allowed, cue["cue"])


def _reflections_in(text: str) -> tuple[str, ...]:
    """Return the reflections in a message, oldest first."""
    reflections = []
    for match in REFLECTION.finditer(text):
        reflections.append(match["text"].strip())
    return tuple(reflections)


def _whole_trial(role: Role, system: str, text: str, reflections: tuple[str, ...]) -> ParsedPrompt:
    """Return a prompt about a whole trial, whose texts are quoted line by line."""
    parts = re.split(r"^The trial that has just (?:ended|failed|succeeded):", text, flags=re.MULTILINE)
    trial = parts[-1]
    quoted_turns, quoted_opening = _steps(_without_map(trial.strip()))
    opening = _QUOTED.sub("", quoted_opening)
    turns = tuple(_without_quotes(turn) for turn in quoted_turns)
    return ParsedPrompt(role, system, opening, reflections, turns)


def _without_quotes(turn: Turn) -> Turn:
    """Return a step without the marks of quoted lines."""
    # Each text goes on after its label, so that its first line is not quoted.
    thought = _CONTINUED.sub("\n", turn.thought)
    action = _CONTINUED.sub("\n", turn.action)
    observation = _CONTINUED.sub("\n", turn.observation)
    return Turn(thought, action, observation)


def _steps(text: str) -> tuple[tuple[Turn, ...], str]:
    """Return the steps of a transcript, and the text before them."""
    steps = list(_STEP.finditer(text))
    if not steps:
        return (), text
    opening = text[: steps[0].start()].strip()
    turns = []
    for step in steps:
        thought = step["thought"] or ""
        action = step["action"] or ""
        observation = step["observation"].strip()
        turns.append(Turn(thought, action, observation))
    return tuple(turns), opening


def _turns(messages: Sequence[BaseMessage]) -> list[Turn]:
    """Return the steps of a chat: what the model said, and what the world answered, by turns."""
    turns = []
    for said, answer in zip(messages[::2], messages[1::2], strict=False):
        thought, action = _said(said)
        observation = _without_map(answer.text).removeprefix("Observation: ")
        turns.append(Turn(thought, action, observation.strip()))
    return turns


def _without_map(text: str) -> str:
    """Cut off the memory map, which says nothing that the steps do not."""
    return _MAP.split(text)[0]


def _said(message: BaseMessage) -> tuple[str, str]:
    """Return the thought and the action in a message, of which an action may be a tool call."""
    if isinstance(message, AIMessage) and message.tool_calls:
        call = message.tool_calls[0]
        words = [call["name"]]
        for argument in call["args"].values():
            words.append(str(argument))
        return message.text, " ".join(words)
    thought, _, action = message.text.partition("Action: ")
    return thought.removeprefix("Thought: ").strip(), action.strip()
