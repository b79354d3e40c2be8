"""Evaluators by their names, and of functions and objects."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from langgraph_reflexion.actors.base import Actor
from langgraph_reflexion.actors.by_trial import ByTrial
from langgraph_reflexion.envs.base import Environment
from langgraph_reflexion.errors import ConfigurationError, did_you_mean, one_of
from langgraph_reflexion.evaluators.all_of import AllOf, AllOfEvaluator, parts_of
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
from langgraph_reflexion.evaluators.rubric import Rubric
from langgraph_reflexion.evaluators.self_tests import ProgramEnvironment, SelfTestsEvaluator
from langgraph_reflexion.loop.profiles import Rules
from langgraph_reflexion.models.client import Client
from langgraph_reflexion.prompts import Prompts
from langgraph_reflexion.support.objects import load_object, names_object

EvaluatorName = Literal["environment", "llm", "meaning", "self-consistency", "self-tests", "self-tests+given", "none"]
"""The evaluators by name. `self-consistency:N` takes N samples, 5 unless given."""

OF_AGENTS = ("exact", "llm", "none")
"""The evaluators of a wrapped agent by name."""

COMMAND = "command:"
"""What precedes a command line that is an evaluator's name."""

OPENEVALS = "openevals:"
"""What precedes the name of a judge of openevals."""

RUBRIC = "rubric:"
"""What precedes the name of a file with the criteria of a `Rubric`."""

SAMPLES = 5
"""Number of samples of `self-consistency`."""


def asks_model(name: str) -> bool:
    """Return whether a wrapped agent's evaluator of this name asks a chat model."""
    return name in ("llm", *JUDGES) or name.startswith(RUBRIC)


def expect_of_agents(name: str) -> None:
    """Check the name of a wrapped agent's evaluator; objects and command lines are not loaded.

    Raises:
        ConfigurationError: there is no such evaluator.
    """
    if name.startswith(OPENEVALS):
        one_of("evaluator", name, JUDGES)
        return
    # Whether these exist is found out when they are loaded.
    if name in OF_AGENTS or name.startswith((COMMAND, RUBRIC)) or _names_own(name):
        return
    known = (*OF_AGENTS, *JUDGES)
    raise ConfigurationError(
        f"evaluator={name!r}: for an agent, choose one of {', '.join(known)}{did_you_mean(name, known)}, or give "
        "an Evaluator, a function (also as FILE.py:NAME or package.module:NAME), a shell command (also as "
        "'command: LINE'), or criteria in words (as rubric:FILE)"
    )


def _names_own(text: str) -> bool:
    """Return whether a text names an object of the user's, and not an evaluator of this package."""
    # A name with a colon, such as `self-consistency:7`, looks like `module:NAME`.
    module = text.partition(":")[0]
    if module in get_args(EvaluatorName) or module in ("openevals", "rubric"):
        return False
    return names_object(text)


def make_evaluator(
    evaluator: Evaluator | AllOf | list[Any] | str | Callable[..., Any] | None,
    client: Client,
    actor: Actor | ByTrial | None,
    environment: Environment,
    prompts: Prompts,
    rules: Rules,
    seed: int,
) -> Evaluator:
    """Return the evaluator of this name or function; an `Evaluator` is returned unchanged.

    Args:
        evaluator: A name, a function, an `Evaluator`, or several of these that all have to accept a trial (`AllOf`);
            the profile's unless given. `FILE.py:NAME` and `package.module:NAME` are loaded; `command: LINE` is a
            shell command; `rubric:FILE` is a `Rubric` with the criteria in the file; `openevals:correctness` and
            others are judges of openevals.
        client: The model that judges and writes tests.
        actor: The actor, which `self-consistency` samples; None for a wrapped agent.
        environment: The tasks and actions.
        prompts: The domain's templates.
        rules: The profile, resolved.
        seed: The run's seed.

    Raises:
        ConfigurationError: there is no such evaluator, or it does not fit the actor or the environment.
    """
    if evaluator is None:
        evaluator = rules.evaluator
    if isinstance(evaluator, str):
        evaluator = _read(evaluator)
    if isinstance(evaluator, list):
        evaluator = AllOf(*evaluator)
    if isinstance(evaluator, AllOf):
        made = []
        for each in evaluator.evaluators:
            made.append(make_evaluator(each, client, actor, environment, prompts, rules, seed))
        return AllOfEvaluator(made, rules.threshold, ask_all=evaluator.ask_all)
    if isinstance(evaluator, Evaluator):
        return evaluator.bind(client, prompts, seed)
    if not isinstance(evaluator, str):
        return _of_function(evaluator, actor)
    return _of_name(evaluator, _Parts(client, actor, environment, prompts, rules, seed))


def make_truth(
    truth: Evaluator | str | Callable[..., Any] | None,
    client: Client,
    actor: Actor | ByTrial | None,
    environment: Environment,
    prompts: Prompts,
    rules: Rules,
    seed: int,
) -> Evaluator | None:
    """Return what says whether a wrapped agent's trial has truly solved its task; None if nothing does.

    Args:
        truth: `exact`, a function, or an `Evaluator`; also as `FILE.py:NAME` and `command: LINE`.
        client: The model that an `Evaluator` may ask.
        actor: The actor; None for a wrapped agent.
        environment: The tasks and actions.
        prompts: The domain's templates.
        rules: The profile, resolved.
        seed: The run's seed.

    Raises:
        ConfigurationError: it is something else, or an environment is played, which knows the truth itself.
    """
    if truth is None:
        return None
    if actor is not None:
        raise ConfigurationError(
            f"truth= is for agents of your own: {environment.name} knows itself whether a trial has solved its task, "
            "so leave it out"
        )
    if isinstance(truth, str):
        expect_truth(truth)
    for each in parts_of(truth):
        if isinstance(each, Rubric):
            raise ConfigurationError(
                "truth= was given a Rubric: what a model says is a verdict, so give it as evaluator="
            )
    return make_evaluator(truth, client, None, environment, prompts, rules, seed)


