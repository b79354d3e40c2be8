"""The graph and the tasks of a run, built from its settings: by its driver, and again by each of its workers."""

from collections.abc import Sequence
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
        connections: The connections of its OpenAI models, which the run closes.
    """

    graph: ReflexionGraph
    tasks: Sequence[Task]
    budgets: SharedBudgets
    environment: Environment
    secrets: Sequence[str] = ()
    connections: "DefaultAsyncHttpxClient | None" = None


def set_up(settings: RunSettings, environment: Environment) -> Setup:
    """Build the graph of a run and read its tasks.

    Args:
        settings: The settings, resolved.
        environment: Its environment.

    Raises:
        ConfigurationError: a setting is wrong, or there are no tasks.
        EnvironmentUnavailable: the environment lacks something.
    """
    named = (settings.model, settings.reflection_model)
    connections = _connections() if any(name and name.startswith("openai:") for name in named) else None
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
    return Setup(graph, tasks, budgets, environment, list(dict.fromkeys(secrets)), connections)


def _connections() -> "DefaultAsyncHttpxClient":
    from openai import DefaultAsyncHttpxClient

    return DefaultAsyncHttpxClient()
