"""Graphs as the server serves them: built for the settings of an assistant, and closed when the server is done.

The server asks for a graph whenever it runs one, draws one, or reads a thread. Slow work (reading prompts, making
environments) is done in a thread, so that the server's event loop stays free.
"""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph
from langgraph_sdk.runtime import ServerRuntime
from pydantic import BaseModel, ConfigDict, ValidationError, with_config
from typing_extensions import is_typeddict

from langgraph_reflexion import state as states
from langgraph_reflexion.envs import load_environment
from langgraph_reflexion.envs.base import Environment, Task, prompts_of
from langgraph_reflexion.envs.pool import EpisodePool
from langgraph_reflexion.envs.protocols import HasBlocking, HasOwnTasksOnly, for_actor
from langgraph_reflexion.errors import validated
from langgraph_reflexion.graph.reflexion import ReflexionGraph, connect
from langgraph_reflexion.lab.studio.settings import SettingsForm, server_options, settings_form
from langgraph_reflexion.lab.studio.tasks import state_with, task_form, task_in
from langgraph_reflexion.models.unasked import UnaskedChatModel
from langgraph_reflexion.state import ReflexionState, Update
from langgraph_reflexion.support.sync import finished, in_thread

Compiled = CompiledStateGraph[Any, Any, Any, Any]
OWN_KEYS = ("thread_id", "user_id", "checkpoint_", "langgraph_", "__")
"""How the server's own keys begin. Clients that send `configurable` instead of `context` mix them with settings."""

for _shown in filter(is_typeddict, vars(states).values()):
    # Studio shows the docstrings below their fields.
    with_config(ConfigDict(use_attribute_docstrings=True))(_shown)


@dataclass(frozen=True)
class BuiltGraph:
    """A graph for certain settings, with the environment and the episodes to close."""

    graph: Compiled
    environment: Environment
    pool: EpisodePool

    def close(self) -> None:
        """Close the episodes and the environment. A paused run finds its episode rebuilt."""
        self.pool.close()
        finished(self.environment.close())


@dataclass(frozen=True)
class GraphFactory:
    """Builds the graphs of one kind, for settings that are filled into a form."""

    form: type[SettingsForm]
    build: Callable[[Any, bool], BuiltGraph]
    """Builds the graph for settings, and says whether it is to be run, or only drawn and read."""

    def serve(self, config: RunnableConfig, runtime: ServerRuntime[Any]) -> AbstractAsyncContextManager[Compiled]:
        """Return the graph that the server asks for. Only a run needs valid settings.

        With a wrong setting, or without a model's key, an assistant still has its form to correct, and threads to
        read. For these a graph only has to know where it continues after a failed trial, which the strategy decides.

        Raises:
            ConfigurationError: a setting is wrong, and the graph is to be run.
        """
        run = runtime.execution_runtime
        if run:
            context = run.context or {}
            given = {name: value for name, value in context.items() if not name.startswith(OWN_KEYS)}
            return self.graph(validated(self.form, given, "setting"))
        return self.graph(self._settings_to_read(config), runs=False)

    def _settings_to_read(self, config: RunnableConfig) -> SettingsForm:
        """Return the settings of a graph that is drawn or read, where only the strategy counts."""
        configurable = config.get("configurable", {})
        given = {name: value for name, value in configurable.items() if name == "strategy"}
        try:
            return self.form(**given)
        except ValidationError:
            return self.form()

    @asynccontextmanager
    async def graph(self, settings: SettingsForm, *, runs: bool = True) -> AsyncIterator[Compiled]:
        """Return the graph for these settings, for as long as it is used.

        Args:
            settings: The settings.
            runs: Whether it is to be run; if not, it is only drawn or read, and no model has to be named.
        """
        built = await in_thread(lambda: self.build(settings, runs), BuiltGraph.close)
        try:
            yield built.graph
        finally:
            await asyncio.to_thread(built.close)


def environment_graphs(environment: type[Environment]) -> GraphFactory:
    """Return the factory of an environment's graphs."""
    # Read once, when the server starts.
    allowed = server_options(environment.name)
    settings_type = settings_form(environment)
    form = task_form(environment, allowed)

    def build(settings: SettingsForm, runs: bool) -> BuiltGraph:
        chosen = settings.reflexion()
        options = settings.options(environment.name)
        options.update(allowed)
        made = load_environment(environment.name, seed=chosen.seed, **options)
        # Clients write tasks and edit states, and a client may be any web page.
        if isinstance(made, HasOwnTasksOnly):
            made.own_tasks_only = True
        # To the server every use of SQLite blocks, even in memory.
        if isinstance(made, HasBlocking):
            made.blocking = True
        rules = chosen.rules(made)
        played = for_actor(made, rules.actor)
        parts: dict[str, Any] = {}
        if not runs:
            parts["model"] = UnaskedChatModel()
        rubric = settings.rubric()
        if rubric:
            parts["evaluator"] = rubric
        graph = chosen.build(
            made,
            rules,
            prompts=settings.prompts(prompts_of(played)),
            approval=settings.approval(played.actions()),
            **parts,
        )

        # These evaluators compare with the right answer, so a client that writes a question has to give its answer.
        knows_answer = rubric is None and rules.evaluator in ("environment", "meaning")

        def find(state: Mapping[str, Any]) -> Task | None:
            return task_in(state, form, made, oracle=knows_answer)

        whole = with_form(graph, find, settings_type, form)
        return BuiltGraph(whole.compile(name=made.name), made, graph.pool)

    return GraphFactory(settings_type, build)


def with_form(
    made: ReflexionGraph,
    find_task: Callable[[Mapping[str, Any]], Task | None],
    settings: type[SettingsForm],
    form: type[BaseModel],
) -> ReflexionGraph:
    """Return the same loop as a graph with a form, settings that the server shows, and a description of each node.

    `find_task` returns the task that a run begins with, or None if the run continues.
    """
    reset = made.loop["reset"]

    async def begin(state: ReflexionState, config: RunnableConfig) -> Update:
        task = await asyncio.to_thread(find_task, state)
        if task is not None:
            state = state.copy()
            state["task"] = task
        return cast(Update, await reset(state, config))

    graph = ReflexionGraph(
        loop=made.loop,
        rules=made.rules,
        pool=made.pool,
        clients=made.clients,
        pauses=made.pauses,
        state_schema=state_with(form),
        context_schema=cast(Any, settings),
        input_schema=form,
        output_schema=ReflexionState,
    )
    described = {}
    for name, node in made.loop.items():
        documented = inspect.getdoc(node) or ""
        summary, _, _ = documented.partition("\n\n")
        described[name] = {"description": summary}
    nodes = dict(made.loop)
    nodes["reset"] = begin
    return connect(graph, nodes, made.rules, described)
