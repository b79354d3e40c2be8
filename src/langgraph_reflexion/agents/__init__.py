"""A whole agent as the actor: one call of it is one trial, and its messages are the trajectory."""

from langgraph_reflexion.agents.no_environment import NoEnvironment
from langgraph_reflexion.agents.nodes import agent_nodes
from langgraph_reflexion.agents.state import AgentState, schemas_for
from langgraph_reflexion.agents.wrapped import WrappedAgent, task_from

__all__ = ["AgentState", "NoEnvironment", "WrappedAgent", "agent_nodes", "schemas_for", "task_from"]
