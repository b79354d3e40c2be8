"""Runs in parallel and in lockstep: rows, order, settings, budgets, and bugs, each of which ends one task."""

import io
import json
import time

import pytest
from langchain_core.messages import AIMessage
from rich.console import Console

from langgraph_reflexion.envs.base import Review
from langgraph_reflexion.lab import experiments
from langgraph_reflexion.lab.experiments.comparison import compare, task_lines
from langgraph_reflexion.lab.experiments.progress import LiveProgress
from langgraph_reflexion.lab.experiments.provenance import new_info
from langgraph_reflexion.lab.experiments.report import report_run
from langgraph_reflexion.lab.experiments.runs import read_run
from langgraph_reflexion.lab.experiments.scheduler import Observer
from langgraph_reflexion.lab.run_settings import RunSettings
from langgraph_reflexion.testing import ScriptedChatModel
from tests.faces.experiments.test_resume import think_first
from tests.support.cli import KEY, GuessingServer, call, make_home, run_args
from tests.support.guessing import Guessing, Watch, count_up, drive_all, rows, timeless

TRIAL_KEYS = [
    *("task_id", "trial", "success", "gradable", "verdict", "score", "stop_reason", "actions"),
    *("llm_calls", "cached_calls", "input_tokens", "output_tokens", "cost", "usage"),
    *("measures", "reflection", "notes", "fault", "seconds"),
]


@pytest.mark.slow
def test_every_trial_is_a_row_with_the_reflection_that_followed_it(tmp_path):
    drive_all(tmp_path)
    written = rows(tmp_path)
    assert all(list(row)[: len(TRIAL_KEYS)] == TRIAL_KEYS for row in written)
    names = ("success", "verdict", "score", "stop_reason", "llm_calls", "input_tokens", "reflection")
    failed, solved = ([row[name] for name in names] for row in written[1:3])
    assert failed == [False, False, 0.0, "terminated", 2, 20, "1 was wrong. Next time I will say 2."]
    assert solved == [True, True, 1.0, "terminated", 1, 10, None]


@pytest.mark.slow
def test_equal_runs_by_tool_calls_have_equal_records(tmp_path):
    def call_tool(messages):
        said = count_up(messages)
        if "Action:" not in said.text:
            return said
        # LangChain gives the message a random id. The call has none, as from some servers.
        made = {"name": "say", "args": {"number": int(said.text[-1])}, "id": None}
        return AIMessage("", tool_calls=[made], usage_metadata=said.usage_metadata)

    for name in ("one", "two"):
        drive_all(tmp_path / name, call_tool, actor="tools")
    assert any(step["action"]["name"] == "say" for row in rows(tmp_path / "one") for step in row["steps"])
    assert timeless(tmp_path / "one") == timeless(tmp_path / "two")
    sent = [(tmp_path / name / "prompts.jsonl").read_bytes() for name in ("one", "two")]
    assert sent[0] == sent[1]


@pytest.mark.slow
@pytest.mark.parametrize("in_step", [False, True])
def test_the_record_does_not_depend_on_the_concurrency(tmp_path, in_step):
    for concurrency in (1, 8):
        drive_all(tmp_path / str(concurrency), concurrency=concurrency, in_step=in_step)
    assert timeless(tmp_path / "1") == timeless(tmp_path / "8")


@pytest.mark.slow
def test_in_step_the_run_ends_after_a_trial_that_solves_nothing_new(tmp_path):
    # Solved after each trial: 1, 2, 2. The task that trial 4 would have solved is not tried again.
    watch = Watch()
    summary, model = drive_all(tmp_path, numbers=[1, 2, 4], in_step=True, observer=watch)
    assert [trial for _, trial in watch.seen] == [1, 1, 1, 2, 2, 3], "all finish a trial before any begins the next"
    assert (summary.statuses["solved"], summary.statuses["stopped"], summary.statuses["unfinished"]) == (2, 1, 0)
    assert max(row["trial"] for row in rows(tmp_path)) == 3
    # A graph that stands still asks no model: one call per row, and one per reflection.
    assert len(model.prompts) == sum(row["llm_calls"] for row in rows(tmp_path)) == 6 + 4


