"""Adapters for other frameworks: tools and worlds as environments, Reflexion in Inspect."""
