"""Test doubles and checks that ship, so that users can test their own agents and environments with them."""

from langgraph_reflexion.testing.models import ScriptedChatModel

__all__ = ["ScriptedChatModel"]
