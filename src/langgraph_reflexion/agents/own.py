"""Your own agent on the tasks of a file or a dataset, as the command line runs it."""

import inspect
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable

from langgraph_reflexion.agents.forms import as_runnable
from langgraph_reflexion.agents.task_file import TaskRows, open_tasks, read_tasks
from langgraph_reflexion.agents.world import AgentEnvironment
from langgraph_reflexion.agents.wrapped import NO_MODEL, WrappedAgent
from langgraph_reflexion.envs import load_environment
from langgraph_reflexion.envs.base import Environment, FinishedTrial, Review, Task
from langgraph_reflexion.errors import ConfigurationError, did_you_mean
from langgraph_reflexion.evaluators.make import asks_model, expect_of_agents, expect_truth
from langgraph_reflexion.loop.profiles import Rules
from langgraph_reflexion.models.load import AGENTS_MODEL, DEMO
from langgraph_reflexion.models.unasked import UnaskedChatModel
from langgraph_reflexion.state import Strategy
from langgraph_reflexion.support.objects import load_object, names_object

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)

WHAT = "the environment or agent"
"""What an object's name stands for, in errors."""

OPTIONS = ("tasks", "task_field", "answer_field", "user_field", "subset")
"""The options of an agent's tasks."""


class AgentTasks(AgentEnvironment):
    """The tasks of a file or a dataset, for an agent of your own.

    Args:
        agent: The agent, or a list of one for each trial; the last plays all further trials.
        path: The agent's name, `FILE.py:NAME` or `package.module:NAME`.
        tasks: A file of tasks (JSON lines or CSV), or a dataset.
        task_field: The column of the tasks; unless given, `task`, `question`, `instruction` or `input`.
        answer_field: The column of the reference answers; unless given, `answer`.
        user_field: The column of the users whose lessons are used.
        subset: The configuration of a dataset that has several.
        digest: What the digest of the tasks must be; any unless given.

    Raises:
        ConfigurationError: the file or the dataset is wrong, or has changed.
    """

    def __init__(
        self,
        agent: WrappedAgent | Sequence[WrappedAgent],
        path: str,
        *,
        tasks: str,
        task_field: str | None = None,
        answer_field: str | None = None,
        user_field: str | None = None,
        subset: str | None = None,
        digest: str | None = None,
    ) -> None:
        super().__init__()
        if isinstance(agent, WrappedAgent):
            agent = [agent]
        self.agents = list(agent)
        self.path = path
        self.names_users = user_field is not None
        self.file = str(tasks)
        fields = [_as_name(each) for each in (task_field, answer_field, user_field)]
        source = open_tasks(self.file, _as_name(subset))
        self.splits = source.splits

        def read(split: str) -> TaskRows:
            found = read_tasks(source.rows(split), *fields)
            if not found.tasks:
                raise ConfigurationError(f"{self.file} has no rows")
            # A run that is resumed finds its tasks as they were, or none.
            if digest not in (None, found.digest):
                raise ConfigurationError(
                    f"the tasks of {self.file} have changed since the run began: restore them, or begin another run "
                    "with another --out"
                )
            return found

        # A split is read, and checked, when it is asked for first.
        self.read = cache(read)

    def tasks(self, split: str | None = None, limit: int | None = None) -> Sequence[Task]:
        return self.read(self.choose_split(split)).tasks[:limit]

    def user_of(self, task: Task) -> str | None:
        """Return the user whose lessons a task uses; None unless a column names users."""
        if not self.names_users:
            return None
        user: str | None = task["data"].get("user")
        return user

    def review(self, task: Task, trial: FinishedTrial) -> Review:
        """Return the verdict as the truth: nothing else is known of an agent's trial."""
        return Review(success=trial["verdict"])

    def settled(self, rules: Rules, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings that the agent and its tasks decide.

        Args:
            rules: The profile, resolved.
            given: The settings of the run by name, such as `model`.

        Raises:
            ConfigurationError: a setting does not go with an agent, or its tasks.
        """
        if rules.actor != "agent":
            raise ConfigurationError(f"actor={rules.actor!r}: {self.path} is the actor, so leave --actor out")
        if rules.evaluator == "environment":
            raise ConfigurationError(
                f"{self.path} needs --evaluator: FILE.py:FUNCTION, exact, llm, rubric:FILE or 'command: LINE' "
                "(in the repository: docs/howto/own-agent-and-tasks.md)"
            )
        if self.names_users and (given["user"] is not None or not given["lessons"]):
            raise ConfigurationError("--user-field names whose --lessons are used, and goes without --user")
        self._expect_own_sampling(given)
        expect_of_agents(rules.evaluator)
        truth = given.get("truth")
        if truth is not None:
            expect_truth(truth)
        found = self.read(given["split"])
        if rules.evaluator == "exact":
            self._expect_references(found, "evaluator")
        elif truth == "exact":
            self._expect_references(found, "truth")
        model = given["model"]
        if model == DEMO:
            model = AGENTS_MODEL
        if model == AGENTS_MODEL:
            self._expect_model(rules, given)
        return {"options": {**given["options"], "digest": found.digest}, "model": model}

    def _expect_own_sampling(self, given: Mapping[str, Any]) -> None:
        """Raise ConfigurationError if a setting would change how the agent samples its answers."""
        if given["rejects_answers"]:
            raise ConfigurationError(
                f"--rejects-answers: {self.path} samples its answers itself, at a temperature that cannot be "
                "set here, so leave it out"
            )
        if isinstance(given["temperature"], list):
            raise ConfigurationError(
                f"--temperature: {self.path} samples its answers itself, at a temperature that cannot be set here: "
                "name a list of agents, one for each trial"
            )

    def _expect_references(self, found: TaskRows, what: str) -> None:
        """Raise ConfigurationError if a task has no reference answer."""
        for task in found.tasks:
            if "reference" in task["data"]:
                continue
            raise ConfigurationError(
                f"{what}='exact' needs a reference answer, and the task {task['id']!r} of {self.file} has none: "
                "name the column of reference answers with --answer-field"
            )

    def _expect_model(self, rules: Rules, given: Mapping[str, Any]) -> None:
        """Raise ConfigurationError if a model is called, and there is none: neither the agent's nor another."""
        if self._model or given["reflection_model"]:
            return
        if asks_model(rules.evaluator):
            asks = f"evaluator={rules.evaluator!r} asks a chat model"
        elif given["lessons"]:
            asks = "a chat model writes the lessons from success"
        elif Strategy(rules.strategy).reflects:
            asks = "a chat model writes the reflections; --strategy retry or feedback needs none"
        else:
            return
        raise ConfigurationError(
            f"{self.path} needs --model (PROVIDER:NAME, or FILE.py:NAME of a chat model): {NO_MODEL}, and {asks}"
        )

    def parts(self, model: str) -> dict[str, Any]:
        """Return the arguments of `create_reflexion` that are the agent's, under this name of a model."""
        actor: WrappedAgent | list[WrappedAgent] = self.agents
        if len(self.agents) == 1:
            actor = self.agents[0]
        parts: dict[str, Any] = {"actor": actor}
        if model == AGENTS_MODEL:
            # Where neither the agent has a model nor the run names one, none is called: see `settled`.
            parts["model"] = self._model or UnaskedChatModel()
        return parts

    @property
    def _model(self) -> BaseChatModel | None:
        """The model of the first trial's agent, which reflects and judges in all trials; None if it has none."""
        return self.agents[0].model


def _as_name(option: Any) -> str | None:
    """Return an option as text: the command line reads a number as one."""
    if option is None:
        return None
    return str(option)


def options_of_agent(name: str, options: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the options that the tasks of an agent take; none if the name, with these options, is not an agent's.

    Raises:
        ConfigurationError: there is no such object.
    """
    if not names_object(name):
        return ()
    found = load_object(name, WHAT)
    if _is_environment(found, options):
        return ()
    return OPTIONS


def load_tasks(name: str, *, seed: int | None = None, **options: Any) -> Environment:
    """Make an environment by its name, or of an agent and a task file.

    Args:
        name: As for `load_environment`, or the name of an agent.
        seed: As for `load_environment`; the tasks of an agent are read from a file and have no seed.
        **options: The options of the environment; of an agent, those of `AgentTasks`.

    Raises:
        ConfigurationError: there is no such environment or agent, or an option is wrong.
        EnvironmentUnavailable: a requirement of the environment is missing.
    """
    if not names_object(name):
        return load_environment(name, seed=seed, **options)
    found = load_object(name, WHAT)
    if _is_environment(found, options):
        return load_environment(name, seed=seed, **options)
    agents = as_agents(found, name)
    if "tasks" not in options:
        raise ConfigurationError(
            f"{name!r} is an agent ({type(found).__name__}), not an environment: give its tasks with --tasks FILE"
        )
    # Nobody gives a digest by hand: it comes from the settings of an earlier run.
    known = (*OPTIONS, "digest")
    for option in options:
        if option not in known:
            raise ConfigurationError(
                f"{name!r} has no option {option!r}{did_you_mean(option, OPTIONS)}: an agent takes "
                f"{', '.join(OPTIONS)}"
            )
    for option in OPTIONS:
        # The command line reads an option without a value as a switch.
        if isinstance(options.get(option), bool):
            raise ConfigurationError(f"the option {option!r} of the agent {name!r} needs a value")
    return AgentTasks(agents, name, **options)


def as_agents(found: Any, name: str) -> list[WrappedAgent]:
    """Return the agents of the trials that a name refers to: one for all, or a list of one for each.

    Raises:
        ConfigurationError: it is none, or the list is empty.
    """
    if not isinstance(found, list):
        return [as_agent(found, name)]
    if not found:
        raise ConfigurationError(f"{name!r} is an empty list: give an agent for each trial")
    return [as_agent(each, f"{name}[{place}]") for place, each in enumerate(found)]


def as_agent(found: Any, name: str) -> WrappedAgent:
    """Return the agent that a name refers to.

    Raises:
        ConfigurationError: it is none.
    """
    if isinstance(found, WrappedAgent):
        return found
    try:
        return WrappedAgent(as_runnable(found))
    except ConfigurationError as error:
        hint = ""
        if isinstance(found, type):
            hint = "; of a class, name an instance"
        raise ConfigurationError(f"{name!r}: {error}{hint}") from error


def _is_environment(found: Any, options: Mapping[str, Any]) -> bool:
    """Return whether it is an environment or makes one: a class with tasks, or a function of the options alone."""
    if isinstance(found, type | Environment):
        return hasattr(found, "tasks")
    if not callable(found) or isinstance(found, Runnable | WrappedAgent):
        return False
    try:
        taken = inspect.signature(found).parameters.values()
    except ValueError:  # a builtin
        return False
    if "tasks" in options:
        return "tasks" in {each.name for each in taken}
    # An agent needs its input, and a function that makes an environment nothing but the options.
    needed = {each.name for each in taken if each.default is each.empty and each.kind in _POSITIONAL}
    return needed.issubset(options)
