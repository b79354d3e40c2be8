"""How models are called."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langgraph.cache.base import BaseCache
from pydantic import PositiveFloat, PositiveInt

from langgraph_reflexion.errors import checked
from langgraph_reflexion.models.usage import Price
from langgraph_reflexion.support.retries import Retries


@checked
@dataclass(frozen=True)
class ModelOptions:
    """How models are called.

    Attributes:
        retries: How often a model call, an action or a reset is retried after a transient fault.
        cache: Where replies are kept, so that a rerun of the same run is free: a LangGraph cache, or the path of a
            SQLite file. Two trials never share a reply.
        timeout: Seconds to wait for a reply or, if it is streamed, for each of its pieces; a streamed reply may take
            ten times as long in all. None leaves it to the model's client.
        prices: The price of a model's tokens, by the model's name. A budget of money needs them.
        max_tokens: The longest reply in tokens. Unless given it depends on what is asked for: 512 for a reflection,
            1,024 for a judgement or for tests, and for an action the environment's `reply_tokens`; it is lifted where
            reasoning uses it up. A model with a limit of its own keeps it.
        seed: Every model call gets a seed derived from this one, the task, the trial and the call.
    """

    retries: Retries = field(default_factory=Retries)
    cache: BaseCache[Any] | Path | str | None = None
    timeout: PositiveFloat | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)
    max_tokens: PositiveInt | None = None
    seed: int = 0
