"""The graph and the tasks of a run, built from its settings: by its driver, and again by each of its workers."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

from langgraph_reflexion.envs.base import Environment, Task
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.experiments.budgets import SharedBudgets
from langgraph_reflexion.graph.reflexion import ReflexionGraph
from langgraph_reflexion.models.secrets import database_secrets, secrets_of
from langgraph_reflexion.settings import RunSettings

if TYPE_CHECKING:
    from openai import DefaultAsyncHttpxClient


class Setup(NamedTuple):
    """Everything that can go wrong before there is a run folder.

    Attributes:
        graph: The graph, not compiled.
        tasks: The tasks.
        budgets: The graph's.
        environment: The environment, which whoever made it closes.
        secrets: What must not be written down.
    """

    graph: ReflexionGraph
    tasks: Sequence[Task]
    budgets: SharedBudgets
    environment: Environment
    secrets: Sequence[str] = ()


def set_up(
    settings: RunSettings, environment: Environment, connections: "DefaultAsyncHttpxClient | None" = None
) -> Setup:
    """Build the graph of a run and read its tasks.

    Args:
        settings: The settings, resolved.
        environment: Its environment.
        connections: Those of its OpenAI models (`open_connections`); LangChain's own unless given.

    Raises:
        ConfigurationError: a setting is wrong, or there are no tasks.
        EnvironmentUnavailable: the environment lacks something.
    """
    budgets = SharedBudgets(**{scope: limits.budget() for scope, limits in settings.budgets.items()})
    tasks = environment.tasks(settings.split, settings.limit)
    if not tasks:
        raise ConfigurationError(f"the split {settings.split!r} of {settings.environment} has no tasks")
    graph = settings.build(
        environment,
        budgets=budgets,
        lessons=settings.lessons_of([task["id"] for task in tasks]),
        connections=connections,
    )
    secrets = [secret for client in graph.clients for secret in secrets_of(client.model, settings.base_url)]
    for address in (settings.database, settings.lessons):
        secrets += database_secrets(address)
    return Setup(graph, tasks, budgets, environment, list(dict.fromkeys(secrets)))


@asynccontextmanager
async def open_connections(settings: RunSettings) -> "AsyncIterator[DefaultAsyncHttpxClient | None]":
    """Open the connections of a run's OpenAI models, which belong to its event loop; None if it has none."""
    named = (settings.model, settings.reflection_model)
    if not any(name and name.startswith("openai:") for name in named):
        yield None
        return
    from openai import DefaultAsyncHttpxClient

    async with DefaultAsyncHttpxClient() as connections:
        yield connections
