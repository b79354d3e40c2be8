"""The parts of a run, built from its settings: by its driver, and by each of its workers."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from langchain_core.runnables import RunnableConfig
from langgraph.store.base import BaseStore

from langgraph_reflexion.agents.own import AgentTasks
from langgraph_reflexion.envs.base import Environment, Task
from langgraph_reflexion.envs.load import tasks_of
from langgraph_reflexion.envs.protocols import expect_programs, review
from langgraph_reflexion.errors import ConfigurationError, EnvironmentUnavailable
from langgraph_reflexion.graph.reflexion import ReflexionGraph
from langgraph_reflexion.lab.experiments.first_trial import share_first_trials
from langgraph_reflexion.lab.experiments.locks import open_task_lock
from langgraph_reflexion.lab.experiments.record import CHECKPOINTS
from langgraph_reflexion.lab.experiments.task_run import TaskRun
from langgraph_reflexion.lab.in_turn import model_names
from langgraph_reflexion.lab.run_settings import RunSettings
from langgraph_reflexion.loop.budgets import Budgets, Consumption, account_key
from langgraph_reflexion.memory.store import open_lessons
from langgraph_reflexion.state import Strategy
from langgraph_reflexion.support.checkpoints import open_checkpointer
from langgraph_reflexion.support.secrets import database_secrets, secrets_of
from langgraph_reflexion.support.sync import resolved, to_thread

if TYPE_CHECKING:
    from openai import DefaultAsyncHttpxClient


class SharedBudgets(Budgets):
    """Budgets whose account can be read, and continued in another process.

    The driver of a run keeps its account; a worker takes it over with each trial that it is asked for.
    """

    @property
    def total(self) -> Consumption:
        """What the run has spent, without the time."""
        return self._total

    def spent(self, task: str, config: RunnableConfig) -> Consumption:
        """Return what a task has spent, as far as this process knows."""
        return self._seen.get(account_key(task, config), Consumption())

    def account(self, task: str, config: RunnableConfig, spent: Consumption) -> None:
        """Add what a task has spent in another process."""
        with self._lock:
            increase = spent - self.spent(task, config)
            self._total = self._total + increase
            self._seen[account_key(task, config)] = spent

    def take_over(
        self, task: str, config: RunnableConfig, spent: Consumption, total: Consumption, seconds: float
    ) -> None:
        """Continue an account: what the task and the run have spent, and the seconds on the run's clock."""
        with self._lock:
            self._seen[account_key(task, config)] = spent
            # Either account may know of trials that the other one does not know of yet.
            known = self._total
            self._total = Consumption(
                actions=max(known.actions, total.actions),
                llm_calls=max(known.llm_calls, total.llm_calls),
                tokens=max(known.tokens, total.tokens),
                cost=max(known.cost, total.cost),
                seconds=max(known.seconds, total.seconds),
            )
            self.start_clock(seconds)


class Setup(NamedTuple):
    """The parts of a run that can be wrong before there is a run folder."""

    settings: RunSettings
    """The settings as the run records them: whatever was not given is filled in."""
    graph: ReflexionGraph
    tasks: Sequence[Task]
    budgets: SharedBudgets
    environment: Environment
    secrets: Sequence[str] = ()


class OpenRun(NamedTuple):
    """A run whose checkpointer and lessons are open."""

    store: BaseStore | None
    """The lessons; None without any."""
    task_run: Callable[..., TaskRun]
    """Makes the `TaskRun` of a task, by its id, with more of its arguments."""


def set_up(
    settings: RunSettings, environment: Environment, connections: "DefaultAsyncHttpxClient | None" = None
) -> Setup:
    """Build the graph of a run and read its tasks."""
    rules = settings.rules(environment)
    settings = settings.resolved(environment, rules)
    limits_of = {scope: limits.budget() for scope, limits in settings.budgets.items()}
    budgets = SharedBudgets(**limits_of)
    tasks = tasks_of(environment, settings.split, settings.limit)
    if not tasks:
        raise ConfigurationError(f"the split {settings.split!r} of {settings.environment} has no tasks")
    expect_programs(environment, tasks)
    ids = [task["id"] for task in tasks]
    # Reviews play the actions of a trial again, so they have to be as strict as the trial was.
    environment = rules.applied_to(environment)
    graph = settings.build(
        environment,
        rules,
        budgets=budgets,
        lessons=settings.lessons_of(ids),
        connections=connections,
    )
    _expect_verdicts(graph, tasks)
    for client in graph.clients:
        # A batch whose model never answers stops, also around an agent of the user's.
        client.await_first_answer()
    if settings.first_trial_of is not None:
        share_first_trials(graph, settings, ids)
    return Setup(settings, graph, tasks, budgets, environment, _secrets(graph, settings))


