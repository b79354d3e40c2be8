"""Models and temperatures for each trial, as options write them."""

from typing import Any

import pytest

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.lab.in_turn import model_of, models_in_turn
from langgraph_reflexion.lab.settings import ReflexionSettings


@pytest.mark.parametrize(
    ("model", "temperature", "expected"),
    [
        ("a", None, [("a", None)]),
        ("a, b", "0.5", [("a", 0.5), ("b", 0.5)]),
        ("a", "0, 0.5,1", [("a", 0.0), ("a", 0.5), ("a", 1.0)]),
        ("a,b", [0, 1.0], [("a", 0), ("b", 1.0)]),
    ],
)
def test_each_trial_has_a_model_and_a_temperature(model: str, temperature: Any, expected: list[Any]) -> None:
    settings = ReflexionSettings(model=model, temperature=temperature)
    assert [tuple(each) for each in models_in_turn(settings.model, settings.temperature)] == expected


def test_two_numbers_of_trials_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="names 2 models, and there are 3 temperatures"):
        models_in_turn("a,b", [0.0, 0.5, 1.0])


@pytest.mark.parametrize("temperature", ["x", "0,x", -1, "0,-1", "nan", [0.5, float("inf")], "", [True, "x"]])
def test_what_is_no_temperature_is_refused(temperature: Any) -> None:
    with pytest.raises(ValueError, match="temperature"):
        ReflexionSettings(temperature=temperature)


def test_the_model_that_a_node_has_asked() -> None:
    settings = {"model": "small,large", "reflection_model": None}
    assert [model_of(settings, trial, "act") for trial in (1, 2, 3)] == ["small", "large", "large"]
    assert model_of(settings, 2, "reflect") == "small"
    assert model_of({**settings, "reflection_model": "critic"}, 2, "evaluate") == "critic"
