"""Settings as plain JSON: one class behind the command line, experiment files, Studio, Inspect and `run.json`."""

import os
from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_serializer

from langgraph_reflexion.errors import ConfigurationError, validated
from langgraph_reflexion.lab.declared import MOST_TRIALS, Resume, extra, option, rule
from langgraph_reflexion.lab.in_turn import models_in_turn, read_temperature, temperatures_in
from langgraph_reflexion.models.load import DEMO, TIMEOUT_SECONDS
from langgraph_reflexion.support.choices import ATTEMPTS, ENVIRONMENTS, Checkpoints, Feedback, Keep, StrategyName
from langgraph_reflexion.support.secrets import public_database, public_url

# The command line makes its options of these classes: `--help` imports neither LangChain nor LangGraph.
if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from langgraph_reflexion.envs.base import Environment
    from langgraph_reflexion.graph.reflexion import ReflexionGraph
    from langgraph_reflexion.loop.budgets import Budget, Budgets
    from langgraph_reflexion.loop.profiles import Rules
    from langgraph_reflexion.memory.lessons import Lessons
    from langgraph_reflexion.models.options import ModelOptions
    from langgraph_reflexion.nodes.approval import Approval
    from langgraph_reflexion.prompts import Prompts


DECIDED_BY_PROFILE = (
    "actor",
    "strategy",
    "evaluator",
    "feedback",
    "max_trials",
    "until_no_improvement",
    "memory_size",
)
"""The settings that the profile fills in, by the names that they have in `Rules`, too."""

# The validators are built when they are first used: a help text, a report or a list needs none.
_CONFIG = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)


class BudgetSettings(BaseModel):
    """The limits of a trial, a task or a run; see `langgraph_reflexion.Budget`."""

    model_config = _CONFIG

    actions: int | None = Field(default=None, gt=0)
    llm_calls: int | None = Field(default=None, gt=0)
    tokens: int | None = Field(default=None, gt=0)
    cost: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    seconds: float | None = Field(default=None, gt=0, allow_inf_nan=False)

    @model_serializer
    def _given(self) -> dict[str, Any]:
        return {name: limit for name, limit in self if limit is not None}

    def budget(self) -> "Budget":
        """Return the limits as the graph checks them."""
        from langgraph_reflexion.loop.budgets import Budget

        return Budget(**self.model_dump())