def _expect_verdicts(graph: ReflexionGraph, tasks: Sequence[Task]) -> None:
    """Raise ConfigurationError if a task lacks what a verdict on it needs."""
    reset = graph.loop["reset"]
    for task in tasks:
        reset.evaluator.expect(task)
        if reset.truth:
            reset.truth.expect(task)


def _secrets(graph: ReflexionGraph, settings: RunSettings) -> list[str]:
    """Return the keys of a run's models, and the passwords of its databases, each once."""
    found: dict[str, None] = {}
    for client in graph.clients:
        found.update(dict.fromkeys(secrets_of(client.model, settings.base_url)))
    for address in (settings.database, settings.lessons):
        found.update(dict.fromkeys(database_secrets(address)))
    return list(found)


@asynccontextmanager
async def open_setup(settings: RunSettings) -> AsyncIterator[Setup]:
    """Make a run's environment, and build its parts."""
    async with AsyncExitStack() as stack:
        # In a thread, where an agent's file may call `asyncio.run`.
        environment = await to_thread(settings.make_environment)
        stack.push_async_callback(_close, environment)
        connections = await stack.enter_async_context(_connections(settings))
        setup = set_up(settings, environment, connections)
        stack.push_async_callback(setup.graph.pool.aclose)
        yield setup


@asynccontextmanager
async def open_run(setup: Setup, folder: Path, run_id: str) -> AsyncIterator[OpenRun]:
    """Open the checkpointer and the lessons of a run."""
    settings = setup.settings
    async with AsyncExitStack() as stack:
        where = settings.database or folder / CHECKPOINTS
        saver = await stack.enter_async_context(open_checkpointer(settings.checkpoints, where))
        store = None
        if settings.lessons:
            store = await stack.enter_async_context(open_lessons(settings.lessons))
        graph = setup.graph.compile(checkpointer=saver, store=store)
        rules = setup.graph.rules
        reflects = Strategy(rules.strategy).reflects
        lock = await stack.enter_async_context(open_task_lock(settings.database))
        tasks = {task["id"]: task for task in setup.tasks}

        def task_run(name: str, **more: Any) -> TaskRun:
            task = tasks[name]
            thread = f"{run_id}:{name}"
            return TaskRun(
                graph,
                task,
                thread,
                reflects=reflects,
                max_trials=rules.max_trials,
                budgets=setup.budgets,
                review=partial(review, setup.environment),
                lock=lock,
                user=user_of(setup.environment, task),
                truth=settings.truth is not None,
                **more,
            )

        yield OpenRun(store, task_run)


def user_of(environment: Environment, task: Task) -> str | None:
    """Return the user whose lessons a task uses, if its file names users."""
    if isinstance(environment, AgentTasks):
        return environment.user_of(task)
    return None


async def _close(environment: Environment) -> None:
    await resolved(environment.close())


@asynccontextmanager
async def _connections(settings: RunSettings) -> "AsyncIterator[DefaultAsyncHttpxClient | None]":
    """Open the connections of a run's OpenAI models, which belong to its event loop; None if it has none."""
    named = model_names(settings.model)
    if settings.reflection_model:
        named.append(settings.reflection_model)
    if not any(name.startswith("openai:") for name in named):
        yield None
        return
    from langgraph_reflexion.models.connections import bounded_connections

    try:
        connections = bounded_connections()
    except OSError as error:
        raise EnvironmentUnavailable(f"the certificates cannot be read: {error}: correct SSL_CERT_FILE") from error
    async with connections:
        yield connections
