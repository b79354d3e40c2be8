"""A graph as the server wants it: built for the settings of whoever runs it, and kept for the next run.

The server asks for a graph whenever it runs one, draws one, or looks into a thread. What takes its time (reading
prompts, making environments) is done in a thread, so that its event loop stays free.
"""

import asyncio
import atexit
import importlib
import logging
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeVar, cast

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph
from langgraph_sdk.runtime import ServerRuntime
from pydantic import ConfigDict, Field, ValidationError, with_config
from typing_extensions import TypedDict

from langgraph_reflexion.envs.base import Action, Environment, Task
from langgraph_reflexion.envs.pool import EpisodePool, in_thread
from langgraph_reflexion.errors import ReflexionError
from langgraph_reflexion.graph.compiled import ReflexionGraph
from langgraph_reflexion.models.usage import Usage
from langgraph_reflexion.nodes.node import Update
from langgraph_reflexion.state import (
    Decision,
    EpisodeState,
    Evaluation,
    Reflection,
    ReflexionState,
    Status,
    Step,
    TrialRecord,
)
from langgraph_reflexion.studio.settings import Settings, read

KEPT = 8
"""How many graphs that nobody runs are kept, each for other settings."""

_S = TypeVar("_S", bound=Settings)
_log = logging.getLogger(__name__)


class Outcome(TypedDict, total=False):
    """How a task stands, for a person to read."""

    task: Annotated[Task, Field(description="What is to be solved.")]
    status: Annotated[Status, Field(description="How the task stands. It is finished when this is not running.")]
    trial: Annotated[int, Field(description="The current trial, counted from 1.")]
    trajectory: Annotated[
        list[Step], Field(description="The current trial's steps; after the end, the last trial's.")
    ]
    evaluation: Annotated[Evaluation | None, Field(description="The verdict on the last finished trial.")]
    reflections: Annotated[list[Reflection], Field(description="The lessons that are kept, oldest first.")]
    trials: Annotated[list[TrialRecord], Field(description="The finished trials.")]
    best: Annotated[int | None, Field(description="The best trial so far.")]
    notes: Annotated[list[str], Field(description="What was not as it was meant to be in the current trial.")]
    fault: Annotated[str, Field(description="What went wrong outside the agent; empty when nothing did.")]


for _described in (Task, Action, Step, Decision, Evaluation, Reflection, Usage, TrialRecord, EpisodeState):
    # What stands below their fields, Studio shows.
    with_config(ConfigDict(use_attribute_docstrings=True))(_described)


@dataclass
class Built:
    """A graph for some settings, with what has to be closed."""

    graph: CompiledStateGraph[Any, Any, Any, Any]
    environment: Environment
    pool: EpisodePool
    users: int = 0

    def close(self) -> None:
        """Close what is live. A run that was left in the middle of a trial finds its episode rebuilt."""
        self.pool.close()
        self.environment.close()


class Served(Generic[_S]):
    """The graphs of one kind, by their settings.

    Args:
        settings: What they can be set to.
        build: Builds one.
    """

    def __init__(self, settings: type[_S], build: Callable[[_S], Built]) -> None:
        self.settings = settings
        self.build = build
        self._built: dict[str, Built] = {}
        self._lock = threading.Lock()
        atexit.register(self.close)

    @asynccontextmanager
    async def graph(
        self, config: RunnableConfig, runtime: ServerRuntime[Any] | None = None
    ) -> AsyncIterator[CompiledStateGraph[Any, Any, Any, Any]]:
        """Yield the graph for a config's settings.

        Args:
            config: Has the settings.
            runtime: Says what the server needs the graph for; without one, it is to be run.

        Raises:
            ConfigurationError: a setting is wrong, and the graph is to be run. Drawn it can be all the same.
        """
        configurable: Mapping[str, Any] = config.get("configurable", {})
        if runtime is None or runtime.execution_runtime:
            settings = read(self.settings, configurable, "setting")
        else:
            settings = self._drawn(configurable)
        built = await in_thread(lambda: self._take(settings), self._give_back)
        try:
            yield built.graph
        finally:
            await asyncio.to_thread(self._give_back, built)

    def warm(self) -> None:
        """Build the graph for the settings that nobody has changed, so that nobody has to wait for it."""
        try:
            self._give_back(self._take(self.settings()))
        except ReflexionError as error:
            # The others are served all the same, and a run of this one says it again.
            _log.warning("a graph cannot be built on this machine: %s", error)

    def close(self) -> None:
        """Close everything that nobody uses."""
        with self._lock:
            self._drop(0)

    def _drawn(self, configurable: Mapping[str, Any]) -> _S:
        """As much of the settings as a graph needs that is not run: where it goes after a failed trial.

        With a wrong setting, or without a model's key, there are still forms to put it right in, and threads to read.
        """
        try:
            return self.settings(strategy=configurable["strategy"])
        except (KeyError, ValidationError):
            return self.settings()

    def _take(self, settings: _S) -> Built:
        with self._lock:
            key = settings.model_dump_json()
            built = self._built.pop(key, None) or self.build(settings)
            # The one used last stands last.
            self._built[key] = built
            built.users += 1
            return built

    def _give_back(self, built: Built) -> None:
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


class Begin:
    """The node reset of a graph whose input is a form.

    Args:
        reset: The node.
        task: Finds the task that a run begins with; None where it goes on. Called in a thread.
    """

    def __init__(
        self,
        reset: Callable[[ReflexionState, RunnableConfig], Awaitable[Update]],
        task: Callable[[Mapping[str, Any]], Task | None],
    ) -> None:
        self.reset = reset
        self.task = task

    async def __call__(self, state: ReflexionState, config: RunnableConfig) -> Update:
        """Begin a trial, of the task that was asked for."""
        task = await asyncio.to_thread(self.task, cast(Mapping[str, Any], state))
        if task is not None:
            state = cast(ReflexionState, {**state, "task": task})
        return await self.reset(state, config)


def dressed(
    graph: ReflexionGraph,
    strategy: str,
    *,
    state: type[ReflexionState],
    form: type[Any],
    outcome: type[Any],
    settings: type[Settings],
    task: Callable[[Mapping[str, Any]], Task | None],
    words: Mapping[str, str] | None = None,
) -> ReflexionGraph:
    """Connect the nodes of a graph to one with a form as input, settings, an outcome, and a word on each node.

    Args:
        graph: The graph.
        strategy: Its strategy.
        state: Its state, with the form's fields.
        form: What its input is.
        outcome: What its output is.
        settings: What it can be set to.
        task: Finds the task in what was filled in.
        words: What to say of the nodes in the place of their modules' own words.
    """
    # Whatever else the settings' values are to the server, the graph is built for them already.
    made = ReflexionGraph(state, cast(Any, settings), input_schema=form, output_schema=outcome)
    made.pool = graph.pool
    nodes = reflexion_nodes(graph)
    nodes["reset"] = Begin(nodes["reset"], task)
    described = {name: {"description": (words or {}).get(name) or word_on(name)} for name in nodes}
    return connect(made, nodes, strategy, metadata=described)


def word_on(node: str) -> str:
    """What a node's module says of it in its first line."""
    said = importlib.import_module(f"langgraph_reflexion.nodes.{node}").__doc__ or ""
    return said.partition("\n")[0].partition(": ")[2]
