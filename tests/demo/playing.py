"""Tasks that are played all at once, and how many of them are solved by when."""

import asyncio
import inspect
from functools import cache

from langgraph_reflexion import ModelOptions, create_reflexion
from langgraph_reflexion.demo import DemoChatModel


def play_all(environment, limit, *, model=None, seed=0, **options):
    """The final states of an environment's first tasks."""
    graph = create_reflexion(
        model or DemoChatModel(), environment, options=ModelOptions(seed=seed), **options
    ).compile()

    async def all_of_them():
        return await asyncio.gather(*(graph.ainvoke({"task": task}) for task in environment.tasks(limit=limit)))

    finals = asyncio.run(all_of_them())
    environment.close()
    return finals


def once(play):
    """Plays once for the same arguments, whether they are given or left out."""
    signature, kept = inspect.signature(play), cache(play)

    def played(*args, **options):
        bound = signature.bind(*args, **options)
        bound.apply_defaults()
        return kept(*bound.args)

    return played


def curve_of(finals, trials):
    """The share of tasks that the truth calls solved after 1, 2, ... trials."""
    return [
        sum(any(record["success"] for record in final["trials"][:count]) for final in finals) / len(finals)
        for count in range(1, trials + 1)
    ]
