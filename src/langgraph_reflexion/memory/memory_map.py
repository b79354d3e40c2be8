"""The memory map in prompts: what trajectories have shown of the world, drawn by the environment."""

from typing import Any

from langchain_core.messages import BaseMessage

from langgraph_reflexion.envs.base import Environment, MemoryMap
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.prompts import Prompts
from langgraph_reflexion.state import ReflexionState


class MapMemory:
    """The memory map of a task, drawn from the state before every call whose prompt shows it.

    Args:
        lasting: Whether it keeps what earlier trials have shown and a reset leaves true; strategies without memory
            begin every trial with an empty map.

    Raises:
        ConfigurationError: the environment draws no map.
    """

    def __init__(self, environment: Environment, prompts: Prompts, *, lasting: bool) -> None:
        if type(environment).memory_map is Environment.memory_map:
            raise ConfigurationError(f"Memory(map=True): {environment.name} draws no memory map with this actor")
        self.environment = environment
        self.prompts = prompts
        self._lasting = lasting

    def lasting(self, state: ReflexionState) -> dict[str, Any]:
        """Return the part of the map that holds in the next trial."""
        return self._draw(state).known if self._lasting else {}

    def text(self, state: ReflexionState) -> str:
        """Return the map as prompts show it; empty while nothing is known."""
        lines = self._draw(state).text
        return self.prompts.render("map", lines=lines, earlier=bool(state.get("memory_map"))) if lines else ""

    def append_to(self, messages: list[BaseMessage], state: ReflexionState, cue: str = "") -> list[BaseMessage]:
        """Return a prompt with the map at its end (before a cue), where it leaves the provider's prefix cache valid.

        The state has observations in full.
        """
        if not (drawn := self.text(state)):
            return messages
        *before, last = messages
        content = "\n\n".join(filter(None, [last.text.removesuffix(cue).rstrip("\n"), drawn, cue]))
        return [*before, last.model_copy(update={"content": content})]

    def _draw(self, state: ReflexionState) -> MemoryMap:
        known = state.get("memory_map") or {}
        return self.environment.memory_map(state["task"], state["episode"]["observation"], state["trajectory"], known)
