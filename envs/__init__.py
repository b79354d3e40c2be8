"""Environments by name or dotted path."""

from langgraph_reflexion.support.lazy import lazy_names, names_in_stub

# The sandbox needs no environment, and starts in a fraction of the time without them.
__all__, __getattr__, __dir__ = lazy_names(__name__, names_in_stub(__file__))
