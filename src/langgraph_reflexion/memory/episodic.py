"""Memory within a task: its reflections (section 3 of the paper) as they are read and kept, and the memory map."""

import re
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from pydantic import PositiveInt

from langgraph_reflexion.envs.base import Environment, MemoryMap
from langgraph_reflexion.envs.protocols import SupportsMemoryMap
from langgraph_reflexion.errors import ConfigurationError, checked
from langgraph_reflexion.loop.prompting import Prompt
from langgraph_reflexion.memory.lessons import Lessons
from langgraph_reflexion.models.calls import CallId, note
from langgraph_reflexion.models.client import Client
from langgraph_reflexion.prompts import Prompts, quoted
from langgraph_reflexion.state import Evaluation, Reflection, ReflexionState, Step, steps_so_far
from langgraph_reflexion.support.choices import UNLIMITED, Feedback, Keep

CONDENSED = "(this trial, and all before it)"
"""How a condensed reflection begins."""


@checked
@dataclass(frozen=True)
class Memory:
    """What the agent remembers of earlier trials and of other tasks.

    Attributes:
        size: Ω, the number of reflections kept; the profile's unless given.
        keep: `window` keeps the last Ω, `full` keeps all, and `summary` asks the model to condense the oldest when
            there are more than Ω.
        map: Whether the actor and the self-reflection see a map of what the world has revealed so far (the memory map
            of the preprint). ALFWorld draws one.
        facts: Whether the self-reflection and the next trial see what code knows for certain about a failed trial:
            what was repeated, refused and missed. Under the strategy `retry`, which shows nothing, it has no effect.
        lessons: Lessons that outlive their task, kept in the store that the graph is compiled with.
    """

    size: PositiveInt | None = None
    keep: Keep = "window"
    map: bool = False
    facts: bool = False
    lessons: Lessons | None = None

    def __post_init__(self) -> None:
        if self.size is not None and self.keep == "full":
            raise ConfigurationError(f"Memory.size={self.size} has no effect beside keep='full', which keeps all")

    @property
    def most(self) -> int | None:
        """How many reflections are kept at most; None if that is for the profile to say."""
        if self.keep == "full":
            return UNLIMITED
        return self.size

    @property
    def learns(self) -> bool:
        """Whether lessons for other tasks are written."""
        return self.lessons is not None and self.lessons.learn != "never"

    @property
    def learns_now(self) -> bool:
        """Whether they are written before an answer is returned."""
        return self.lessons is not None and self.lessons.learn == "now"

    @classmethod
    def of(cls, given: "Memory | Lessons | int | None") -> "Memory":
        """Return the given memory, one with the given lessons, or one of the given number of reflections."""
        if isinstance(given, Memory):
            return given
        if isinstance(given, Lessons):
            return cls(lessons=given)
        return cls(size=given)


@dataclass(frozen=True)
class EpisodicMemory:
    """The last `size` (Ω) reflections of a task."""

    size: int
    client: Client | None
    """The model that condenses the oldest reflections; without one they are forgotten."""
    prompts: Prompts
    seed: int

    async def add(self, state: ReflexionState, reflection: Reflection, config: RunnableConfig) -> list[Reflection]:
        """Return the reflections with one more, condensed if there are too many.

        Raises:
            ModelFault: the model did not condense them.
        """
        # A person or code may have written it, as long as they like.
        text = read_reflection(reflection["text"])
        reflections = list(state["reflections"])
        reflections.append(Reflection(trial=reflection["trial"], text=text))
        if len(reflections) <= self.size:
            return reflections
        if self.client is None:
            return reflections[-self.size :]
        # One more than there are too many, as what they are condensed to is a reflection itself.
        number = len(reflections) - self.size + 1
        call = CallId(self.seed, state["task"]["id"], state["trial"], "condense")
        condensed = await self._condensed(reflections[:number], self.client, config, call)
        return [condensed, *reflections[number:]]

    async def _condensed(
        self, older: list[Reflection], client: Client, config: RunnableConfig, call: CallId
    ) -> Reflection:
        """Ask the model for one reflection in place of several."""

        def render(steps: list[Step], left_out: int) -> list[BaseMessage]:
            instruction = self.prompts.render("condense")
            notes = self.prompts.render("condensed", reflections=older)
            return [SystemMessage(instruction), HumanMessage(notes)]

        reply = await Prompt(render).ask(client, None, config, call)
        text = f"{CONDENSED} {read_reflection(reply.text)}"
        # The number of the newest: these numbers say which trials have been reflected on.
        return Reflection(trial=older[-1]["trial"], text=text)


LONGEST_FEEDBACK = 20_000
"""Characters of an evaluation's words that a status shows: their beginning and their end."""


def status_line(evaluation: Evaluation | None, feedback: Feedback) -> str:
    """Return the evaluation of a failed trial as a prompt shows it; there is none before the first one.

    Of a trial that nothing has judged it says just that, whatever `feedback` is: that hides a judgement.
    """
    line = "Status: FAILED"
    if evaluation is None:
        return line
    words = evaluation["feedback"]
    if evaluation.get("unverified"):
        line = "Status: UNKNOWN"
        quotation = quoted(words)
        if not quotation:
            return line
        return f"{line}\n{quotation}"
    if feedback == "binary":
        return line
    line += f", score {evaluation['score']:g}"
    if feedback != "words" or not words:
        return line
    if len(words) > LONGEST_FEEDBACK:
        half = LONGEST_FEEDBACK // 2
        words = f"{words[:half]} [...] {words[-half:]}"
    return f"{line}\n{quoted(words)}"


