"""Runs in parallel and in lockstep: rows, order, errors, settings, budgets."""

import json
import time

import pytest

from langgraph_reflexion import experiments
from langgraph_reflexion.envs.base import Review
from langgraph_reflexion.experiments.provenance import new_info
from langgraph_reflexion.settings import RunSettings
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.guessing import Guessing, Watch, count_up, drive_all, rows, timeless

TRIAL_KEYS = [
    *("task_id", "trial", "success", "gradable", "verdict", "score", "stop_reason", "actions"),
    *("llm_calls", "cached_calls", "input_tokens", "output_tokens", "cost", "usage"),
    *("measures", "reflection", "notes", "fault", "seconds"),
]


def test_every_trial_is_a_row_with_the_reflection_that_followed_it(tmp_path):
    drive_all(tmp_path)
    written = rows(tmp_path)
    assert all(list(row)[: len(TRIAL_KEYS)] == TRIAL_KEYS for row in written)
    names = ("success", "verdict", "score", "stop_reason", "llm_calls", "input_tokens", "reflection")
    failed, solved = ([row[name] for name in names] for row in written[1:3])
    assert failed == [False, False, 0.0, "terminated", 2, 20, "1 was wrong. Next time I will say 2."]
    assert solved == [True, True, 1.0, "terminated", 1, 10, None]


@pytest.mark.parametrize("in_step", [False, True])
def test_the_record_does_not_depend_on_the_concurrency(tmp_path, in_step):
    for concurrency in (1, 8):
        drive_all(tmp_path / str(concurrency), concurrency=concurrency, in_step=in_step)
    assert timeless(tmp_path / "1") == timeless(tmp_path / "8")


def test_in_step_the_run_ends_after_a_trial_that_solves_nothing_new(tmp_path):
    # Solved after each trial: 1, 2, 2. The task that trial 4 would have solved is left unfinished.
    watch = Watch()
    summary, model = drive_all(tmp_path, numbers=[1, 2, 4], in_step=True, observer=watch)
    assert [trial for _, trial in watch.seen] == [1, 1, 1, 2, 2, 3], "all finish a trial before any begins the next"
    assert (summary.statuses["solved"], summary.statuses["unfinished"]) == (2, 1)
    assert max(row["trial"] for row in rows(tmp_path)) == 3
    # A graph that stands still asks no model: one call per row, and one per reflection.
    assert len(model.prompts) == sum(row["llm_calls"] for row in rows(tmp_path)) == 6 + 4


def test_in_step_a_task_that_ended_by_an_error_is_no_improvement(tmp_path):
    class Reviewed(Guessing):
        def review(self, task, trial):
            if trial["verdict"]:
                raise ZeroDivisionError("division by zero")
            return Review()

    # Trial 2 solves g2, whose review has a bug, and nothing else: had it counted, trial 3 would follow.
    summary, _ = drive_all(tmp_path, environment=Reviewed(numbers=[2, 4]), in_step=True)
    assert summary.statuses["error"] == 1
    assert max(row["trial"] for row in rows(tmp_path)) == 2


@pytest.mark.parametrize(
    ("given", "until"),
    [({}, False), ({"profile": "preprint"}, True), ({"profile": "preprint", "until_no_improvement": False}, False)],
)
def test_settings_are_filled_in_from_environment_and_profile(given, until):
    settings = RunSettings(environment="guessing", **given).resolved(Guessing())
    assert (settings.split, settings.actor, settings.until_no_improvement) == ("numbers", "react", until)
    assert None not in (settings.max_trials, settings.memory_size, settings.max_actions, settings.max_cycles)


def test_run_json_has_settings_versions_and_no_secret():
    settings = RunSettings(environment="guessing", base_url="http://user:pa55word@host:1/v1?key=k", model="openai:m")
    info = new_info(settings.resolved(Guessing()), ["g1"])
    assert (info["settings"]["base_url"], info["tasks"]) == ("http://host:1/v1", ["g1"])
    assert set(info["versions"]) == {"python", "langgraph_reflexion", "commit", "langgraph", "langchain-core"}
    assert "note" not in info
    assert "not an LLM" in new_info(RunSettings(environment="guessing").resolved(Guessing()), [])["note"]


async def test_a_run_can_be_started_in_an_event_loop_with_a_string_as_its_folder(tmp_path):
    folder = str(tmp_path / "run")
    settings = experiments.RunSettings(environment="alfworld", limit=2, max_trials=1, strategy="retry")
    first, second = experiments.run(settings, folder), experiments.resume(folder, max_trials=2)
    assert (first.report.settings["max_trials"], second.report.settings["max_trials"]) == (1, 2)
    assert experiments.compare(folder).runs == (second.report,)
    recorded = experiments.read_run(folder)
    assert all(recorded.goals[task].endswith(".") for task in recorded.info["tasks"])
    assert experiments.trials_of_run(folder, "2").title == recorded.trials[-1]["task_id"]


# Numbers 1 to 4 take 1 to 4 trials of one action each, with a reflection between them: 10 acts and 6 reflections.
WHOLE = {"model_class": ScriptedChatModel, "max_trials": 5}


@pytest.mark.parametrize(("what", "limit", "one_action", "at_once"), [("actions", 4, 1, 1), ("tokens", 90, 24, 4)])
def test_a_run_stops_on_its_budget_and_continues_when_it_is_raised(tmp_path, what, limit, one_action, at_once):
    settings = WHOLE | {"concurrency": at_once, "in_step": True}
    drive_all(tmp_path / "whole", **settings)
    stopped, first = drive_all(tmp_path / "run", budgets={"run": {what: limit}}, **settings)
    assert stopped.statuses["budget"] == 4 - stopped.statuses["solved"] > 0
    recorded = rows(tmp_path / "run")
    spent = {"actions": 0, "tokens": sum(row["input_tokens"] + row["output_tokens"] for row in recorded)}
    spent["actions"] = sum(row["actions"] for row in recorded)
    # Every task in flight may have one action under way.
    assert limit <= spent[what] <= limit + one_action * at_once
    # Under the same budget nothing more is done.
    _, again = drive_all(tmp_path / "run", budgets={"run": {what: limit}}, **settings)
    assert again.prompts == []
    more, second = drive_all(tmp_path / "run", budgets={"run": {what: 1000}}, **settings)
    assert (stopped.clean, more.clean) == (False, True)
    assert timeless(tmp_path / "run") == timeless(tmp_path / "whole")
    assert len(first.prompts) + len(second.prompts) == 16


def test_the_seconds_of_a_resumed_run_add_up(tmp_path):
    def slowly(messages):
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
