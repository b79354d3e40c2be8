"""Experiments: runs of many tasks, and what is read from their folders.

Names are imported on first use: reading a folder needs neither LangChain nor LangGraph, and running one does.
"""

from typing import TYPE_CHECKING

from langgraph_reflexion.support.lazy import lazy_names

if TYPE_CHECKING:
    from langgraph_reflexion.lab.experiments.comparison import compare as compare
    from langgraph_reflexion.lab.experiments.figures import draw as draw
    from langgraph_reflexion.lab.experiments.prompts import SentPrompt as SentPrompt
    from langgraph_reflexion.lab.experiments.prompts import read_prompts as read_prompts
    from langgraph_reflexion.lab.experiments.runner import aresume as aresume
    from langgraph_reflexion.lab.experiments.runner import arun as arun
    from langgraph_reflexion.lab.experiments.runner import resume as resume
    from langgraph_reflexion.lab.experiments.runner import run as run
    from langgraph_reflexion.lab.experiments.runs import read_run as read_run
    from langgraph_reflexion.lab.experiments.trials import trials_of as trials_of
    from langgraph_reflexion.lab.experiments.trials import trials_of_run as trials_of_run
    from langgraph_reflexion.lab.experiments.trials import trials_of_thread as trials_of_thread
    from langgraph_reflexion.lab.run_settings import RunSettings as RunSettings

MODULE_OF = {
    "RunSettings": "langgraph_reflexion.lab.run_settings",
    "SentPrompt": f"{__name__}.prompts",
    "aresume": f"{__name__}.runner",
    "arun": f"{__name__}.runner",
    "compare": f"{__name__}.comparison",
    "draw": f"{__name__}.figures",
    "read_prompts": f"{__name__}.prompts",
    "read_run": f"{__name__}.runs",
    "resume": f"{__name__}.runner",
    "run": f"{__name__}.runner",
    "trials_of": f"{__name__}.trials",
    "trials_of_run": f"{__name__}.trials",
    "trials_of_thread": f"{__name__}.trials",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, MODULE_OF)
