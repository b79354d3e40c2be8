"""Test doubles and checks that ship, so that users can test their own agents and environments with them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from langgraph_reflexion.testing.case import Case
from langgraph_reflexion.testing.conformance import CHECKS, check_environment
from langgraph_reflexion.testing.mediawiki import MEDIAWIKI_FAULTS, MediaWikiServer
from langgraph_reflexion.testing.models import ScriptedChatModel, ScriptExhausted

if TYPE_CHECKING:
    from langgraph_reflexion.testing.model_server import MODEL_FAULTS, ModelRequest, ModelServer

__all__ = [
    "CHECKS",
    "MEDIAWIKI_FAULTS",
    "MODEL_FAULTS",
    "Case",
    "MediaWikiServer",
    "ModelRequest",
    "ModelServer",
    "ScriptExhausted",
    "ScriptedChatModel",
    "check_environment",
]


def __getattr__(name: str) -> Any:
    # Loaded when it is asked for: `python -m` runs this module, and one that is loaded would be run twice.
    if name in __all__:
        return getattr(import_module("langgraph_reflexion.testing.model_server"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
