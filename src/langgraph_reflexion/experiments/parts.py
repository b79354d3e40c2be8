"""What a sweep is made of, put together from its settings: by its driver, and again by each of its workers."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from langchain_core.language_models import BaseChatModel

from langgraph_reflexion.envs.base import Environment, FinishedTrial, Review, Task
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.experiments.budgets import SharedBudgets, make_budgets
from langgraph_reflexion.experiments.settings import SweepSettings
from langgraph_reflexion.graph.compiled import ReflexionGraph
from langgraph_reflexion.graph.reflexion import create_reflexion
from langgraph_reflexion.memory.lessons import Lessons
from langgraph_reflexion.models.cache import open_cache
from langgraph_reflexion.models.load import load_model
from langgraph_reflexion.models.secrets import database_secrets, secrets_of
from langgraph_reflexion.models.usage import Price
from langgraph_reflexion.retries import Retries
from langgraph_reflexion.state import Feedback, Memory

if TYPE_CHECKING:
    from openai import DefaultAsyncHttpxClient


class Parts(NamedTuple):
    """What a sweep is made of, which can go wrong before there is a folder."""

    graph: ReflexionGraph
    """Not compiled."""
    tasks: Sequence[Task]
    budgets: SharedBudgets
    """The graph's."""
    secrets: list[str]
    """What must not be written down."""
    review: Callable[[Task, FinishedTrial], Review] = lambda task, trial: Review()
    """Finds out about a finished trial outside the graph."""
    environment: str = ""
    """The environment's name, under which its lessons are kept."""
    connections: "DefaultAsyncHttpxClient | None" = None
    """The connections of its OpenAI models, which the sweep closes."""
    played_by: str = ""
    """The engine that plays the tasks, where the environment has a choice."""


def make_parts(settings: SweepSettings, environment: Environment) -> Parts:
    """Put a sweep together.

    Args:
        settings: What it is, resolved.
        environment: Its environment.

    Raises:
        ConfigurationError: a setting is wrong, or there are no tasks.
        EnvironmentUnavailable: the environment lacks something.
    """
    named = (settings.model, settings.reflection_model)
    connections = _connections() if any(name and name.startswith("openai:") for name in named) else None

    def load(name: str) -> BaseChatModel:
        return load_model(
            name,
            base_url=settings.base_url,
            timeout=settings.timeout,
            temperature=settings.temperature,
            http_async_client=connections,
        )

    model = load(settings.model)
    reflection_model = load(settings.reflection_model) if settings.reflection_model else model
    budgets = make_budgets(settings.budgets)
    tasks = environment.tasks(settings.split, settings.limit)
    if not tasks:
        raise ConfigurationError(f"the split {settings.split!r} of {settings.environment} has no tasks")
    held_out = frozenset(task["id"] for task in tasks) if settings.frozen else frozenset()
    lessons = Lessons(user=settings.user, recall=settings.recall, learn=not settings.frozen, held_out=held_out)
    graph = create_reflexion(
        model,
        environment,
        actor=settings.agent,
        strategy=settings.strategy,
        evaluator=settings.evaluator,
        samples=settings.samples,
        reflection_model=reflection_model,
        memory=cast(Memory, settings.memory),
        memory_size=settings.memory_size,
        lessons=lessons if settings.lessons else None,
        memory_map=settings.memory_map,
        max_trials=settings.trials,
        feedback=cast(Feedback, settings.feedback),
        profile=settings.profile,
        budgets=budgets,
        prices={name: Price.parse(price) for name, price in settings.prices.items()},
        retries=Retries(settings.retries),
        cache=open_cache(Path(settings.cache)) if settings.cache else None,
        seed=settings.seed,
    )
    secrets = [*secrets_of(model, settings.base_url), *secrets_of(reflection_model)]
    for address in (settings.database, settings.lessons):
        secrets += database_secrets(address)
    return Parts(graph, tasks, budgets, secrets, environment.review, environment.name, connections)


def _connections() -> "DefaultAsyncHttpxClient":
    from openai import DefaultAsyncHttpxClient

    return DefaultAsyncHttpxClient()


def plan(settings: SweepSettings, environment: Environment) -> tuple[SweepSettings, Sequence[Task]]:
    """Put a sweep together without beginning it.

    Args:
        settings: What it is.
        environment: Its environment, made.

    Returns:
        The settings, resolved, and the tasks.

    Raises:
        ConfigurationError: a setting is wrong.
        EnvironmentUnavailable: the environment's data is missing.
    """
    settings = settings.resolved(environment)
    return settings, make_parts(settings, environment).tasks
