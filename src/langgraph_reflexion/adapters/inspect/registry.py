"""What Inspect finds by name once the package is installed: tasks, agent, scorers, and the models without a key.

The entry point `inspect_ai` of the package names this module.
"""

from langgraph_reflexion.adapters.inspect.agent import reflexion_agent, sample_context
from langgraph_reflexion.adapters.inspect.provider import reflexion_models
from langgraph_reflexion.adapters.inspect.scorer import solved, solved_by_trial
from langgraph_reflexion.adapters.inspect.tasks import alfworld, hotpotqa, programming, reflexion, webshop, workspace

__all__ = [
    "alfworld",
    "hotpotqa",
    "programming",
    "reflexion",
    "reflexion_agent",
    "reflexion_models",
    "sample_context",
    "solved",
    "solved_by_trial",
    "webshop",
    "workspace",
]