@pytest.mark.slow
def test_a_run_that_ended_by_its_rule_is_whole_and_says_what_it_skipped(tmp_path):
    drive_all(tmp_path / "rule", numbers=[1, 2, 4], in_step=True)
    drive_all(tmp_path / "all", numbers=[1, 2, 4])
    assert drive_all(tmp_path / "rule", numbers=[1, 2, 4], in_step=True)[0].in_words == (
        "2 solved, 1 not tried again after a trial that solved nothing new"
    ), "resumed, it decides the same"
    report = report_run(read_run(tmp_path / "rule"))
    assert (report.unfinished, report.stopped, report.solved) == (0, 1, [1, 2, 2])
    both = compare([tmp_path / "rule", tmp_path / "all"])
    out = io.StringIO()
    both.print(Console(file=out, width=300))
    assert "1 not tried again after a trial that solved nothing new" in out.getvalue()
    assert "unfinished" not in out.getvalue()
    lines = [line.plain for line in task_lines(read_run(tmp_path / "rule"), 200)]
    assert "not solved by trial 3, after which none was tried again" in lines[-1]


@pytest.mark.slow
def test_runs_of_several_seeds_end_each_by_the_rule(tmp_path):
    for seed, numbers in enumerate(([1, 2, 4], [1, 3])):
        drive_all(tmp_path / str(seed), numbers=numbers, in_step=True, seed=seed)
    (group,) = compare([tmp_path / "0", tmp_path / "1"]).groups
    # The second seed ends after trial 2, in which 3 was not reached.
    assert (group.report.unfinished, group.report.stopped, group.report.solved) == (0, 2, [2, 3, 3])


def test_a_run_in_step_that_was_stopped_by_its_budget_stays_unfinished(tmp_path):
    summary, _ = drive_all(tmp_path, numbers=[2, 3], in_step=True, budgets={"run": {"llm_calls": 3}})
    assert (summary.statuses["stopped"], report_run(read_run(tmp_path)).stopped) == (0, 0)
    assert summary.statuses["budget"] == 2


class Stopping(Guessing):
    profile_defaults = {"stop_at_no_gain": True}


def test_a_task_that_stopped_at_no_gain_is_reported_so_and_not_taken_up_again(tmp_path):
    summary, _ = drive_all(tmp_path, environment=Stopping(numbers=(1, 9)))
    assert (summary.statuses["solved"], summary.statuses["failed"]) == (1, 1)
    assert summary.in_words == "1 solved, 1 failed"
    run = read_run(tmp_path)
    report = report_run(run)
    assert (report.no_gain, report.unfinished, report.stopped, len(report.solved)) == (1, 0, 0, 5)
    assert report.as_json()["no_gain"] == 1
    assert report.notes == {"stopped after 3 trials with the same score, 0": 1}
    told = "\n".join(line.plain for line in task_lines(run, 120))
    assert "not solved, stopped after 3 trials with the same score" in told
    shown = io.StringIO()
    compare(tmp_path).print(Console(file=shown, width=200))
    assert "1 stopped after 3 trials with the same score" in shown.getvalue()
    again, model = drive_all(tmp_path, environment=Stopping(numbers=(1, 9)), max_trials=7)
    assert (again.recorded, model.prompts) == (0, [])


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


def resolved(**given):
    environment, settings = Guessing(), RunSettings(**given)
    return settings.resolved(environment, settings.rules(environment))


@pytest.mark.parametrize(
    ("given", "until"),
    [({}, False), ({"profile": "preprint"}, True), ({"profile": "preprint", "until_no_improvement": False}, False)],
)
def test_settings_are_filled_in_from_environment_and_profile(given, until):
    settings = resolved(environment="guessing", **given)
    assert (settings.split, settings.actor, settings.until_no_improvement) == ("numbers", "react", until)
    assert None not in (settings.max_trials, settings.memory_size, settings.max_actions, settings.max_cycles)


