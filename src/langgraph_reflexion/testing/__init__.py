"""Test doubles and checks that ship, so that users can test their own agents and environments with them."""

from langgraph_reflexion.testing.case import Case
from langgraph_reflexion.testing.conformance import CHECKS, check_environment
from langgraph_reflexion.testing.mediawiki import FAULTS, MediaWikiServer
from langgraph_reflexion.testing.models import ScriptedChatModel, ScriptExhausted

__all__ = [
    "CHECKS",
    "FAULTS",
    "Case",
    "MediaWikiServer",
    "ScriptExhausted",
    "ScriptedChatModel",
    "check_environment",
]
