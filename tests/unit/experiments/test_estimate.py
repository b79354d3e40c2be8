"""The choice of the recorded runs that measure another."""

from pathlib import Path
from typing import Any

import pytest

from langgraph_reflexion.experiments.estimate import LIKENESS, choose
from langgraph_reflexion.experiments.record import Run
from langgraph_reflexion.settings import RunSettings
from tests.support.run_folders import row

SETTINGS = RunSettings(environment="alfworld", actor="react").public()


def recorded(name: str, **other: Any) -> Run:
    return Run(Path(name), {"settings": SETTINGS | other, "tasks": ["a"]}, [row("a", 1, True) | {"llm_calls": 1}])


@pytest.mark.parametrize(
    ("nearer", "farther"),
    [
        ({"max_trials": 3, "until_no_improvement": True, "temperature": 1.0}, {"model": "openai:m"}),
        ({"temperature": 1.0}, {"strategy": "retry"}),
        ({"memory": "summary", "max_cycles": 9}, {"base_url": "http://127.0.0.1/v1"}),
    ],
)
def test_the_most_important_setting_decides(nearer: dict[str, Any], farther: dict[str, Any]) -> None:
    measured = choose(SETTINGS, None, [recorded("farther", **farther), recorded("nearer", **nearer)])
    assert measured is not None
    assert [run.folder.name for run in measured.runs] == ["nearer"]


def test_every_fixed_setting_is_compared_once() -> None:
    apart = {"environment", "actor", "seed", "prices", "checkpoints", "database"}
    assert sorted(LIKENESS) == sorted({*RunSettings.resumable("fixed")} - apart)
