"""Experiments: runs of many tasks, and what is read from their folders."""

from langgraph_reflexion.lab.experiments.comparison import compare
from langgraph_reflexion.lab.experiments.figures import draw
from langgraph_reflexion.lab.experiments.prompts import SentPrompt, read_prompts
from langgraph_reflexion.lab.experiments.record import read_run
from langgraph_reflexion.lab.experiments.runner import aresume, arun, resume, run
from langgraph_reflexion.lab.experiments.trials import trials_of, trials_of_run, trials_of_thread
from langgraph_reflexion.lab.settings import RunSettings

__all__ = [
    "RunSettings",
    "SentPrompt",
    "aresume",
    "arun",
    "compare",
    "draw",
    "read_prompts",
    "read_run",
    "resume",
    "run",
]
__all__ += ["trials_of", "trials_of_run", "trials_of_thread"]
