"""Environments by name or dotted path."""

from typing import TYPE_CHECKING

from langgraph_reflexion.support.lazy import lazy_names

if TYPE_CHECKING:
    from langgraph_reflexion.envs.load import environment_class as environment_class
    from langgraph_reflexion.envs.load import load_environment as load_environment
    from langgraph_reflexion.support.choices import ENVIRONMENTS as ENVIRONMENTS

# The sandbox needs no environment, and starts in a fraction of the time without them.
MODULE_OF = {
    "ENVIRONMENTS": "langgraph_reflexion.support.choices",
    "environment_class": "langgraph_reflexion.envs.load",
    "load_environment": "langgraph_reflexion.envs.load",
}
__all__, __getattr__, __dir__ = lazy_names(__name__, MODULE_OF)