class ReflexionSettings(BaseModel):
    """How the agent is built. A new option of the agent is a field here and its use in `build`."""

    model_config = _CONFIG

    model: str = option(
        DEMO,
        "demo (alfworld, hotpotqa and fever only; needs no key, not an LLM), or PROVIDER:MODEL such as "
        "openai:gpt-4o-mini. Several, separated by commas, play the first, second and further trials.",
        node="act",
        metavar="NAME",
        min_length=1,
    )
    reflection_model: str | None = option(
        None, "Model that reflects and evaluates.  [default: --model]", node="reflect", metavar="NAME"
    )
    base_url: str | None = option(
        None, "Address of an OpenAI-compatible server.", node="act", metavar="URL", min_length=1
    )
    temperature: float | list[float] | None = option(
        None, "Temperature, or one for each trial, as 0,0.5,1.  [default: the server's]", metavar="NUMBER[,...]"
    )
    max_tokens: int | None = option(None, "Longest reply in tokens.  [default: depends on the request]", ge=1)
    timeout: float = option(
        TIMEOUT_SECONDS,
        "Seconds to wait for a reply, or for its next piece.",
        resume="free",
        ge=0.01,
        allow_inf_nan=False,
    )
    retries: int = option(ATTEMPTS, "Attempts before a call or action is a fault.", resume="free", ge=1)
    cache: str | None = option(
        None, "SQLite file that caches model replies, so that a rerun is free.", resume="free", metavar="FILE"
    )
    prices: dict[str, str] = option({}, "Price per million tokens of a model.", metavar="MODEL=IN,OUT[,CACHED]")
    seed: int = option(0, "Seed of model calls and generated tasks.", node="reset")

    profile: Literal["paper", "preprint", "upstream"] = option("paper", "Publication whose numbers and rules apply.")
    actor: str | None = rule(
        "Actions as text (react) or as tool calls (tools), or one of the environment's own actors.",
        node="act",
        metavar="react|tools|...",
    )
    strategy: StrategyName | None = rule("What a retry sees.", node="reset")
    evaluator: str | None = rule(
        "Scores each trial: environment (an oracle), llm, meaning, self-consistency[:N], self-tests[+given], "
        "none, FILE.py:FUNCTION, 'command: LINE', rubric:FILE (criteria in words), or for agents exact or "
        "openevals:correctness.",
        node="evaluate",
        metavar="NAME",
    )
    feedback: Feedback | None = rule("How much of a failed evaluation the model sees.", node="reflect")
    max_trials: int | None = rule("Trials per task.", node="evaluate", resume="raise", ge=1, le=MOST_TRIALS)
    max_actions: int | None = rule("Stop a trial after more than N actions.", node="heuristic_check", ge=1)
    max_cycles: int | None = rule(
        "Stop a trial after more than N identical cycles in a row.", node="heuristic_check", ge=1
    )
    memory: Keep = option("window", "How reflections are kept: the last ones, all, or condensed.", node="reflect")
    memory_size: int | None = rule("Reflections kept (Ω).", node="reflect", ge=1)
    memory_map: bool = option(False, "Show the model a map of what the world has revealed.", node="act")
    budgets: dict[Literal["trial", "task", "run"], BudgetSettings] = option(
        {},
        "Limit per trial, task or run on actions, llm_calls, tokens, cost or seconds.",
        metavar="SCOPE.WHAT=N",
        resume="raise",
    )

    @field_validator("cache", "lessons", "first_trial_of", mode="before", check_fields=False)
    @classmethod
    def _path(cls, value: Any) -> Any:
        if isinstance(value, os.PathLike):
            return os.fspath(value)
        return value

    @field_validator("temperature", mode="before")
    @classmethod
    def _temperature(cls, value: Any) -> Any:
        return read_temperature(value)

    @classmethod
    def resumable(cls, *kinds: Resume) -> list[str]:
        """Return the names of the options that may change in one of these ways when a run is resumed."""
        return [name for name, field in cls.model_fields.items() if extra(field, "resume") in kinds]

    @classmethod
    def read(cls, given: dict[str, Any], what: str = "setting") -> Self:
        """Return the settings with these values; errors call one of them `what`.

        Raises:
            ConfigurationError: names are unknown or values wrong; all are named.
        """
        return validated(cls, given, what)

    def rules(self, environment: "Environment | None") -> "Rules":
        """Return the profile in this environment, with what is set here. It is decided here alone.

        Args:
            environment: The tasks and actions; None around an agent.

        Raises:
            ConfigurationError: a value is wrong.
        """
        from langgraph_reflexion.agents import AgentEnvironment
        from langgraph_reflexion.loop.profiles import load_profile

        self._expect_memory_size_counts()
        rules = load_profile(self.profile).resolve(
            environment or AgentEnvironment(),
            actor=self.actor,
            strategy=self.strategy,
            evaluator=self.evaluator,
            feedback=self.feedback,
            max_trials=self.max_trials,
            memory_size=self.memory_size,
        )
        heuristic = rules.heuristic
        if self.max_actions is not None:
            heuristic = replace(heuristic, max_actions=self.max_actions)
        if self.max_cycles is not None:
            heuristic = replace(heuristic, max_cycles=self.max_cycles)
        return replace(rules, heuristic=heuristic)

    def _expect_memory_size_counts(self) -> None:
        """Raise ConfigurationError if a number of reflections is given, and all are kept."""
        if self.memory == "full" and self.memory_size is not None:
            raise ConfigurationError(
                f"memory_size={self.memory_size} (--memory-size) has no effect beside memory='full', which keeps all"
            )

    def build(
        self,
        environment: "Environment | None",
        rules: "Rules",
        *,
        budgets: "Budgets | None" = None,
        lessons: "Lessons | None" = None,
        prompts: "Prompts | None" = None,
        approval: "Approval | None" = None,
        connections: Any = None,
        **parts: Any,
    ) -> "ReflexionGraph":
        """Build the graph, so that everything that can be wrong is wrong before anything is written.

        Args:
            environment: The tasks and actions; None with an agent as `actor`.
            rules: What `rules` returns for this environment.
            budgets: Replaces the budgets that are set here.
            lessons: Lessons across tasks; none unless given.
            prompts: The prompts; the environment's own unless given.
            approval: Where the run pauses for a person.
            connections: As in `load`.
            **parts: Objects instead of names: `model`, `reflection_model`, `actor`, `evaluator`, `heuristic`.

        Raises:
            ConfigurationError: a setting is wrong.
        """
        from langgraph_reflexion.agents import AgentTasks
        from langgraph_reflexion.graph.reflexion import create_reflexion
        from langgraph_reflexion.loop.budgets import Budgets
        from langgraph_reflexion.memory.episodic import Memory

        if isinstance(environment, AgentTasks):
            parts = environment.parts(self.model) | parts
            environment = None
        if "model" not in parts:
            parts["model"] = self.load_all(connections)
        if "reflection_model" not in parts and self.reflection_model is not None:
            parts["reflection_model"] = self.load(self.reflection_model, connections)
        # Objects count more than names.
        parts.setdefault("actor", self.actor)
        parts.setdefault("evaluator", self.evaluator)
        if budgets is None:
            limits = {scope: limit.budget() for scope, limit in self.budgets.items()}
            budgets = Budgets(**limits)
        return create_reflexion(
            environment=environment,
            memory=Memory(size=self.memory_size, keep=self.memory, map=self.memory_map, lessons=lessons),
            profile=rules,
            prompts=prompts,
            options=self.model_options(),
            budgets=budgets,
            approval=approval,
            **parts,
        )

    def model_options(self) -> "ModelOptions":
        """Return how models are called."""
        from langgraph_reflexion.models.options import ModelOptions
        from langgraph_reflexion.models.usage import Price
        from langgraph_reflexion.support.retries import Retries

        return ModelOptions(
            retries=Retries(self.retries),
            cache=self.cache,
            timeout=self.timeout,
            max_tokens=self.max_tokens,
            prices={name: Price.parse(price) for name, price in self.prices.items()},
            seed=self.seed,
        )

    def load_all(self, connections: Any = None) -> Any:
        """Return the model that plays the trials, or a list with one for each.

        Args:
            connections: As in `load`.

        Raises:
            ConfigurationError: as in `load`, or there are several models and another number of temperatures.
        """
        found = models_in_turn(self.model, self.temperature)
        loaded = [self.load(each.name, connections, temperature=each.temperature) for each in found]
        if len(loaded) == 1:
            return loaded[0]
        return loaded

    def load(self, name: str, connections: Any = None, *, temperature: float | None = None) -> "BaseChatModel":
        """Make the model of this name.

        Args:
            name: The model's name.
            temperature: Its temperature; the one that is set here, or the first of several, unless given.
            connections: The `http_async_client` of `openai:...` models; LangChain's own unless given.

        Raises:
            ConfigurationError: there is no such model, or its key is missing.
        """
        from langgraph_reflexion.models.load import load_model
        from langgraph_reflexion.models.slots import PATIENCE

        if temperature is None:
            temperature = next(iter(temperatures_in(self.temperature)), None)
        timeout = self.timeout
        if self.base_url:
            # A server of one's own may be at work in silence: `ModelOptions.timeout` decides, and not its client.
            timeout *= PATIENCE
        return load_model(
            name,
            base_url=self.base_url,
            temperature=temperature,
            timeout=timeout,
            http_async_client=connections,
        )


