"""The tasks of docs/experiments/late_tasks.py: rules that no task states."""

import runpy
from pathlib import Path

import pytest

TASKS = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "experiments" / "late_tasks.py"))
FAMILIES = TASKS["FAMILIES"]


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_each_task_has_a_right_answer_which_is_accepted_in_a_block_of_code_too(family):
    for task in TASKS["tasks_of"](family, seed=1):
        assert task.correction(task.example) == ""
        assert task.correction(f"Here it is:\n```\n{task.example}\n```") == ""


@pytest.mark.parametrize("family", FAMILIES)
def test_half_of_the_tasks_need_a_rule_that_they_do_not_state(family):
    tasks = TASKS["tasks_of"](family, seed=1)
    ruled = [task for task in tasks if task.rule]
    assert len(ruled) * 2 == len(tasks)
    for task in ruled:
        assert task.rule not in task.text


@pytest.mark.parametrize("family", FAMILIES)
def test_no_task_is_played_twice_and_the_halves_have_the_same_rules(family):
    tasks = TASKS["tasks_of"](family, seed=1)
    assert len({task.text for task in tasks}) == len(tasks)
    half = TASKS["PER_FAMILY"] // 2
    assert {task.rule for task in tasks[:half]} == {task.rule for task in tasks[half:]}


def test_a_person_says_the_rule_and_what_came():
    task = next(each for each in TASKS["tasks_of"]("tickets", seed=1) if each.rule)
    assert task.correction("praise and more") == f"{task.rule} wanted: {task.example} / got: praise and more"


@pytest.mark.parametrize("query", ["DROP TABLE orders", "no query", "ATTACH 'x.db' AS x", "SELECT 1; SELECT 2"])
def test_a_query_that_does_more_than_read_is_wrong_and_does_nothing(query):
    task = TASKS["tasks_of"]("reports", seed=1)[0]
    assert "the error" in task.correction(query)


def test_a_query_without_an_end_is_stopped():
    task = TASKS["tasks_of"]("reports", seed=1)[0]
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n"
    assert "the error" in task.correction(endless)
