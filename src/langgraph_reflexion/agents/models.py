"""The chat model of an agent that somebody else built."""

from collections.abc import Iterator
from inspect import getclosurevars, isfunction
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable
from langgraph.pregel import Pregel


def model_of(agent: Runnable[Any, Any]) -> BaseChatModel | None:
    """Return the only chat model that the functions of a graph's nodes refer to; None if there are none or several.

    So it is found in agents of `create_agent` and `create_deep_agent`, which keep it nowhere else.
    """
    models = {id(model): model for model in _models(agent)}
    return next(iter(models.values())) if len(models) == 1 else None


def _models(agent: Runnable[Any, Any]) -> Iterator[BaseChatModel]:
    if isinstance(agent, BaseChatModel):
        yield agent
    for node in agent.nodes.values() if isinstance(agent, Pregel) else ():
        function = getattr(node.bound, "func", None)
        if isfunction(function):
            yield from (
                value for value in getclosurevars(function).nonlocals.values() if isinstance(value, BaseChatModel)
            )
