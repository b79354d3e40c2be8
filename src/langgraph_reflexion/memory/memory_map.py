"""The memory map in the prompts: what trajectories have shown of the world, drawn by the environment."""

from typing import Any

from langchain_core.messages import BaseMessage

from langgraph_reflexion.envs.base import Environment, MemoryMap
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.prompts import Prompts
from langgraph_reflexion.state import ReflexionState


class Mapper:
    """Draws the map from the state, anew before every call that is told it, so that it costs no state of its own.

    Args:
        environment: Whose map it is.
        prompts: The template that it is told with.
        lasting: Whether what earlier trials of the task have shown is on it, as far as it holds after a reset. It is
            memory, and not for a strategy that has none.

    Raises:
        ConfigurationError: the environment draws none.
    """

    def __init__(self, environment: Environment, prompts: Prompts, *, lasting: bool) -> None:
        if type(environment).memory_map is Environment.memory_map:
            raise ConfigurationError(f"Memory(map=True): {environment.name} draws no memory map with this actor")
        self.environment = environment
        self.prompts = prompts
        self.lasting = lasting

    def known(self, state: ReflexionState) -> dict[str, Any]:
        """What the trials up to here have shown that holds in the next one."""
        return self._draw(state).known if self.lasting else {}

    def text(self, state: ReflexionState) -> str:
        """The map as a prompt tells it; empty where nothing was shown yet."""
        lines = self._draw(state).text
        return self.prompts.render("map", lines=lines, earlier=bool(state.get("known"))) if lines else ""

    def below(self, messages: list[BaseMessage], state: ReflexionState, cue: str = "") -> list[BaseMessage]:
        """A prompt with the map at its end: what stands before it stays as it was, for the provider's prefix cache.

        Args:
            messages: The prompt.
            state: The state, with its observations in full.
            cue: What the prompt ends with, and is to end with.
        """
        if not (told := self.text(state)):
            return messages
        *before, last = messages
        content = "\n\n".join(filter(None, [last.text.removesuffix(cue).rstrip("\n"), told, cue]))
        return [*before, last.model_copy(update={"content": content})]

    def _draw(self, state: ReflexionState) -> MemoryMap:
        known = state.get("known") or {}
        return self.environment.memory_map(state["task"], state["episode"]["observation"], state["trajectory"], known)
