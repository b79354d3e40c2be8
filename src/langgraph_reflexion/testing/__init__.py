"""Test doubles and checks that ship, so that users can test their own agents and environments with them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from langgraph_reflexion.testing.case import Case
from langgraph_reflexion.testing.conformance import CHECKS, check_environment
from langgraph_reflexion.testing.mediawiki import MEDIAWIKI_FAULTS, MediaWikiServer
from langgraph_reflexion.testing.models import ScriptedChatModel, ScriptExhausted

if TYPE_CHECKING:
    from langgraph_reflexion.testing.model_server import MODEL_FAULTS, ModelRequest, ModelServer
    from langgraph_reflexion.testing.recorded import MissingReply, RecordedChatModel, RecordedReply, Recorder

__all__ = [
    "CHECKS",
    "MEDIAWIKI_FAULTS",
    "MODEL_FAULTS",
    "Case",
    "MediaWikiServer",
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


_RECORDED = ("MissingReply", "RecordedChatModel", "RecordedReply", "Recorder")


def __getattr__(name: str) -> Any:
    # Loaded when it is asked for: `python -m` runs the server's module, and one that is loaded would be run twice;
    # recordings know the calls of the nodes, which weigh more than the rest.
    if name in __all__:
        module = "recorded" if name in _RECORDED else "model_server"
        return getattr(import_module(f"langgraph_reflexion.testing.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
