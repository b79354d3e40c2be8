"""Fakes and checks for tests of agents and environments."""

from langgraph_reflexion.testing.case import Case
from langgraph_reflexion.testing.conformance import CHECKS, check_environment
from langgraph_reflexion.testing.model_server import MODEL_FAULTS, ModelRequest, ModelServer
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
    "MODEL_FAULTS",
    "Case",
    "MissingReply",
    "ModelRequest",
    "ModelServer",
    "RecordedChatModel",
    "RecordedReply",
    "Recorder",
    "ScriptExhausted",
    "ScriptedChatModel",
    "check_environment",
]
