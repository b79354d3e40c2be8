"""Names that LangGraph and LangChain use in a run's config and do not document."""

from langgraph.constants import CONFIG_KEY_CHECKPOINTER

CHECKPOINTER = CONFIG_KEY_CHECKPOINTER
"""Key in `configurable` of the checkpointer that a graph lends to its nodes and subgraphs."""

AGENT_NAME = "lc_agent_name"
"""Key in `metadata` of an agent's name, which LangChain's `create_agent` sets and LangGraph's streams show."""
