"""Adapters for other frameworks: the sandbox in LangChain and deepagents, Reflexion in Inspect."""
