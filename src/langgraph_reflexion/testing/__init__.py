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
    from langgraph_reflexion.testing.webshop import WEBSHOP_FAULTS, WebShopServer

__all__ = [
    "CHECKS",
    "MEDIAWIKI_FAULTS",
    "MODEL_FAULTS",
    "WEBSHOP_FAULTS",
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
    "WebShopServer",
    "check_environment",
]


_LATER = {
    **dict.fromkeys(("MODEL_FAULTS", "ModelRequest", "ModelServer"), "model_server"),
    **dict.fromkeys(("MissingReply", "RecordedChatModel", "RecordedReply", "Recorder"), "recorded"),
    **dict.fromkeys(("WEBSHOP_FAULTS", "WebShopServer"), "webshop"),
}


def __getattr__(name: str) -> Any:
    # Loaded when it is asked for: `python -m` runs the model server's module, and one that is loaded would be run
    # twice; recordings know the calls of the nodes, and the shop its search, which weigh more than the rest.
    if name in _LATER:
        return getattr(import_module(f"langgraph_reflexion.testing.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
