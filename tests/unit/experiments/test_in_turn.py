"""Models and temperatures for each trial, as options write them."""

from pathlib import Path
from typing import Any

import pytest

from langgraph_reflexion import load_environment
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.lab.experiments.provenance import digests_of_code
from langgraph_reflexion.lab.in_turn import model_of, models_in_turn
from langgraph_reflexion.lab.run_settings import RunSettings
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
    settings = {"model": "small,large", "reflection_model": None, "evaluator": "llm"}
    assert [model_of(settings, trial, "act") for trial in (1, 2, 3)] == ["small", "large", "large"]
    assert model_of(settings, 2, "reflect") == "small"
    assert model_of({**settings, "reflection_model": "critic"}, 2, "evaluate") == "critic"
    # The actor of the trial answers once more.
    samples = {**settings, "reflection_model": "critic", "evaluator": "self-consistency:3"}
    assert [model_of(samples, trial, "evaluate") for trial in (1, 2)] == ["small", "large"]


def test_one_model_reflects() -> None:
    with pytest.raises(ValueError, match="one model reflects and evaluates in all trials"):
        ReflexionSettings(reflection_model="openai:small,openai:large")


def test_temperatures_of_a_model_of_ones_own_are_refused() -> None:
    settings = ReflexionSettings(model="models.py:mine", temperature="0,0.5,1")
    with pytest.raises(ConfigurationError, match=r"models\.py:mine is made in your code"):
        settings.load_all()


@pytest.mark.parametrize("name", ["openai:any", "openai:gpt-4o-mini"])
def test_a_model_for_each_temperature(name: str) -> None:
    settings = ReflexionSettings(model=name, temperature="0,0.5,1", base_url="http://127.0.0.1:1/v1")
    assert [model.temperature for model in settings.load_all()] == [0, 0.5, 1]


@pytest.mark.parametrize(("name", "fits"), [("hotpotqa", True), ("programming", True), ("alfworld", False)])
def test_answers_are_sampled_again_where_an_action_hands_one_in(name: str, fits: bool) -> None:
    settings = ReflexionSettings(rejects_answers=True)
    environment = load_environment(name)
    if fits:
        assert settings.rules(environment).rejects_answers
        return
    with pytest.raises(ConfigurationError, match="no action hands in an answer in alfworld"):
        settings.rules(environment)


def test_the_files_of_all_models_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.py", "b.py", "c.py"):
        (tmp_path / name).write_text(name)
    settings = RunSettings(environment="alfworld", model="a.py:small, b.py:large", reflection_model="c.py:critic")
    assert digests_of_code(settings).keys() == {"a.py", "b.py", "c.py"}
