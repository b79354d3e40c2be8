"""Fakes and checks for tests of agents and environments."""

from typing import TYPE_CHECKING

from langgraph_reflexion._lazy import lazy_names
from langgraph_reflexion.testing.case import Case
from langgraph_reflexion.testing.conformance import CHECKS, check_environment
from langgraph_reflexion.testing.models import ScriptedChatModel, ScriptExhausted

if TYPE_CHECKING:
    from langgraph_reflexion.testing.model_server import MODEL_FAULTS, ModelRequest, ModelServer
    from langgraph_reflexion.testing.recorded import MissingReply, RecordedChatModel, RecordedReply, Recorder

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


_MODULE_OF = {
    **dict.fromkeys(("MODEL_FAULTS", "ModelRequest", "ModelServer"), f"{__name__}.model_server"),
    **dict.fromkeys(("MissingReply", "RecordedChatModel", "RecordedReply", "Recorder"), f"{__name__}.recorded"),
}
# Loaded on demand: `python -m` would run a loaded model server twice, and the others have heavy imports.
__getattr__ = lazy_names(__name__, _MODULE_OF)[1]
