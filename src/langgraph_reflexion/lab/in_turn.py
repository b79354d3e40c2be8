"""Models and temperatures for each trial, as options write them: `--model A,B` and `--temperature 0,0.5,1`."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.loop.trials import of_trial


class ModelOfTrial(NamedTuple):
    """A model and its temperature."""

    name: str
    temperature: float | None


def model_names(model: str) -> list[str]:
    """Return the names in the value of `--model`: the model of the first trial, of the second, and so on."""
    return [name.strip() for name in model.split(",")]


def model_of(settings: Mapping[str, Any], trial: int, node: str) -> str:
    """Return the name of the model that a node of a trial asks.

    Args:
        settings: The settings of a run, as `run.json` has them.
        trial: The number of the trial.
        node: The node: the actor's model acts, and another one may reflect and judge.
    """
    evaluator = settings["evaluator"] or ""
    # The actor answers once more, several times.
    samples = node == "evaluate" and evaluator.startswith("self-consistency")
    if node == "act" or samples:
        return of_trial(model_names(settings["model"]), trial)
    reflecting: str | None = settings["reflection_model"]
    return reflecting or model_names(settings["model"])[0]


def temperatures_in(given: Any) -> list[Any]:
    """Return the temperatures in a setting."""
    if given is None:
        return []
    if isinstance(given, list):
        return given
    return [given]


def read_temperature(value: Any) -> Any:
    """Return the setting for what was given or typed, which is checked.

    Raises:
        ValueError: it is not a number of at least 0, or a list of such.
    """
    given = value
    if isinstance(value, str):
        given = [_number(part) for part in value.split(",")]
        if len(given) == 1:
            given = given[0]
    for each in temperatures_in(given):
        if isinstance(each, int | float) and not 0 <= each < math.inf:
            raise ValueError(f"a temperature is a number of at least 0; got {each!r}")
    return given


def models_in_turn(model: str, temperature: Any) -> list[ModelOfTrial]:
    """Return the models of the trials that have one of their own.

    Args:
        model: The value of `--model`.
        temperature: That of `--temperature`.

    Raises:
        ConfigurationError: there are several models, and another number of temperatures.
    """
    names = model_names(model)
    temperatures = temperatures_in(temperature) or [None]
    trials = max(len(names), len(temperatures))
    if not {len(names), len(temperatures)} <= {1, trials}:
        raise ConfigurationError(
            f"--model names {len(names)} models, and there are {len(temperatures)} temperatures: give as many, or one"
        )
    found = []
    for trial in range(1, trials + 1):
        found.append(ModelOfTrial(of_trial(names, trial), of_trial(temperatures, trial)))
    return found


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise ValueError(f"{text.strip()!r} is not a number") from error
