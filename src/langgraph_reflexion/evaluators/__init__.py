"""Evaluators: scores of finished trials (M_e, section 3 of the paper)."""

from collections.abc import Callable
from typing import Any, Literal

from langgraph_reflexion.actors.base import Actor
from langgraph_reflexion.envs.base import Environment
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.evaluators.base import EnvironmentEvaluator, Evaluator, NoEvaluator
from langgraph_reflexion.evaluators.function import FunctionEvaluator
from langgraph_reflexion.evaluators.llm_judge import LLMEvaluator
from langgraph_reflexion.evaluators.self_consistency import SelfConsistencyEvaluator
from langgraph_reflexion.evaluators.self_tests import ProgramEnvironment, SelfTestsEvaluator
from langgraph_reflexion.models.client import Client
from langgraph_reflexion.profiles import Profile
from langgraph_reflexion.prompts import Prompts

__all__ = ["Evaluator", "EvaluatorName", "make_evaluator"]

EvaluatorName = Literal["environment", "llm", "self-consistency", "self-tests", "none"]
"""The evaluators by name. `self-consistency:N` takes N samples, 5 unless given."""

SAMPLES = 5
"""Number of samples of `self-consistency`."""


def make_evaluator(
    evaluator: Evaluator | str | Callable[..., Any] | None,
    client: Client,
    actor: Actor | None,
    environment: Environment,
    prompts: Prompts,
    rules: Profile,
    seed: int,
) -> Evaluator:
    """Return the evaluator of this name or function; an `Evaluator` is returned unchanged.

    Args:
        evaluator: A name, a function, or an `Evaluator`; the profile's unless given.
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
    if isinstance(evaluator, Evaluator):
        return evaluator
    if not isinstance(evaluator, str):
        if not callable(evaluator) or isinstance(evaluator, type):
            got = f"the class {evaluator.__name__}" if isinstance(evaluator, type) else type(evaluator).__name__
            raise ConfigurationError(f"evaluator must be a name, an Evaluator or a function; got {got}")
        return FunctionEvaluator(evaluator, "trajectory" if actor else "result")
    name, colon, samples = evaluator.partition(":")
    if colon and (name != "self-consistency" or not samples.isdecimal()):
        raise ConfigurationError(
            f"evaluator={evaluator!r}: only self-consistency takes a number, as in self-consistency:7"
        )
    if name == "environment" and isinstance(environment, ProgramEnvironment):
        raise ConfigurationError(
            f"evaluator='environment': {environment.name} gives no signal, as its hidden tests stay out of the loop: "
            f"choose {'self-tests, ' if actor else ''}llm or none"
        )
    if name == "environment":
        return EnvironmentEvaluator()
    if name == "llm":
        return LLMEvaluator(client, prompts, seed)
    if name == "none":
        return NoEvaluator()
    if name == "self-consistency" and actor:
        return SelfConsistencyEvaluator(actor, seed, int(samples or SAMPLES))
    if name == "self-tests" and actor:
        return SelfTestsEvaluator(client, environment, prompts, seed, rules.self_tests)
    names = ["environment", "llm", "none"] + (["self-consistency", "self-tests"] if actor else [])
    raise ConfigurationError(f"evaluator={evaluator!r}: choose one of {', '.join(names)}")
