"""The demo model, which plays two worlds by rules, without a key."""

from langgraph_reflexion.lab.demo.model import DemoChatModel

__all__ = ["DemoChatModel"]
