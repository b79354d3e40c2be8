"""Memory: a task's reflections, the memory map, and lessons across tasks."""

from langgraph_reflexion.memory.agent import AgentMemory, make_memory
from langgraph_reflexion.memory.episodic import EpisodicMemory, Memory

__all__ = ["AgentMemory", "EpisodicMemory", "Memory", "make_memory"]
