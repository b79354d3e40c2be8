"""Chat models: made by name, and called with retries, accounts and a cache.

The names below are imported when they are first used, so that the settings' defaults cost no import of LangChain.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langgraph_reflexion.models.client import Client
    from langgraph_reflexion.models.load import DEMO, TIMEOUT_SECONDS, load_model
    from langgraph_reflexion.models.options import ModelOptions
    from langgraph_reflexion.models.usage import Price
    from langgraph_reflexion.retries import Retries

_MODULE_OF = {
    "Client": "langgraph_reflexion.models.client",
    "DEMO": "langgraph_reflexion.models.load",
    "ModelOptions": "langgraph_reflexion.models.options",
    "Price": "langgraph_reflexion.models.usage",
    "Retries": "langgraph_reflexion.retries",
    "TIMEOUT_SECONDS": "langgraph_reflexion.models.load",
    "load_model": "langgraph_reflexion.models.load",
}

__all__ = ["DEMO", "TIMEOUT_SECONDS", "Client", "ModelOptions", "Price", "Retries", "load_model"]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULE_OF[name]), name)
