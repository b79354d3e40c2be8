"""Graphs as the server serves them: built for the settings of an assistant, and kept for its next run.

The server asks for a graph whenever it runs one, draws one, or reads a thread. Slow work (reading prompts, making
environments) is done in a thread, so that the server's event loop stays free.
"""

import asyncio
import atexit
import inspect
import logging
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph
from langgraph_sdk.runtime import ServerRuntime
from pydantic import BaseModel, ConfigDict, ValidationError, with_config

from langgraph_reflexion.agents.state import AgentState
from langgraph_reflexion.envs.base import Action, Environment, Task
from langgraph_reflexion.envs.pool import EpisodePool, in_thread
from langgraph_reflexion.errors import ReflexionError
from langgraph_reflexion.graph.reflexion import ReflexionGraph, connect
from langgraph_reflexion.models.usage import Usage
from langgraph_reflexion.prompts import load_prompts
from langgraph_reflexion.state import (
    Decision,
    EpisodeState,
    Evaluation,
    Reflection,
    ReflexionState,
    Step,
    TrialRecord,
    Update,
)
from langgraph_reflexion.studio.forms import state_with, task_form, task_in
from langgraph_reflexion.studio.settings import OPTIONS, SettingsForm, environment_form, validate

Compiled = CompiledStateGraph[Any, Any, Any, Any]
KEPT = 8
"""Graphs that are kept while nobody runs them, each for other settings."""
OWN_KEYS = frozenset({"thread_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map", "user_id"})
"""LangGraph's own keys, which a client that sends `configurable` instead of `context` mixes with the settings."""
_log = logging.getLogger(__name__)

for _shown in (
    *(AgentState, ReflexionState, Task, Action, Step, Decision),
    *(Evaluation, Reflection, Usage, TrialRecord, EpisodeState),
):
    # Studio shows the docstrings below their fields.
    with_config(ConfigDict(use_attribute_docstrings=True))(_shown)


@dataclass
class BuiltGraph:
    """A graph for certain settings, with the environment and the episodes to close."""

    graph: Compiled
    environment: Environment
    pool: EpisodePool
    users: int = 0

    def close(self) -> None:
        """Close the episodes and the environment. A run that was stopped in a trial finds its episode rebuilt."""
        self.pool.close()
        self.environment.close()


class GraphFactory:
    """Builds the graphs of one kind, and keeps those used last.

    Args:
        form: The form of their settings.
        build: Builds the graph for some settings.
    """

    def __init__(self, form: type[SettingsForm], build: Callable[[Any], BuiltGraph]) -> None:
        self.form = form
        self.build = build
        self._built: dict[str, BuiltGraph] = {}
        self._lock = threading.Lock()
        atexit.register(self.close)

    def serve(self, config: RunnableConfig, runtime: ServerRuntime[Any]) -> AbstractAsyncContextManager[Compiled]:
        """Return the graph that the server asks for. Only a run needs settings that are right.

        With a wrong setting, or without a model's key, an assistant still has its form to correct, and threads to
        read. For these a graph only has to know where it continues after a failed trial.

        Raises:
            ConfigurationError: a setting is wrong, and the graph is to be run.
        """
        if run := runtime.execution_runtime:
            given = {name: value for name, value in (run.context or {}).items() if not is_servers(name)}
            return self.graph(validate(self.form, given, "setting"))
        given = config.get("configurable", {})
        try:
            return self.graph(self.form(**{name: given[name] for name in ["strategy"] if name in given}))
        except ValidationError:
            return self.graph(self.form())

    @asynccontextmanager
    async def graph(self, settings: SettingsForm) -> AsyncIterator[Compiled]:
        """Return the graph for these settings, for as long as it is used."""
        built = await in_thread(lambda: self._take(settings), self._give_back)
        try:
            yield built.graph
        finally:
            await asyncio.to_thread(self._give_back, built)

    def warm(self) -> None:
        """Build the graph for the default settings, so that nobody has to wait for it."""
        try:
            self._give_back(self._take(self.form()))
        except ReflexionError as error:
            # The other graphs are served anyway, and a run of this one raises the error again.
            _log.warning("a graph cannot be built on this machine: %s", error)

    def close(self) -> None:
        """Close every graph that nobody uses."""
        with self._lock:
            self._drop(0)

    def _take(self, settings: SettingsForm) -> BuiltGraph:
        with self._lock:
            key = settings.model_dump_json()
            built = self._built.pop(key, None) or self.build(settings)
            self._built[key] = built  # now the last, as the one used most recently
            built.users += 1
            return built

    def _give_back(self, built: BuiltGraph) -> None:
        with self._lock:
            built.users -= 1
            self._drop(KEPT)

    def _drop(self, kept: int) -> None:
        idle = [key for key, built in self._built.items() if not built.users]
        for key in idle[: max(0, len(idle) - kept)]:
            try:
                self._built.pop(key).close()
            except Exception:
                _log.warning("a graph could not be closed", exc_info=True)


def is_servers(key: str) -> bool:
    """Return whether a key of the configuration is LangGraph's or the server's own."""
    return key in OWN_KEYS or key.startswith(("__", "langgraph_"))


def environment_graphs(environment: type[Environment]) -> GraphFactory:
    """Return the factory of an environment's graphs."""
    settings_type, form = environment_form(environment), task_form(environment)

    def build(settings: SettingsForm) -> BuiltGraph:
        chosen = settings.reflexion()
        options = {name: getattr(settings, name) for name in OPTIONS.get(environment.name, ())}
        made = cast(Any, environment)(seed=chosen.seed, **options)
        # To the server every use of SQLite blocks, even in memory.
        made.blocking = True
        rules = chosen.rules(made)
        played = made.variant(rules.actor) if rules.actor in made.variants else made
        graph = chosen.build(
            made,
            prompts=settings.prompts(load_prompts(played.prompts_from)),
            approval=settings.approval(played.episode.actions()),
        )

        def find(state: Mapping[str, Any]) -> Task | None:
            return task_in(state, form, made, oracle=rules.evaluator == "environment")

        whole = with_form(graph, find, state_with(form), settings_type, form)
        return BuiltGraph(whole.compile(name=made.name), made, graph.pool)

    return GraphFactory(settings_type, build)


def with_form(
    made: ReflexionGraph,
    find_task: Callable[[Mapping[str, Any]], Task | None],
    state: type[ReflexionState],
    settings: type[SettingsForm],
    form: type[BaseModel],
    output: type[ReflexionState] = ReflexionState,
    descriptions: Mapping[str, str] = {},
) -> ReflexionGraph:
    """Return the same loop as a graph with a form, settings that the server shows, and a description of each node.

    Args:
        made: The graph, built for certain values of the settings.
        find_task: Returns the task that a run begins with, or None if the run continues. Called in a thread.
        state: The state, with the form's fields.
        settings: The form of the settings.
        form: The input.
        output: The state without the form's fields.
        descriptions: The descriptions of nodes that replace those in the code.
    """
    reset = made.loop["reset"]

    async def begin(state: ReflexionState, config: RunnableConfig) -> Update:
        task = await asyncio.to_thread(find_task, state)
        return cast(Update, await reset(state if task is None else {**state, "task": task}, config))

    graph = ReflexionGraph(state, cast(Any, settings), input_schema=form, output_schema=output)
    graph.pauses = made.pauses
    own = {name: (inspect.getdoc(node) or "").partition("\n\n")[0] for name, node in made.loop.items()}
    described = {name: {"description": text} for name, text in {**own, **descriptions}.items()}
    return connect(graph, {**made.loop, "reset": begin}, made.rules.strategy, described)
