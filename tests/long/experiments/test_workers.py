"""Runs with workers have the same budgets, faults and bugs as runs in one process; `test_kills` compares records."""

import re
import signal
import threading
from collections import Counter
from pathlib import Path

import pytest

from langgraph_reflexion.errors import ConfigurationError, ModelFault, WorkersLost
from langgraph_reflexion.lab.experiments.runner import resume, run
from langgraph_reflexion.lab.run_settings import RunSettings
from tests.faces.experiments.test_sweep import TWO_TRIALS, Heard, count_and_resume
from tests.support.cli import ENV, KEY, forget, make_home, one_line, run_args, start, wait_for_rows
from tests.support.guessing import timeless as rows
from tests.support.kills import workers_in

pytestmark = pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="finds workers in /proc, as Linux has it")


@pytest.fixture
def home(tmp_path, monkeypatch):
    """The user's folder, with a custom environment; the command line runs in this process."""
    monkeypatch.syspath_prepend(make_home(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    yield tmp_path
    forget(tmp_path)


def guessing(server, highest=3, environment=ENV, **more):
    options = {"highest": highest}
    return RunSettings(environment=environment, options=options, model="openai:toy", base_url=server.url, **more)


def test_bug_ends_one_task_as_in_one_process(home, server):
    count_and_resume(home, server, "--workers", "2")


def test_an_observer_hears_of_the_actions_of_workers_when_their_trial_has_ended(home, server):
    heard = Heard()
    run(guessing(server, 2, max_trials=2, workers=2), home / "run", heard)
    assert [told for told in heard.told if told[0] == "g2"] == TWO_TRIALS


def test_workers_end_with_their_driver_and_exclude_other_processes(home, server):
    server.seconds = 0.1
    options = ("--option", "highest=6", "--max-trials", "4", "--out", ".", "--workers", "2")
    process = start(home, *run_args(server, *options), key=KEY)
    wait_for_rows(home, 2)
    workers = workers_in(home)
    assert len(workers) == 2
    process.send_signal(signal.SIGTERM)  # `test_kills` has SIGKILL
    _, err = process.communicate(timeout=240)
    assert process.returncode == 130
    # Ray's core may report the trials that were interrupted.
    assert "kept in ." in one_line(re.sub(r"^\[.* E .*\.cc:.*\n", "", err, flags=re.MULTILINE))
    # Immediately: the new run waits for the remaining workers.
    server.seconds = 0.0
    assert resume(home, workers=1).statuses["solved"] == 4
    assert workers_in(home) == []
    assert [row["trial"] for row in rows(home)] == [1, 1, 2, 1, 2, 3, *[1, 2, 3, 4] * 3]


def test_budgets_hold_over_all_workers(home, server):
    server.seconds = 0.05
    settings = guessing(server, 6, max_trials=6, concurrency=4, workers=2, budgets={"run": {"actions": 8}})
    stopped = run(settings, home / "run")
    assert stopped.statuses["budget"] > 0
    done = sum(row["actions"] for row in rows(home / "run"))
    # Each task in flight may finish its trial, of one action, after the limit is reached.
    assert 8 <= done <= 8 + 4
    # What earlier workers have spent counts.
    asked = len(server.requests)
    assert resume(home / "run", workers=1).statuses == stopped.statuses
    assert len(server.requests) == asked


def test_faults_are_handled_as_in_one_process(home, server):
    settings = guessing(server, retries=1, concurrency=2, workers=2)
    # The server never answered: the run ends and leaves no files.
    server.faults = lambda game: "500"
    with pytest.raises(ModelFault, match="has never answered") as caught:
        run(settings, home / "dead")
    assert caught.value.permanent
    assert not (home / "dead").exists()
    # A rejected key ends the run, too, and the rows are kept.
    server.faults = {"3": "wrong-key"}.get
    with pytest.raises(ModelFault, match="401") as caught:
        run(settings.changed({"concurrency": 1}), home / "run")
    assert KEY not in str(caught.value)
    assert [row["task_id"] for row in rows(home / "run")] == ["g1", "g2", "g2"]


def test_model_that_answered_one_worker_is_known_to_the_others(home, server):
    replied, retried, calls = threading.Event(), threading.Event(), Counter[str]()

    def fault(game):
        """Hold g2 in its first trial, after its first reply, until g1's worker has given up once."""
        calls[game] += 1
        if game == "2":
            if calls["2"] == 2:
                replied.set()
                assert retried.wait(100)
            return None
        assert replied.wait(100)
        if calls["1"] > 2:
            retried.set()
        return "500"

    server.faults = fault
    summary = run(guessing(server, 2, retries=2, concurrency=2, workers=2), home / "run")
    assert (summary.statuses["solved"], summary.statuses["fault"]) == (1, 1)


FATAL = '''
import os, time
from toys.guessing import Guessing

class Fatal(Guessing):
    """Ends its process if there is a driver, and leaves a forked child behind."""

    def start(self, task):
        if task["id"] == "g2":
            if os.fork() == 0:
                os.chdir("/")
                time.sleep(3)
            os._exit(7)
        return super().start(task)
'''


def test_repeatedly_dying_workers_end_the_run(home, server):
    (home / "toys" / "fatal.py").write_text(FATAL)
    settings = guessing(server, environment="toys.fatal:Fatal", workers=2, concurrency=2)
    with pytest.raises(WorkersLost, match="workers died in a row"):
        run(settings, home / "run")
    assert workers_in(home) == []


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({}, "need checkpoints"),
        ({"database": "postgresql://host/db", "lessons": "lessons.db"}, "lessons that every"),
        ({"database": "postgresql://host/db", "base_url": "http://me:word@host/v1"}, "get no password"),
    ],
)
def test_missing_requirements_of_ray_are_reported_before_the_run(tmp_path, changes, says):
    with pytest.raises(ConfigurationError, match=f"{says}|extra"):
        run(RunSettings(environment="alfworld", limit=1, ray_address="host:1", **changes), tmp_path / "run")
    assert not (tmp_path / "run").exists()
