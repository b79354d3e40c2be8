"""Graphs for LangGraph Studio and `langgraph dev`, which bring their own checkpointer."""

from langgraph_reflexion.demo import DemoChatModel
from langgraph_reflexion.envs import load_environment
from langgraph_reflexion.graph.reflexion import create_reflexion

alfworld = create_reflexion(DemoChatModel(), load_environment("alfworld")).compile(name="alfworld")
"""Household tasks with the demo model."""
