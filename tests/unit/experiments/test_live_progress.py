import io

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from langgraph_reflexion.lab.experiments.live_lines import headline
from langgraph_reflexion.lab.experiments.matrix import RunOutcome
from langgraph_reflexion.lab.experiments.progress import ExperimentProgress, LiveProgress
from tests.support.run_folders import row


@pytest.fixture
def progress(tmp_path):
    """Watch a run of 100 tasks that has begun, in a terminal."""
    return begun(LiveProgress, tmp_path)


def begun(kind, folder, **more):
    made = kind(Console(file=io.StringIO(), force_terminal=True), hidden=False, **more)
    made.on_start(folder, 100, 4, "")
    return made


def lines(progress, width=80, height=24):
    """Return what a terminal of this size shows, without blanks at the ends."""
    out = io.StringIO()
    Console(file=out, width=width, height=height).print(progress, end="")
    return [line.rstrip() for line in out.getvalue().splitlines()]


def act(progress, task, number, text):
    action = {"name": "do", "args": {}, "text": text}
    progress.on_action(task, {"number": number, "thought": "", "action": action, "observation": ""})


PARTS = {
    "count": Text("tasks 3/100"),
    "bar": Text("━━━───────"),
    "elapsed": Text("0:01:32"),
    "left": Text("0:02:10 left"),
    "solved": Text("solved 3"),
    "tokens": Text("773.1k tokens"),
    "actions": Text("434 actions"),
}
"""The parts of a headline that had no room for the count in 80 columns."""


@pytest.mark.parametrize(
    ("width", "line"),
    [
        (120, "tasks 3/100 · ━━━─────── · 0:01:32 · 0:02:10 left · solved 3 · 773.1k tokens · 434 actions"),
        (80, "tasks 3/100 · 0:01:32 · 0:02:10 left · solved 3 · 773.1k tokens · 434 actions"),
        (75, "tasks 3/100 · 0:02:10 left · solved 3 · 773.1k tokens · 434 actions"),
        (60, "tasks 3/100 · 0:02:10 left · solved 3 · 773.1k tokens"),
        (24, "tasks 3/100 · solved 3"),
        (11, "tasks 3/100"),
    ],
)
def test_a_headline_gives_way_from_the_bar_on_and_never_at_the_count(width, line):
    assert headline(PARTS, width).plain == line


def test_each_task_in_flight_has_a_row_in_80_columns(progress):
    progress.on_trial_start("generated-134/s0/000-clean-kitchen", 1)
    act(progress, "generated-134/s0/000-clean-kitchen", 12, "go to countertop 1")
    progress.on_trial(row("generated-134/s0/000-clean-kitchen", 1, False), finished=False)
    progress.on_trial_start("generated-134/s0/000-clean-kitchen", 2)
    progress.on_trial_start("short", 1)
    act(progress, "short", 1, "open drawer 4")
    assert lines(progress) == [
        "tasks 0/100 · ────────── · 0:00:00 · solved 0 · 1.0k tokens · 2 actions",
        "…-clean-kitchen  trial 2 of 4                            failed: hallucination",
        "short            trial 1 of 4  1 > open drawer 4",
    ]


def test_a_task_that_has_ended_has_no_row(progress):
    for task in ("solved", "broken", "left"):
        progress.on_trial_start(task, 1)
    progress.on_trial(row("solved", 1, True), finished=True)
    progress.on_error("broken", "ValueError: no")
    [head, left] = lines(progress)
    assert head.startswith("tasks 2/100 · ")
    assert head.endswith("solved 1 · 1.0k tokens · 0 actions · 1 error")
    assert left.startswith("left ")


def test_a_task_has_no_row_while_its_next_trial_waits_for_those_of_others(progress):
    progress.on_trial_start("a", 1)
    progress.on_trial(row("a", 1, False), finished=False)
    assert len(lines(progress)) == 1
    progress.on_trial_start("a", 2)
    assert "failed: hallucination" in lines(progress)[1]


def test_rows_are_as_many_as_fit_the_terminal(progress):
    for number in range(200):
        progress.on_trial_start(f"t{number}", 1)
    shown = lines(progress, height=10)
    assert len(shown) == 9
    assert shown[-1] == "and 193 more"
    assert shown[-2].startswith("t6 ")
    assert len(lines(progress, height=2)) == 1


def test_texts_of_models_change_neither_the_terminal_nor_the_columns(progress):
    progress.on_trial_start("[red]任务" * 20, 1)
    act(progress, "[red]任务" * 20, 1, "[bold]say\x1b[31m\n\u202enow" + "x" * 1_000_000)
    progress.on_wait("a server [link=file:///etc]says\x1b]0;title\x07")
    _, waits, shown = lines(progress, width=100)
    assert waits == "a server [link=file:///etc]says␛]0;title␇"
    assert "1 > [bold]say␛[31m \\u202enowxx" in shown
    assert cell_len(shown) <= 100


@pytest.mark.parametrize(
    ("trial", "words"),
    [
        ({"stop_reason": "terminated"}, "failed: wrong answer"),
        ({"stop_reason": "terminated", "success": None}, "not accepted"),
        ({"success": True}, "not accepted"),
    ],
    ids=["known to be wrong", "truth unknown", "wrong verdict"],
)
def test_the_last_verdict_says_no_more_than_is_known(progress, trial, words):
    progress.on_trial(row("a", 1, False) | trial, finished=False)
    progress.on_trial_start("a", 2)
    assert lines(progress)[1].endswith(f"  {words}")


def test_an_experiment_has_a_headline_of_its_runs_above_that_of_the_run(tmp_path):
    progress = begun(ExperimentProgress, tmp_path, runs=4)
    progress.on_run("alfworld-retry")
    progress.on_trial_start("a", 1)
    assert [line.split(" · ")[0] for line in lines(progress)[:2]] == ["runs 0/4", "tasks 0/100"]
    assert "alfworld-retry" in lines(progress, width=30)[0]
    progress.on_outcome(RunOutcome("alfworld-retry", tmp_path, "finished"))
    [of_runs, of_run] = lines(progress)
    assert of_runs.startswith("runs 1/4 · ━━─")
    assert of_run.startswith("starting: ")
