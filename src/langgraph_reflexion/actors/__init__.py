"""Actors: the state becomes a prompt, and the reply the next step (M_a, section 3 of the paper)."""

from collections.abc import Sequence

from langgraph_reflexion.actors.base import Actor, TextActor
from langgraph_reflexion.actors.by_trial import ByTrial
from langgraph_reflexion.actors.original_react import TwoCallActor
from langgraph_reflexion.actors.tools import ToolActor
from langgraph_reflexion.envs.base import Environment
from langgraph_reflexion.loop.profiles import Rules
from langgraph_reflexion.memory.episodic import MapMemory
from langgraph_reflexion.models.client import Client
from langgraph_reflexion.prompts import Prompts

ACTORS: dict[str, type[Actor]] = {"react": TextActor, "tools": ToolActor}
"""The actors that every environment has, by name."""


def make_actors(
    clients: Sequence[Client],
    environment: Environment,
    prompts: Prompts,
    rules: Rules,
    memory_map: MapMemory | None = None,
) -> Actor | ByTrial:
    """Return the actor that a profile names, with the model of each trial."""
    actors = [make_actor(client, environment, prompts, rules, memory_map) for client in clients]
    if len(actors) == 1:
        return actors[0]
    return ByTrial(actors)


def make_actor(
    client: Client, environment: Environment, prompts: Prompts, rules: Rules, memory_map: MapMemory | None = None
) -> Actor:
    """Return the actor that a profile names; the actors of an environment act in text."""
    kind = ACTORS.get(rules.actor, TextActor)
    # A tool call comes in one reply, so only an action in text can be asked for by a call of its own.
    if kind is TextActor and rules.layout.startswith("original"):
        kind = TwoCallActor
    return kind(client, environment, prompts, rules, memory_map)