def expect_truth(name: str) -> None:
    """Check the name of a truth; objects and command lines are not loaded.

    Raises:
        ConfigurationError: it is neither `exact`, nor an object, nor a command line.
    """
    if name == "exact" or name.startswith(COMMAND) or _names_own(name):
        return
    raise ConfigurationError(
        f"truth={name!r}: choose exact, or give a function (also as FILE.py:NAME), an Evaluator, or a shell command "
        "(also as 'command: LINE'): what a model says is a verdict"
    )


@dataclass(frozen=True)
class _Parts:
    """What evaluators that have a name are made of; see `make_evaluator`."""

    client: Client
    actor: Actor | ByTrial | None
    environment: Environment
    prompts: Prompts
    rules: Rules
    seed: int


def _read(text: str) -> Any:
    """Return what a text stands for: a command or an object; any other text is a name, and stays one."""
    if text.startswith(COMMAND):
        return CommandEvaluator(text.removeprefix(COMMAND).strip())
    if text.startswith(RUBRIC):
        return Rubric.of_file(text.removeprefix(RUBRIC).strip())
    if not _names_own(text):
        return text
    found = load_object(text, "the evaluator")
    # The text would be taken for the name of an evaluator.
    if isinstance(found, str):
        raise ConfigurationError(f"evaluator={found!r:.100}: it names a text, not a function")
    return found


def _of_function(function: Any, actor: Actor | ByTrial | None) -> Evaluator:
    """Return the evaluator that a function makes; without an actor, it scores a wrapped agent's result."""
    # A class can be called, too: what is meant is an instance of it.
    if not callable(function) or isinstance(function, type):
        raise ConfigurationError(f"evaluator must be a name, an Evaluator or a function; got {function!r:.100}")
    if actor is None:
        return FunctionEvaluator(function, "result")
    return FunctionEvaluator(function, "trajectory")


def _of_name(given: str, parts: _Parts) -> Evaluator:
    """Return the evaluator of a name, which may end with a number of samples."""
    if given.startswith(OPENEVALS):
        return _openevals(given, parts)
    name, colon, samples = given.partition(":")
    # Only this name may have a number.
    if name != "self-consistency":
        name = given
    elif colon and not samples.isdecimal():
        raise ConfigurationError(f"evaluator={given!r}: it takes a number, as in self-consistency:7")
    # A wrapped agent has fewer evaluators by name.
    if parts.actor is None:
        expect_of_agents(given)
    else:
        one_of("evaluator", name, get_args(EvaluatorName))
    return _MAKERS[name](given, parts)


def _openevals(name: str, parts: _Parts) -> Evaluator:
    if parts.actor:
        raise ConfigurationError(f"evaluator={name!r} is for agents: with an environment, choose llm")
    return OpenevalsJudge(one_of("evaluator", name, JUDGES), parts.client)


def _environment(name: str, parts: _Parts) -> Evaluator:
    environment = parts.environment
    if isinstance(environment, ProgramEnvironment):
        gives = f"{environment.name} gives no signal, as its hidden tests stay out of the loop"
        raise ConfigurationError(f"evaluator='environment': {gives}: choose self-tests, llm or none")
    return EnvironmentEvaluator()


def _meaning(name: str, parts: _Parts) -> Evaluator:
    environment = parts.environment
    if not isinstance(environment, AnsweredEnvironment):
        raise ConfigurationError(
            f"evaluator='meaning' compares a question's answers, and {environment.name} has none"
        )
    return MeaningEvaluator(parts.client, parts.prompts, parts.seed, environment)


def _self_consistency(name: str, parts: _Parts) -> Evaluator:
    assert parts.actor is not None  # a wrapped agent has no evaluator of this name
    samples = name.partition(":")[2]
    return SelfConsistencyEvaluator(parts.actor, parts.seed, int(samples or SAMPLES))


def _self_tests(name: str, parts: _Parts) -> Evaluator:
    environment = parts.environment
    if not isinstance(environment, ProgramEnvironment):
        raise ConfigurationError(f"evaluator={name!r} is for programs, and {environment.name} has none")
    return SelfTestsEvaluator(
        parts.client,
        environment,
        parts.prompts,
        parts.seed,
        parts.rules.self_tests,
        accepts_untested=parts.rules.accepts_untested,
        beside_given=name == "self-tests+given",
    )


_MAKERS: Mapping[str, Callable[[str, _Parts], Evaluator]] = {
    "environment": _environment,
    "exact": lambda name, parts: ExactEvaluator(),
    "llm": lambda name, parts: LLMEvaluator(parts.client, parts.prompts, parts.seed),
    "meaning": _meaning,
    "self-consistency": _self_consistency,
    "self-tests": _self_tests,
    "self-tests+given": _self_tests,
    "none": lambda name, parts: NoEvaluator(),
}
"""Makes the evaluator of each name; called with the name as it was given."""
