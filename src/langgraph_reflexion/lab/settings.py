"""Settings of the agent as plain JSON: one class behind the command line, experiment files, Studio and Inspect."""

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_serializer

from langgraph_reflexion.errors import ConfigurationError, validated
from langgraph_reflexion.lab.declared import MOST_TRIALS, Resume, extra, option, rule
from langgraph_reflexion.lab.in_turn import (
    ModelOfTrial,
    model_names,
    models_in_turn,
    read_temperature,
    temperatures_in,
)
from langgraph_reflexion.models.load import DEMO, TIMEOUT_SECONDS, in_file
from langgraph_reflexion.support.choices import ATTEMPTS, Feedback, Keep, StrategyName

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


def _expect_to_set_temperatures(models: Sequence[ModelOfTrial]) -> None:
    """Raise ConfigurationError if one of the models is a user's object, whose temperature is its own."""
    for model in models:
        if in_file(model.name):
            raise ConfigurationError(
                f"--temperature: {model.name} is made in your code, with a temperature of its own: "
                "name a model for each trial with --model A,B instead"
            )


class ReflexionSettings(BaseModel):
    """How the agent is built. A new option of the agent is a field here and its use in `build`."""

    model_config = _CONFIG

    model: str = option(
        DEMO,
        "demo (alfworld, hotpotqa and fever only; needs no key, not an LLM), or PROVIDER:MODEL such as "
        "openai:gpt-4o-mini. Several, separated by commas, play the first, second and further trials.  "
        "[default: demo; an agent of your own has its own]",
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
    strategy: StrategyName | None = rule(
        "What a retry sees: retry (nothing), feedback, last_attempt, reflexion, last_attempt_and_reflexion, or "
        "continue, which resets nothing.",
        node="reset",
        metavar="NAME",
    )
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
    facts: bool = option(
        False,
        "Show the model what is certain about its last trial: what it has repeated, and what it has missed.",
        node="reflect",
    )
    rejects_answers: bool = option(
        False,
        "Sample an answer again, at a higher temperature, that a check of code has rejected in an earlier trial.",
        node="act",
    )
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

    @field_validator("reflection_model")
    @classmethod
    def _one_model(cls, value: str | None) -> str | None:
        if value is not None and len(model_names(value)) > 1:
            raise ValueError(f"one model reflects and evaluates in all trials, and {value!r} names several")
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
        self._expect_answers(environment)
        rules = load_profile(self.profile).resolve(
            environment or AgentEnvironment(),
            actor=self.actor,
            strategy=self.strategy,
            evaluator=self.evaluator,
            feedback=self.feedback,
            max_trials=self.max_trials,
            memory_size=self.memory_size,
            rejects_answers=self.rejects_answers or None,
        )
        heuristic = rules.heuristic
        if self.max_actions is not None:
            heuristic = replace(heuristic, max_actions=self.max_actions)
        if self.max_cycles is not None:
            heuristic = replace(heuristic, max_cycles=self.max_cycles)
        return replace(rules, heuristic=heuristic)

    def _expect_answers(self, environment: "Environment | None") -> None:
        """Raise ConfigurationError if answers are to be sampled again where no action hands one in."""
        from langgraph_reflexion.agents import AgentEnvironment
        from langgraph_reflexion.envs.protocols import SupportsFinalAnswer

        # `AgentTasks` refuses it with a message of its own.
        if not self.rejects_answers or environment is None or isinstance(environment, AgentEnvironment):
            return
        if not isinstance(environment, SupportsFinalAnswer):
            raise ConfigurationError(
                f"no action hands in an answer in {environment.name} (final_answer), so none can be sampled again: "
                "leave out --rejects-answers"
            )

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
            memory=Memory(
                size=self.memory_size, keep=self.memory, map=self.memory_map, facts=self.facts, lessons=lessons
            ),
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
            ConfigurationError: as in `load`; or there are several models and another number of temperatures; or
                there are several temperatures, and a model's cannot be set.
        """
        found = models_in_turn(self.model, self.temperature)
        if len(temperatures_in(self.temperature)) > 1:
            _expect_to_set_temperatures(found)
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