LONGEST = 2_000
"""Characters of a reflection that are kept: every later prompt has to hold it."""

_LABEL = re.compile(r"\A\W*(?:(?:- )?(?:trial|reflection|lesson|note)[ \d]*:[\s*_]*)+", re.IGNORECASE)
PROMPT_MARKS = (
    "the trial that has just ",
    "your earlier trials of this task failed",
    "you have tried this task before. this is what you wrote down ",
    "this is how your last trial ",
    "what the check said about your last trial ",
    "the world has been put back ",
    "here is the task again",
    "what is certain about this trial:",
    "what is certain about your last trial ",
    "what is certain about the last attempt:",
    "say what these notes do not say",
    "what went wrong in this trial, and ",
    "reflection:",
    "a first reflection on this trial ",
    "the task of the agent:",
    "what is certain about this attempt:",
    "the note that this attempt was given:",
    "a first note was of no use:",
    "what must the next attempt do, or not ",
    "the check gave no reason. what must ",
    "note after attempt ",
    "begin again, and answer in exactly ",
)
"""How lines of our own prompts begin, in small letters: a model that continues the prompt writes them as well."""

_MARKS = "|".join(map(re.escape, PROMPT_MARKS))
# `*+` never gives back what it has matched: a line of many bars or stars is read once, and not again and again.
_INVENTED = re.compile(
    rf"^(?:[^\S\n]|[|>*_#-])*+(?:(?:thought|action|observation)[ \t\d]*:|status: |{_MARKS}|"
    r"what you write down after |(?:one|\d+) attempts? at this task w|--- )",
    re.IGNORECASE | re.MULTILINE,
)


def read_reflection(text: str) -> str:
    """Return the reflection in a reply, without empty lines and in at most `LONGEST` characters.

    Reasoning and labels are left out, and so is a transcript that the model invents after it. A reflection that is
    too long is cut at the end of a sentence, with a note in the trial's record.

    Args:
        text: The model's reply.
    """
    said = text.rpartition("</think>")[2]
    # The patterns below need not read megabytes.
    text = said[: 10 * LONGEST]
    labelled = _LABEL.sub("", text.strip())
    # Lines end at more characters than a pattern's `^` knows, such as U+2028.
    lines = [line.rstrip() for line in labelled.splitlines() if line.strip()]
    said = "\n".join(lines)
    for invented in _INVENTED.finditer(said):
        # A reply may begin like a step; what follows the first line is not a reflection.
        if invented.start():
            said = said[: invented.start()].rstrip()
            break
    # A reply that is a label alone is kept as it came.
    said = said or text.strip()
    if len(said) <= LONGEST:
        return said
    note(f"the reflection is cut to {LONGEST} characters")
    return _cut(said[:LONGEST])


def _cut(beginning: str) -> str:
    """Return the beginning of a reflection up to the end of a sentence, if that keeps most of it, or of a word."""
    end = max(beginning.rfind(mark) for mark in (". ", "! ", "? "))
    if end > LONGEST // 2:
        return beginning[: end + 1]
    words = beginning.rpartition(" ")[0] or beginning
    return f"{words} ..."


class MapMemory:
    """The memory map of a task, drawn from the state before every call whose prompt shows it.

    Args:
        lasting: Whether it keeps what earlier trials have shown and a reset leaves true; strategies without memory
            begin every trial with an empty map.

    Raises:
        ConfigurationError: the environment draws no map.
    """

    def __init__(self, environment: Environment, prompts: Prompts, *, lasting: bool) -> None:
        if not isinstance(environment, SupportsMemoryMap):
            raise ConfigurationError(
                f"{environment.name} draws no memory map: leave out --memory-map, or in Python Memory(map=True)"
            )
        self.environment = environment
        self.prompts = prompts
        self._lasting = lasting

    def lasting(self, state: ReflexionState) -> dict[str, Any]:
        """Return the part of the map that holds in the next trial."""
        if not self._lasting:
            return {}
        return self._draw(state).known

    def text(self, state: ReflexionState) -> str:
        """Return the map as prompts show it; empty while nothing is known."""
        lines = self._draw(state).text
        if not lines:
            return ""
        earlier = bool(state.get("memory_map"))
        return self.prompts.render("map", lines=lines, earlier=earlier)

    def append_to(self, messages: list[BaseMessage], state: ReflexionState, cue: str = "") -> list[BaseMessage]:
        """Return a prompt with the map at its end (before a cue), where it leaves the provider's prefix cache valid.

        The state has observations in full.
        """
        drawn = self.text(state)
        if not drawn:
            return messages
        # A cue is the beginning of the reply, so nothing may come after it.
        last = messages[-1]
        before_cue = last.text.removesuffix(cue).rstrip("\n")
        parts = [before_cue, drawn, cue]
        content = "\n\n".join(filter(None, parts))
        return [*messages[:-1], last.model_copy(update={"content": content})]

    def _draw(self, state: ReflexionState) -> MemoryMap:
        known = state.get("memory_map") or {}
        observation = state["episode"]["observation"]
        return self.environment.memory_map(state["task"], observation, steps_so_far(state), known)
