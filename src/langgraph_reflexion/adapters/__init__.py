"""Adapters for other frameworks: tools and worlds as environments, the sandbox in LangChain, Reflexion in Inspect."""
