"""Test doubles and checks that ship, so that users can test their own agents and environments with them."""

from langgraph_reflexion.testing.case import Case
from langgraph_reflexion.testing.conformance import CHECKS, check_environment
from langgraph_reflexion.testing.models import ScriptedChatModel, ScriptExhausted

__all__ = ["CHECKS", "Case", "ScriptExhausted", "ScriptedChatModel", "check_environment"]