def test_run_json_has_settings_versions_and_no_secret():
    settings = resolved(environment="guessing", base_url="http://user:pa55word@host:1/v1?key=k", model="openai:m")
    info = new_info(settings, ["g1"])
    assert (info["settings"]["base_url"], info["tasks"]) == ("http://host:1/v1", ["g1"])
    assert set(info["versions"]) == {"python", "langgraph_reflexion", "commit", "langgraph", "langchain-core"}
    assert "note" not in info
    assert "not an LLM" in new_info(resolved(environment="guessing"), [])["note"]


@pytest.mark.slow
async def test_a_run_can_be_started_in_an_event_loop_with_a_string_as_its_folder(tmp_path):
    folder = str(tmp_path / "run")
    settings = experiments.RunSettings(environment="alfworld", limit=2, max_trials=1, strategy="retry")
    first, second = experiments.run(settings, folder), experiments.resume(folder, max_trials=2)
    assert (first.report.settings["max_trials"], second.report.settings["max_trials"]) == (1, 2)
    assert experiments.compare(folder).runs == (second.report,)
    recorded = experiments.read_run(folder)
    assert all(recorded.goals[task].endswith(".") for task in recorded.info["tasks"])
    assert experiments.trials_of_run(folder, "2").title == recorded.trials[-1]["task_id"]
    budgets = {"task": {"actions": 1}}
    short = experiments.run(
        experiments.RunSettings.read({"environment": "alfworld", "limit": 2, "budgets": budgets}), f"{folder}2"
    )
    assert short.statuses["budget"] == 2


# Numbers 1 to 4 take 1 to 4 trials of one action each, with a reflection between them: 10 acts and 6 reflections.
WHOLE = {"model_class": ScriptedChatModel, "max_trials": 5}


@pytest.mark.slow
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


@pytest.mark.slow
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


class Reviewed(Guessing):
    """Divides by zero when it reviews one of the games."""

    def review(self, task, trial):
        return Review(measures={"luck": 1 / (task["data"]["number"] - 2)})


def miscounting(task, trajectory):
    return len(5) == 3


def raising(trajectory):
    raise NameError("name 'reason' is not defined")


ALL = ["g1", "g2", "g3", "g4"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("broken", "tasks", "says", "in_step"),
    [
        ({"evaluator": miscounting}, ALL, "TypeError: object of type 'int' has no len()", False),
        ({"environment": Reviewed}, ["g2"], "ZeroDivisionError: division by zero", False),
        ({"heuristic": raising}, ALL, "NameError: name 'reason' is not defined", True),
    ],
    ids=["evaluator", "review", "heuristic"],
)
def test_a_bug_ends_its_task_and_resuming_tries_the_task_again(tmp_path, broken, tasks, says, in_step):
    broken = {name: part() if isinstance(part, type) else part for name, part in broken.items()}
    drive_all(tmp_path / "whole", think_first, in_step=in_step)
    folder = tmp_path / "run"
    for _ in range(2):  # what is still broken fails again
        summary, _ = drive_all(folder, think_first, **broken, in_step=in_step)
        assert (summary.clean, summary.statuses["error"]) == (False, len(tasks))
        assert sorted(summary.report.errors) == tasks
        assert all(error.startswith(says) for error in summary.report.errors.values())
    log = (folder / "errors.log").read_text()
    assert log.count("Traceback (most recent call last)") >= 2 * len(tasks)
    assert all(log.count(f" {task}\n") == 2 for task in tasks)
    recorded = [{**row, "seconds": 0, "measures": {}} for row in rows(folder) if row["task_id"] not in tasks]
    whole = [row for row in timeless(tmp_path / "whole") if row["task_id"] not in tasks]
    # In lockstep, a trial in which no task was solved ends the run.
    assert recorded == [row for row in whole if not in_step or row["trial"] <= 2]
    assert f"ended by an error, such as {says}" in compare([folder]).sentences()[0]

    summary, _ = drive_all(folder, think_first, in_step=in_step)
    assert (summary.clean, summary.statuses["solved"]) == (True, 4)
    assert summary.report.errors == read_run(folder).errors == {}
    if not isinstance(broken.get("environment"), Reviewed):  # whose other rows have its measures
        assert timeless(folder) == timeless(tmp_path / "whole")


