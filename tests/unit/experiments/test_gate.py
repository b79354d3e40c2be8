import pytest

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.lab.experiments.gate import Gate, read_baseline
from langgraph_reflexion.lab.experiments.runs import read_run
from tests.support.run_folders import folder, row

TASKS = [f"t{number}" for number in range(10)]
FAULT = {"stop_reason": "fault", "fault": "gone"}


def solving(path, solved, tasks=TASKS, **settings):
    """Write a run of one trial that solves the first tasks, a number of them."""
    rows = [row(task, 1, number < solved) for number, task in enumerate(tasks)]
    return folder(path, rows, list(tasks), max_trials=1, **settings)


def complaints(gate, *folders):
    return gate.complaints([read_run(each) for each in folders])


def test_runs_pass_at_the_share_itself_and_fail_below_it(tmp_path):
    run = solving(tmp_path / "run", 8)
    assert complaints(Gate(0.8), run) == []
    assert complaints(Gate(0.81), run) == ["run solved 8 of 10 tasks (80.0%), which is below 0.81"]


def test_a_task_that_a_fault_or_an_error_has_ended_is_not_solved(tmp_path):
    # Its first trial was right by the truth, and only the evaluator did not accept it.
    rows = [row("a", 1, True, False), row("a", 2, None, **FAULT), row("b", 1, True)]
    faulted = folder(tmp_path / "fault", rows, ["a", "b"], evaluator="llm")
    assert complaints(Gate(0.6), faulted) == ["fault solved 1 of 2 tasks (50.0%), which is below 0.6"]
    never_answered = folder(tmp_path / "none", [row("b", 1, True)], ["a", "b"])
    assert "1 of 2 tasks" in complaints(Gate(0.6), never_answered)[0]


def test_without_a_task_that_can_be_graded_no_run_passes(tmp_path):
    empty = folder(tmp_path / "empty", [], [])
    ungradable = folder(tmp_path / "ungradable", [row("a", 1, None, True, gradable=False)], ["a"])
    for run in (empty, ungradable):
        assert complaints(Gate(0.0), run) == [f"{run.name} has no task that can be graded"]
    assert Gate(0.0).complaints([]) == ["there is no run"]


def test_seeds_are_judged_together_and_strategies_each_by_itself(tmp_path):
    runs = [solving(tmp_path / f"game-s{seed}", solved, seed=seed) for seed, solved in enumerate((10, 6))]
    runs.append(solving(tmp_path / "other-s0", 5, strategy="retry"))
    assert complaints(Gate(0.8), *runs) == ["other solved 5 of 10 tasks (50.0%), which is below 0.8"]


def test_a_run_that_has_not_begun_some_tasks_is_not_compared(tmp_path):
    gate = Gate(baseline=read_baseline(solving(tmp_path / "before", 10, strategy="retry")))
    cut_short = folder(tmp_path / "now", [row(task, 1, True) for task in TASKS[:2]], TASKS, max_trials=1)
    (why,) = complaints(gate, cut_short)
    assert "8 tasks of it have not begun" in why


@pytest.mark.parametrize("share", [-0.1, 80.0, float("nan")])
def test_a_share_that_is_none_is_refused(share):
    with pytest.raises(ConfigurationError, match="from 0 to 1"):
        Gate(share)


def test_a_run_is_worse_from_a_significant_difference_on(tmp_path):
    gate = Gate(baseline=read_baseline(solving(tmp_path / "before", 9, strategy="retry")))
    assert complaints(gate, solving(tmp_path / "five-fewer", 4)) == [], "five tasks of ten: p = 0.06"
    (why,) = complaints(gate, solving(tmp_path / "six-fewer", 3))
    before = tmp_path / "before"
    assert why == f"six-fewer is worse than {before}: 3 and 9 of 10 tasks solved within 1 trial (p = 0.031)"
    assert complaints(gate, solving(tmp_path / "better", 10)) == []


def test_a_significantly_better_run_passes(tmp_path):
    gate = Gate(baseline=read_baseline(solving(tmp_path / "before", 0, strategy="retry")))
    assert complaints(gate, solving(tmp_path / "now", 10)) == []


def test_the_same_settings_before_and_now_are_compared(tmp_path):
    gate = Gate(baseline=read_baseline(solving(tmp_path / "before", 10)))
    assert "is worse than" in complaints(gate, solving(tmp_path / "now", 0))[0]


def test_runs_that_cannot_be_compared_do_not_pass(tmp_path):
    gate = Gate(baseline=read_baseline(solving(tmp_path / "before", 9, strategy="retry")))
    others = solving(tmp_path / "others", 10, tasks=["x", "y"])
    assert "cannot be compared" in complaints(gate, others)[0]
    all_faults = folder(tmp_path / "faults", [row(task, 1, None, **FAULT) for task in TASKS], TASKS, max_trials=1)
    assert "10 tasks left out because of a fault" in complaints(gate, all_faults)[0]


def test_a_baseline_is_one_run_or_its_seeds(tmp_path):
    for seed in range(2):
        solving(tmp_path / "seeds" / f"game-s{seed}", 9, seed=seed)
    assert len(read_baseline(tmp_path / "seeds").runs) == 2
    solving(tmp_path / "seeds" / "other-s0", 9, strategy="retry")
    with pytest.raises(ConfigurationError, match=r"name one of .*other-s0"):
        read_baseline(tmp_path / "seeds")
    with pytest.raises(ConfigurationError, match="holds no run"):
        read_baseline(tmp_path / "nothing")


@pytest.mark.parametrize("last", [{}, FAULT])
def test_a_task_without_an_end_does_not_shorten_the_comparison(tmp_path, last):
    # Nine were solved at once, and would not have been tried again, whatever became of the tenth.
    rows = [row(task, 1, True) for task in TASKS[:9]]
    if last:
        rows.append(row(TASKS[9], 1, None, **last))
    before = folder(tmp_path / "before", rows, TASKS, max_trials=3, strategy="retry")
    rows = [row(task, trial, trial == 2) for task in TASKS for trial in (1, 2)]
    now = folder(tmp_path / "now", rows, TASKS, max_trials=3)
    assert complaints(Gate(baseline=read_baseline(before)), now) == []


def test_a_blank_strategy_of_a_folder_from_elsewhere_has_a_name(tmp_path):
    before = read_baseline(solving(tmp_path / "before", 9, strategy=" "))
    assert before.name
