"""Names that LangGraph and LangChain use in a run's config and do not document."""

AGENT_NAME = "lc_agent_name"
"""Key in `metadata` of an agent's name, which LangChain's `create_agent` sets and LangGraph's streams show."""
