"""A whole agent as the actor: one call of it is one trial, and its messages are the trajectory."""

from langgraph_reflexion.agents.nodes import agent_nodes
from langgraph_reflexion.agents.own import AgentTasks, load_tasks
from langgraph_reflexion.agents.state import WrappedAgentState, own_keys, schemas_for
from langgraph_reflexion.agents.world import AgentEnvironment, World
from langgraph_reflexion.agents.wrapped import NO_MODEL, WrappedAgent

__all__ = [
    "NO_MODEL",
    "AgentEnvironment",
    "AgentTasks",
    "World",
    "WrappedAgent",
    "WrappedAgentState",
    "agent_nodes",
    "load_tasks",
    "own_keys",
    "schemas_for",
]
