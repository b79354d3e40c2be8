"""Budgets of a run: it stops, says so, and continues identically when they are raised."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.guessing import count_up, drive_all, rows, timeless

# Numbers 1 to 4 take 1 to 4 trials of one action each, with a reflection between them: 10 acts and 6 reflections.
WHOLE: dict[str, Any] = {"model_class": ScriptedChatModel, "max_trials": 5}


@pytest.mark.parametrize(
    ("what", "limit", "one_action", "concurrency", "in_step"),
    [
        ("actions", 4, 1, 1, True),
        ("tokens", 90, 24, 4, True),
    ],
)
def test_a_run_stops_on_its_budget_and_continues_when_it_is_raised(
    tmp_path: Path, what: str, limit: int, one_action: int, concurrency: int, in_step: bool
) -> None:
    settings = WHOLE | {"concurrency": concurrency, "in_step": in_step}
    drive_all(tmp_path / "whole", **settings)
    stopped, first = drive_all(tmp_path / "run", budgets={"run": {what: limit}}, **settings)
    assert not stopped.clean
    assert stopped.statuses["budget"] == 4 - stopped.statuses["solved"] > 0
    recorded = rows(tmp_path / "run")
    spent = {
        "actions": sum(row["actions"] for row in recorded),
        "llm_calls": len(first.prompts),
        "tokens": sum(row["input_tokens"] + row["output_tokens"] for row in recorded),
    }[what]
    # Every task in flight may have one action under way.
    assert limit <= spent <= limit + one_action * concurrency
    # Under the same budget nothing more is done.
    _, again = drive_all(tmp_path / "run", budgets={"run": {what: limit}}, **settings)
    assert again.prompts == []
    more, second = drive_all(tmp_path / "run", budgets={"run": {what: 1000}}, **settings)
    assert more.clean
    assert timeless(tmp_path / "run") == timeless(tmp_path / "whole")
    assert len(first.prompts) + len(second.prompts) == 16


def test_tasks_stop_on_their_own_budgets(tmp_path: Path) -> None:
    drive_all(tmp_path / "whole", **WHOLE)
    stopped, _ = drive_all(tmp_path / "run", budgets={"task": {"actions": 2}}, **WHOLE)
    assert stopped.statuses == {"solved": 2, "failed": 0, "fault": 0, "error": 0, "budget": 2, "unfinished": 0}
    # The third trial never starts: there is no reflection on the second.
    assert [row["trial"] for row in rows(tmp_path / "run")] == [1, 1, 2, 1, 2, 1, 2]
    drive_all(tmp_path / "run", **WHOLE)
    assert timeless(tmp_path / "run") == timeless(tmp_path / "whole")


def test_the_seconds_of_a_resumed_run_add_up(tmp_path: Path) -> None:
    def slowly(messages: Any) -> Any:
        time.sleep(0.05)
        return count_up(messages)

    settings = WHOLE | {"concurrency": 1}
    stopped, _ = drive_all(tmp_path, slowly, budgets={"run": {"seconds": 0.3}}, **settings)
    assert stopped.statuses["budget"] > 0
    assert 0.3 <= json.loads((tmp_path / "run.json").read_text())["seconds"] < 5
    _, again = drive_all(tmp_path, slowly, budgets={"run": {"seconds": 0.3}}, **settings)
    assert again.prompts == []
    done, _ = drive_all(tmp_path, slowly, budgets={"run": {"seconds": 60}}, **settings)
    assert done.clean


def test_a_budget_is_never_lowered(tmp_path: Path) -> None:
    drive_all(tmp_path, budgets={"run": {"actions": 4}}, **WHOLE)
    with pytest.raises(ConfigurationError, match=r"budgets.run.actions was 4, is 3, and can only be raised"):
        drive_all(tmp_path, budgets={"run": {"actions": 3}}, **WHOLE)
    with pytest.raises(ConfigurationError, match=r"budgets.task.tokens was unset, is 5, and can only be raised"):
        drive_all(tmp_path, budgets={"run": {"actions": 4}, "task": {"tokens": 5}}, **WHOLE)
