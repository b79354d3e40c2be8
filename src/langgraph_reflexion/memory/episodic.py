"""Episodic memory: the reflections that a task keeps (section 3 of the paper)."""

from dataclasses import dataclass

from langchain_core.runnables import RunnableConfig
from pydantic import PositiveInt

from langgraph_reflexion.choices import Feedback, Keep
from langgraph_reflexion.errors import ConfigurationError, checked
from langgraph_reflexion.memory.lessons import Lessons
from langgraph_reflexion.memory.reading import read_reflection
from langgraph_reflexion.state import Evaluation, Reflection, ReflexionState


@checked
@dataclass(frozen=True)
class Memory:
    """What the agent remembers of earlier trials and of other tasks.

    Attributes:
        size: Ω, the number of reflections kept; the profile's unless given.
        keep: `window` keeps the last Ω, `full` keeps all.
        map: Whether the actor and the self-reflection see a map of what the world has revealed so far (the memory map
            of the preprint). ALFWorld, HotPotQA and WebShop draw one.
        lessons: Lessons that outlive their task, kept in the store that the graph is compiled with.
    """

    size: PositiveInt | None = None
    keep: Keep = "window"
    map: bool = False
    lessons: Lessons | None = None

    def __post_init__(self) -> None:
        if self.size is not None and self.keep == "full":
            raise ConfigurationError(f"Memory.size={self.size} has no effect beside keep='full', which keeps all")

    @classmethod
    def of(cls, given: "Memory | int | None") -> "Memory":
        """Return the given memory, or one of the given number of reflections."""
        return given if isinstance(given, Memory) else cls(size=given)


@dataclass(frozen=True)
class EpisodicMemory:
    """The last `size` (Ω) reflections of a task."""

    size: int

    async def add(self, state: ReflexionState, reflection: Reflection, config: RunnableConfig) -> list[Reflection]:
        """Return the reflections with one more."""
        reflection = Reflection(trial=reflection["trial"], text=read_reflection(reflection["text"]))
        return [*state["reflections"], reflection][-self.size :]


def status_line(evaluation: Evaluation | None, feedback: Feedback) -> str:
    """Return the verdict on a failed trial as a prompt shows it; there is none before the first one."""
    line = "Status: FAILED"
    if evaluation is None or feedback == "binary":
        return line
    line += f", score {evaluation['score']:g}"
    return f"{line}\n{evaluation['feedback']}" if feedback == "words" and evaluation["feedback"] else line