class RunSettings(ReflexionSettings):
    """A run: the agent on the tasks of an environment. A new option of runs is a field here and its use."""

    environment: str = Field(description=f"{', '.join(ENVIRONMENTS)}, or your own as MODULE:NAME or FILE.py:NAME.")
    options: dict[str, Any] = option({}, "An option of the environment, as --KEY VALUE gives it.")
    split: str | None = option(
        None, "Set of tasks.  [default: the environment's first]", metavar="NAME", min_length=1
    )
    limit: int | None = option(None, "Number of tasks.  [default: all]", resume="raise", ge=1)
    until_no_improvement: bool | None = rule("Run each trial over all tasks, until one solves nothing new.")
    first_trial_of: str | None = option(
        None,
        "Begin with the first trials of this run, so that both share them.",
        metavar="RUN",
        min_length=1,
    )
    truth: str | None = option(
        None,
        "Records whether an agent of your own has truly solved its task: exact, FILE.py:FUNCTION or 'command: LINE'.",
        node="evaluate",
        metavar="NAME",
        min_length=1,
    )
    concurrency: int = option(8, "Tasks to run concurrently, over all workers.", resume="free", ge=1)
    workers: int = option(1, "Ray workers that share the tasks (extra ray).", resume="free", ge=1)
    ray_address: str | None = option(
        None,
        "Ray cluster of the workers; needs --database.  [default: this machine]",
        resume="free",
        metavar="ADDRESS",
        min_length=1,
    )
    checkpoints: Checkpoints = option("latest", "Checkpoints to keep: the latest, which resuming needs, or all.")
    database: str | None = option(
        None,
        "Record in Postgres instead of the run folder: postgresql://user:password@host/name.",
        metavar="URL",
        pattern="^postgres(ql)?://",
    )
    lessons: str | None = option(
        None,
        "Keep lessons from task to task: a SQLite file, or postgresql://user:password@host/name.",
        metavar="FILE|URL",
        min_length=1,
    )
    user: str | None = option(None, "Use the lessons of this user.  [default: everyone's]", metavar="NAME")
    recall: bool = option(
        True, "Show stored lessons to the agent, running tasks one at a time; --no-recall only records new ones."
    )
    frozen: bool = option(False, "Only read lessons; tasks may then run concurrently.")

    def make_environment(self) -> "Environment":
        """Make the environment, or that of an agent. It gets the run's seed if it takes one, unless `options` do.

        Raises:
            ConfigurationError: there is no such environment, or an option is wrong.
            EnvironmentUnavailable: something that it needs is missing.
        """
        from langgraph_reflexion.agents import load_tasks

        options = {"seed": self.seed} | self.options
        return load_tasks(self.environment, **options)

    def changed(self, given: dict[str, Any]) -> Self:
        """Return the settings with some values replaced: of `budgets` limit by limit, where None lifts one.

        Raises:
            ConfigurationError: a name is unknown or a value is wrong.
        """
        before = self.model_dump()
        changed = before | given
        changed["budgets"] = merge_budgets(before["budgets"], given.get("budgets") or {})
        return type(self).read(changed)

    def public(self) -> dict[str, Any]:
        """Return the settings as `run.json` has them: plain JSON without passwords."""
        return self.model_dump(mode="json") | {
            "base_url": public_url(self.base_url),
            "database": public_database(self.database),
            "lessons": public_database(self.lessons),
        }

    def rules(self, environment: "Environment | None") -> "Rules":
        """See `ReflexionSettings.rules`; a run also says whether it ends early."""
        rules = super().rules(environment)
        if self.until_no_improvement is None:
            return rules
        return replace(rules, until_no_improvement=self.until_no_improvement)

    def build(self, environment: "Environment | None", rules: "Rules", **parts: Any) -> "ReflexionGraph":
        """See `ReflexionSettings.build`; a run may also record the truth."""
        parts.setdefault("truth", self.truth)
        return super().build(environment, rules, **parts)

    def resolved(self, environment: "Environment", rules: "Rules") -> Self:
        """Return the settings as a run records them: what the profile and the environment decide is filled in.

        Args:
            environment: The tasks and actions.
            rules: What `rules` returns for this environment.

        Raises:
            ConfigurationError: there is no such split, or what is said of lessons does not go together.
        """
        from langgraph_reflexion.agents import AgentTasks

        self._expect_lessons_go_together()
        update: dict[str, Any] = {name: getattr(rules, name) for name in DECIDED_BY_PROFILE}
        update["split"] = environment.choose_split(self.split)
        if isinstance(environment, AgentTasks):
            update |= environment.settled(rules, vars(self) | update)
        update["max_actions"] = rules.heuristic.max_actions
        update["max_cycles"] = rules.heuristic.max_cycles
        if self.memory == "full":
            del update["memory_size"]
        teaches = self.lessons and not self.frozen
        if teaches and self.recall:
            # The next task sees what one teaches: the record depends on their order.
            update["concurrency"] = 1
        return self.model_copy(update=update)

    def _expect_lessons_go_together(self) -> None:
        """Raise ConfigurationError if options of lessons are given without lessons, or contradict each other."""
        about_lessons = self.frozen or not self.recall or self.user is not None
        if self.lessons is None and about_lessons:
            raise ConfigurationError("--no-recall, --frozen and --user need --lessons")
        if self.frozen and not self.recall:
            raise ConfigurationError("--frozen lessons with --no-recall change nothing: leave one out")

    def lessons_of(self, tasks: Collection[str]) -> "Lessons | None":
        """Return how lessons are used for these tasks, by their ids; None without any."""
        if self.lessons is None:
            return None
        from langgraph_reflexion.memory.lessons import Lessons

        held_out = frozenset[str]()
        if self.frozen:
            held_out = frozenset(tasks)
        return Lessons(user=self.user, recall=self.recall, learn=not self.frozen, held_out=held_out)


def merge_budgets(below: dict[str, Any], above: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return limits by scope in which those of `above` replace the same ones of `below`."""
    merged: dict[str, dict[str, Any]] = {}
    for limits_of in (below, above):
        for scope, limits in limits_of.items():
            merged.setdefault(scope, {}).update(limits)
    return merged
