"""Runs in parallel and in lockstep: rows, order, errors, settings."""

from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage

from langgraph_reflexion import Task, experiments
from langgraph_reflexion.envs.base import FinishedTrial, Review
from langgraph_reflexion.experiments.provenance import new_info
from langgraph_reflexion.settings import RunSettings
from tests.support.guessing import Guessing, Watch, count_up, drive_all, rows, timeless

TRIAL_KEYS = [
    *("task_id", "trial", "success", "gradable", "verdict", "score", "stop_reason", "actions"),
    *("llm_calls", "cached_calls", "input_tokens", "output_tokens", "cost", "usage"),
    *("measures", "reflection", "notes", "fault", "seconds"),
]


def test_every_trial_is_a_row_with_the_reflection_that_followed_it(tmp_path: Path) -> None:
    drive_all(tmp_path)
    written = rows(tmp_path)
    assert all(list(row) == TRIAL_KEYS for row in written)
    failed, solved = written[1], written[2]
    assert failed["reflection"] == "1 was wrong. Next time I will say 2."
    assert (failed["success"], failed["verdict"], failed["score"]) == (False, False, 0.0)
    assert (failed["stop_reason"], failed["actions"], failed["fault"]) == ("terminated", 1, "")
    assert (failed["llm_calls"], failed["input_tokens"], failed["output_tokens"]) == (2, 20, 4)
    assert (solved["success"], solved["verdict"], solved["reflection"]) == (True, True, None)


def test_in_step_the_record_does_not_depend_on_the_concurrency(tmp_path: Path) -> None:
    for concurrency in (1, 8):
        drive_all(tmp_path / str(concurrency), concurrency=concurrency, in_step=True)
    assert timeless(tmp_path / "1") == timeless(tmp_path / "8")


def test_in_step_the_run_ends_after_a_trial_that_solves_nothing_new(tmp_path: Path) -> None:
    # Solved after each trial: 1, 2, 2. The task that trial 4 would have solved is left unfinished.
    watch = Watch()
    summary, model = drive_all(tmp_path, numbers=[1, 2, 4], in_step=True, observer=watch)
    assert [trial for _, trial in watch.seen] == [1, 1, 1, 2, 2, 3], "all finish a trial before any begins the next"
    assert (summary.statuses["solved"], summary.statuses["unfinished"]) == (2, 1)
    assert max(row["trial"] for row in rows(tmp_path)) == 3
    # A graph that stands still asks no model: one call per row, and one per reflection.
    assert len(model.prompts) == sum(row["llm_calls"] for row in rows(tmp_path)) == 6 + 4


def test_in_step_a_task_that_ended_by_an_error_is_no_improvement(tmp_path: Path) -> None:
    class Reviewed(Guessing):
        def review(self, task: Task, trial: FinishedTrial) -> Review:
            if trial["verdict"]:
                raise ZeroDivisionError("division by zero")
            return Review()

    # Trial 2 solves g2, whose review has a bug, and nothing else: had it counted, trial 3 would follow.
    summary, _ = drive_all(tmp_path, environment=Reviewed(numbers=[2, 4]), in_step=True)
    assert summary.statuses["error"] == 1
    assert max(row["trial"] for row in rows(tmp_path)) == 2


def test_a_reflection_that_fails_leaves_a_failed_trial_and_a_fault(tmp_path: Path) -> None:
    def replies(messages: list[BaseMessage]) -> Any:
        return ConnectionError("gone") if "Status: FAILED" in messages[-1].text else count_up(messages)

    summary, _ = drive_all(tmp_path, replies, numbers=[2])
    (row,) = rows(tmp_path)
    assert summary.statuses["fault"] == 1
    assert (row["stop_reason"], row["verdict"], row["reflection"]) == ("terminated", False, None)
    assert "gone" in row["fault"]


def test_settings_are_filled_in_from_environment_and_profile() -> None:
    environment = Guessing()
    settings = RunSettings(environment="guessing").resolved(environment)
    assert (settings.split, settings.max_trials, settings.memory_size) == ("numbers", 12, 3)
    assert (settings.actor, settings.max_actions, settings.max_cycles) == ("react", 30, 3)
    assert settings.until_no_improvement is False
    preprint = RunSettings(environment="guessing", profile="preprint")
    assert preprint.resolved(environment).until_no_improvement is True
    own = RunSettings(environment="guessing", profile="preprint", until_no_improvement=False)
    assert own.resolved(environment).until_no_improvement is False


def test_run_json_has_settings_versions_and_no_secret() -> None:
    settings = RunSettings(environment="guessing", base_url="http://user:pa55word@host:1/v1?key=k", model="openai:m")
    info = new_info(settings.resolved(Guessing()), ["g1"])
    assert info["settings"]["base_url"] == "http://host:1/v1"
    assert info["settings"]["evaluator"] == "environment"
    assert info["tasks"] == ["g1"]
    assert set(info["versions"]) == {"python", "langgraph_reflexion", "commit", "langgraph", "langchain-core"}
    assert "note" not in info
    assert "not an LLM" in new_info(RunSettings(environment="guessing").resolved(Guessing()), [])["note"]


async def test_a_run_can_be_started_in_an_event_loop_with_a_string_as_its_folder(tmp_path: Path) -> None:
    folder = str(tmp_path / "run")
    settings = experiments.RunSettings(environment="alfworld", limit=2, max_trials=1, strategy="retry")
    first, second = experiments.run(settings, folder), experiments.resume(folder, max_trials=2)
    assert (first.report.settings["max_trials"], second.report.settings["max_trials"]) == (1, 2)
    assert experiments.compare(folder).runs == (second.report,)
    recorded = experiments.read_run(folder)
    assert all(recorded.goals[task].endswith(".") for task in recorded.info["tasks"])
    last = recorded.trials[-1]
    task = experiments.trials_of_run(folder, "2")
    assert (task.title, task.views[-1].row["trial"]) == (last["task_id"], last["trial"])
