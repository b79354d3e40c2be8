"""Experiments: runs of many tasks, and what is read from their folders.

The names below are imported when they are first used.
"""

from typing import TYPE_CHECKING

from langgraph_reflexion._lazy import lazy_names

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


__getattr__, __dir__ = lazy_names(__name__, _MODULE_OF)
