"""Bugs in evaluators, heuristics and environments: each ends one task, which resuming tries again."""

import io
import json

import pytest
from rich.console import Console

from langgraph_reflexion.envs.base import Review
from langgraph_reflexion.experiments.comparison import compare
from langgraph_reflexion.experiments.progress import LiveProgress
from langgraph_reflexion.experiments.record import read_run
from tests.loop.experiments.test_resume import think_first
from tests.support.cli import KEY, GuessingServer, call, make_home, run_args
from tests.support.guessing import Guessing, drive_all, rows, timeless


class Reviewed(Guessing):
    """Divides by zero when it reviews one of the games."""

    def review(self, task, trial):
        return Review(measures={"luck": 1 / (task["data"]["number"] - 2)})


def miscounting(task, trajectory):
    return len(5) == 3


def raising(trajectory):
    raise NameError("name 'reason' is not defined")


ALL = ["g1", "g2", "g3", "g4"]


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


class Stop(BaseException):
    """Raised by a test runner or a timeout, say: no `Exception`."""


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
