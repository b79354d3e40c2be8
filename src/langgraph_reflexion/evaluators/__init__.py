"""Evaluators: scores of finished trials (M_e, section 3 of the paper)."""

from collections.abc import Callable
from typing import Any, Literal, get_args

from langgraph_reflexion.actors.base import Actor
from langgraph_reflexion.envs.base import Environment
from langgraph_reflexion.errors import ConfigurationError, did_you_mean, one_of
from langgraph_reflexion.evaluators.base import EnvironmentEvaluator, Evaluator, ExactEvaluator, NoEvaluator
from langgraph_reflexion.evaluators.function import CommandEvaluator, FunctionEvaluator
from langgraph_reflexion.evaluators.judges import (
    JUDGES,
    AnsweredEnvironment,
    LLMEvaluator,
    MeaningEvaluator,
    OpenevalsJudge,
    SelfConsistencyEvaluator,
)
from langgraph_reflexion.evaluators.self_tests import ProgramEnvironment, SelfTestsEvaluator
from langgraph_reflexion.loop.profiles import Rules
from langgraph_reflexion.models.client import Client
from langgraph_reflexion.prompts import Prompts
from langgraph_reflexion.support.objects import load_object, names_object

__all__ = ["Evaluator", "EvaluatorName", "make_evaluator"]

EvaluatorName = Literal["environment", "llm", "meaning", "self-consistency", "self-tests", "self-tests+given", "none"]
"""The evaluators by name. `self-consistency:N` takes N samples, 5 unless given."""

OF_AGENTS = ("exact", "llm", "none")
"""The evaluators of a wrapped agent by name."""

COMMAND = "command:"
"""What precedes a command line that is an evaluator's name."""

SAMPLES = 5
"""Number of samples of `self-consistency`."""


def expect_of_agents(name: str) -> None:
    """Check the name of a wrapped agent's evaluator; objects and command lines are not loaded.

    Raises:
        ConfigurationError: there is no such evaluator.
    """
    if name.startswith("openevals:"):
        one_of("evaluator", name, JUDGES)
    elif name not in OF_AGENTS and not name.startswith(COMMAND) and not names_object(name):
        known = (*OF_AGENTS, *JUDGES)
        raise ConfigurationError(
            f"evaluator={name!r}: for an agent, choose one of {', '.join(known)}{did_you_mean(name, known)}, or give "
            "an Evaluator, a function (also as FILE.py:NAME or package.module:NAME), or a shell command (also as "
            "'command: LINE')"
        )


def make_evaluator(
    evaluator: Evaluator | str | Callable[..., Any] | None,
    client: Client,
    actor: Actor | None,
    environment: Environment,
    prompts: Prompts,
    rules: Rules,
    seed: int,
) -> Evaluator:
    """Return the evaluator of this name or function; an `Evaluator` is returned unchanged.

    Args:
        evaluator: A name, a function, or an `Evaluator`; the profile's unless given. `FILE.py:NAME` and
            `package.module:NAME` are loaded; `command: LINE` is a shell command; `openevals:correctness` and others
            are judges of openevals.
        client: The model that judges and writes tests.
        actor: The actor, which `self-consistency` samples; None for a wrapped agent.
        environment: The tasks and actions.
        prompts: The domain's templates.
        rules: The profile, resolved.
        seed: The run's seed.

    Raises:
        ConfigurationError: there is no such evaluator, or it does not fit the actor or the environment.
    """
    evaluator = rules.evaluator if evaluator is None else evaluator
    if isinstance(evaluator, str):
        if evaluator.startswith(COMMAND):
            evaluator = CommandEvaluator(evaluator.removeprefix(COMMAND).strip())
        elif evaluator.startswith("openevals:"):
            if actor:
                raise ConfigurationError(f"evaluator={evaluator!r} is for agents: with an environment, choose llm")
            return OpenevalsJudge(one_of("evaluator", evaluator, JUDGES), client)
        elif names_object(evaluator) and evaluator.partition(":")[0] not in get_args(EvaluatorName):
            evaluator = load_object(evaluator, "the evaluator")
            if isinstance(evaluator, str):
                raise ConfigurationError(f"evaluator={evaluator!r:.100}: it names a text, not a function")
    if isinstance(evaluator, Evaluator):
        return evaluator
    if not isinstance(evaluator, str):
        if not callable(evaluator) or isinstance(evaluator, type):
            raise ConfigurationError(f"evaluator must be a name, an Evaluator or a function; got {evaluator!r:.100}")
        return FunctionEvaluator(evaluator, "trajectory" if actor else "result")
    name, colon, samples = evaluator.partition(":")
    if name != "self-consistency":
        name = evaluator
    elif colon and not samples.isdecimal():
        raise ConfigurationError(f"evaluator={evaluator!r}: it takes a number, as in self-consistency:7")
    if actor is None:
        expect_of_agents(evaluator)
    else:
        one_of("evaluator", name, get_args(EvaluatorName))
    programs = isinstance(environment, ProgramEnvironment)
    match name:
        case "environment" if programs:
            gives = f"{environment.name} gives no signal, as its hidden tests stay out of the loop"
            raise ConfigurationError(f"evaluator='environment': {gives}: choose self-tests, llm or none")
        case "environment":
            return EnvironmentEvaluator()
        case "exact":
            return ExactEvaluator()
        case "llm":
            return LLMEvaluator(client, prompts, seed)
        case "meaning" if isinstance(environment, AnsweredEnvironment):
            return MeaningEvaluator(client, prompts, seed, environment)
        case "meaning":
            raise ConfigurationError(
                f"evaluator='meaning' compares a question's answers, and {environment.name} has none"
            )
        case "self-consistency" if actor:
            return SelfConsistencyEvaluator(actor, seed, int(samples or SAMPLES))
        case "self-tests" | "self-tests+given" if isinstance(environment, ProgramEnvironment):
            return SelfTestsEvaluator(
                client,
                environment,
                prompts,
                seed,
                rules.self_tests,
                accepts_untested=rules.accepts_untested,
                beside_given=name == "self-tests+given",
            )
        case "self-tests" | "self-tests+given":
            raise ConfigurationError(f"evaluator={name!r} is for programs, and {environment.name} has none")
    return NoEvaluator()
