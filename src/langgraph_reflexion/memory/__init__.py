"""Memory: a task's reflections, the memory map, and lessons that outlive their task."""

from langgraph_reflexion.memory.episodic import EpisodicMemory, Memory
from langgraph_reflexion.memory.lesson_nodes import Lessoned
from langgraph_reflexion.memory.memory_map import Mapper

__all__ = ["EpisodicMemory", "Lessoned", "Mapper", "Memory"]
