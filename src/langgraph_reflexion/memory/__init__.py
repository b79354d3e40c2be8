"""Memory: a task's reflections, the memory map, and lessons across tasks."""

from dataclasses import dataclass, replace
from functools import partial

from langgraph_reflexion.envs.base import Environment
from langgraph_reflexion.loop.budgets import Budgets
from langgraph_reflexion.loop.profiles import Rules
from langgraph_reflexion.memory.episodic import EpisodicMemory, MapMemory, Memory
from langgraph_reflexion.memory.facts import facts_of
from langgraph_reflexion.memory.failure import failure_facts
from langgraph_reflexion.memory.lessons import LessonMemory
from langgraph_reflexion.memory.queue import Facts
from langgraph_reflexion.models.client import Client
from langgraph_reflexion.models.options import ModelOptions
from langgraph_reflexion.prompts import Prompts
from langgraph_reflexion.state import Strategy

__all__ = ["AgentMemory", "EpisodicMemory", "Memory", "make_memory"]


@dataclass(frozen=True)
class AgentMemory:
    """What an agent remembers: a task's reflections, what the world has revealed, and lessons of other tasks."""

    reflections: EpisodicMemory
    map: MapMemory | None
    lessons: LessonMemory
    facts: bool = False
    """Whether the state keeps what is certain about a failed trial, for prompts to show it."""

    def without_learning(self) -> "AgentMemory":
        """Return the same memory, which recalls lessons and records none of what its evaluator says."""
        return replace(self, lessons=replace(self.lessons, trusts_verdicts=False))


def make_memory(
    memory: Memory,
    environment: Environment,
    client: Client,
    prompts: Prompts,
    rules: Rules,
    budgets: Budgets,
    options: ModelOptions,
    approves: bool,
) -> AgentMemory:
    """Build the memory that the settings describe.

    `client` is the model that reflects, which also condenses reflections and writes lessons, on the account of
    `budgets`; `approves` says whether a person approves reflections.

    Raises:
        ConfigurationError: the environment draws no memory map, or lessons have a budget and the model has no price.
    """
    condensing: Client | None = None
    if memory.keep == "summary":
        condensing = client
    reflections = EpisodicMemory(rules.memory_size, condensing, prompts, options.seed)
    drawn: MapMemory | None = None
    if memory.map:
        drawn = MapMemory(environment, prompts, lasting=Strategy(rules.strategy).reflects)
    # Without a price, every call would count as free, and the budget would never be used up.
    if memory.lessons and memory.lessons.budget is not None:
        client.require_price()
    # A retry that sees nothing of the trial before sees no facts either.
    facts = memory.facts and rules.strategy != "retry"
    told: Facts = partial(failure_facts, environment=environment)
    if facts:
        told = partial(facts_of, environment=environment)
    lessons = LessonMemory(
        memory.lessons, environment.name, rules.name, client, prompts, budgets, options, approves, told
    )
    return AgentMemory(reflections, drawn, lessons, facts)
