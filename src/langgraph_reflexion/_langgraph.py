"""Names of LangGraph and LangChain that lower layers need, or that a run's config has without documentation."""

from langgraph.errors import GraphBubbleUp

AGENT_NAME = "lc_agent_name"
"""Key in `metadata` of an agent's name, which LangChain's `create_agent` sets and LangGraph's streams show."""

Pause = GraphBubbleUp
"""Raised where a graph stops to ask a person; the same code runs again with the answer."""
