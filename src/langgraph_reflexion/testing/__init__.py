"""Fakes and checks for tests of agents and environments."""

from langgraph_reflexion.testing.case import Case
from langgraph_reflexion.testing.conformance import CHECKS, check_environment
from langgraph_reflexion.testing.models import (
    MissingReply,
    RecordedChatModel,
    RecordedReply,
    Recorder,
    ScriptedChatModel,
    ScriptExhausted,
)

__all__ = [
    "CHECKS",
    "Case",
    "MissingReply",
    "RecordedChatModel",
    "RecordedReply",
    "Recorder",
    "ScriptExhausted",
    "ScriptedChatModel",
    "check_environment",
]