class Heard(Observer):
    """Notes what it hears of a task's trials."""

    def __init__(self):
        self.told = []

    def on_trial_start(self, task, trial):
        self.told.append((task, "begins", trial))

    def on_action(self, task, step):
        self.told.append((task, step["number"], step["action"]["text"]))

    def on_trial(self, row, finished):
        self.told.append((row["task_id"], "ended", row["trial"], finished))


TWO_TRIALS = [
    *(("g2", "begins", 1), ("g2", 1, "say 1"), ("g2", "ended", 1, False)),
    *(("g2", "begins", 2), ("g2", 1, "say 2"), ("g2", "ended", 2, True)),
]
"""What an observer hears of the game that is solved in its second trial."""


def test_an_observer_hears_of_trials_and_actions_in_their_order(tmp_path):
    heard = Heard()
    drive_all(tmp_path, numbers=(2,), observer=heard)
    assert heard.told == TWO_TRIALS


class Stop(BaseException):
    """Raised by a test runner or a timeout, say: no `Exception`."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "says"),
    [
        (RuntimeError("bad \ud800 text" + "x" * 9000), "RuntimeError: bad ? textxxx"),
        (Stop("at once"), "Stop: at once"),
    ],
    ids=["half a surrogate in a long text", "BaseException"],
)
def test_any_exception_ends_its_task_alone(tmp_path, error, says):
    class Raising(Guessing):
        blocking = True

        def start(self, task):
            if task["id"] == "g2":
                raise error
            return super().start(task)

    out = io.StringIO()
    with LiveProgress(Console(file=out, force_terminal=True, width=200), hidden=False) as progress:
        summary, _ = drive_all(tmp_path, environment=Raising(), observer=progress)
    assert (summary.statuses["error"], summary.statuses["solved"]) == (1, 3)
    [said] = summary.report.errors.values()
    assert (said.startswith(says), len(said) < 400) == (True, True)
    assert f"langgraph-reflexion: g2: {says}" in out.getvalue()
    assert "· 1 error" in out.getvalue()


BROKEN = '''
import os
from toys.guessing import Guessing

class Broken(Guessing):
    """Divides by zero in one game, until it is fixed."""

    def start(self, task):
        if task["id"] == "g2" and not os.path.exists("fixed"):
            1 / 0
        return super().start(task)
'''


@pytest.mark.slow
def test_the_command_line_counts_errors_and_resumes_their_tasks(tmp_path):
    with GuessingServer() as server:
        count_and_resume(make_home(tmp_path), server)


def count_and_resume(home, server, *more, call=call):
    """Run games of which one has a bug, mend it, and resume the run."""
    (home / "toys" / "broken.py").write_text(BROKEN)
    args = [each.replace("toys.guessing:Guessing", "toys.broken:Broken") for each in run_args(server)]
    status, out, err = call(home, *args, "--out", "run", *more, key=KEY)
    assert (status, err) == (1, "langgraph-reflexion: g2: ZeroDivisionError: division by zero\n")
    assert "2 solved, 1 ended by an error in " in out
    assert "in start\n    1 / 0" in (home / "run" / "errors.log").read_text()
    status, out, err = call(home, "report", "run", "--json")
    assert json.loads(out)["runs"][0]["errors"] == {"g2": "ZeroDivisionError: division by zero"}
    (home / "fixed").touch()
    again = more[more.index("--database") :][:2] if "--database" in more else ()
    status, out, err = call(home, "resume", "run", *again, key=KEY)
    assert (status, err) == (0, "")
    assert "3 solved in " in out
    assert [(row["task_id"], row["trial"]) for row in timeless(home / "run")] == [
        *(("g1", 1), ("g2", 1), ("g2", 2)),
        *(("g3", 1), ("g3", 2), ("g3", 3)),
    ]
