"""Environments by name or dotted path."""

from typing import TYPE_CHECKING

from langgraph_reflexion._lazy import lazy_names
from langgraph_reflexion.choices import ENVIRONMENTS

if TYPE_CHECKING:
    from langgraph_reflexion.envs.load import environment_class, load_environment

__all__ = ["ENVIRONMENTS", "environment_class", "load_environment"]

# The sandbox needs no environment, and starts in a fraction of the time without them.
__getattr__, __dir__ = lazy_names(
    __name__, dict.fromkeys(("environment_class", "load_environment"), "langgraph_reflexion.envs.load")
)
