"""Experiments: runs of many tasks, and what is read from their folders.

The names below are imported when they are first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langgraph_reflexion.experiments.comparison import compare
    from langgraph_reflexion.experiments.record import read_run
    from langgraph_reflexion.experiments.runner import aresume, arun, resume, run
    from langgraph_reflexion.experiments.trials import trials_of, trials_of_run, trials_of_thread
    from langgraph_reflexion.settings import RunSettings

_MODULE_OF = {
    "RunSettings": "langgraph_reflexion.settings",
    "aresume": "langgraph_reflexion.experiments.runner",
    "arun": "langgraph_reflexion.experiments.runner",
    "compare": "langgraph_reflexion.experiments.comparison",
    "read_run": "langgraph_reflexion.experiments.record",
    "resume": "langgraph_reflexion.experiments.runner",
    "run": "langgraph_reflexion.experiments.runner",
    "trials_of": "langgraph_reflexion.experiments.trials",
    "trials_of_run": "langgraph_reflexion.experiments.trials",
    "trials_of_thread": "langgraph_reflexion.experiments.trials",
}

__all__ = [
    "RunSettings",
    "aresume",
    "arun",
    "compare",
    "read_run",
    "resume",
    "run",
    "trials_of",
    "trials_of_run",
    "trials_of_thread",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_MODULE_OF[name]), name)
    return value


def __dir__() -> list[str]:
    return list(__all__)
