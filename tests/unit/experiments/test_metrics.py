from langgraph_reflexion.lab.experiments import metrics
from tests.support.run_folders import row

FAULT = {"stop_reason": "fault", "fault": "gone"}


def answers(rows, trials):
    tasks = {row["task_id"]: [other for other in rows if other["task_id"] == row["task_id"]] for row in rows}
    return metrics.answers_by_trial(tasks.values(), trials)


def test_the_accepted_answer_counts_and_without_one_the_best_scored_the_latest_among_equals():
    rows = [row("a", 1, True), row("b", 1, False), row("b", 2, True), row("c", 1, False), row("c", 2, False)]
    assert metrics.solved_by_trial(answers(rows, 4)) == [1, 2, 2, 2]
    rows = [row("a", 1, True, False), row("a", 2, False, True)]
    assert metrics.solved_by_trial(answers(rows, 3)) == [1, 0, 0]
    scored = [(False, 0.2), (True, 0.7), (False, 0.7), (True, 0.1)]
    rows = [row("a", trial, right, False, score=score) for trial, (right, score) in enumerate(scored, 1)]
    assert metrics.solved_by_trial(answers(rows, 4)) == [0, 1, 0, 0]


def test_of_equals_an_answer_that_was_finished_is_returned_as_the_loop_does():
    rows = [row("a", 1, True, False, stop_reason="terminated"), row("a", 2, False, stop_reason="hallucination")]
    assert metrics.solved_by_trial(answers(rows, 2)) == [1, 1]


def test_a_truth_that_was_given_up_has_not_ended_its_task_on_a_budget():
    given_up = "truth: unknown, the truth had not ended when a budget of seconds was used up"
    assert not metrics.on_budget(row("a", 1, None, True, notes=[given_up]))
    assert metrics.on_budget(row("a", 1, None, True, notes=["task budget of 5 actions used up"]))


def test_measures_are_means_over_all_tasks_answered_or_not():
    rows = [row("a", 1, False, measures={"f1": 0.5}), row("a", 2, True, measures={"f1": 1.0})]
    rows.append(row("b", 1, False, True, measures={"f1": 0.25}))
    assert metrics.measures_by_trial(answers(rows, 2), 3) == {"f1": [0.25, 0.4167]}
    assert metrics.measures_by_trial([[row("a", 1, True)]], 1) == {}


def test_failures_are_counted_by_trial_and_reason_and_a_fault_is_not_a_wrong_answer():
    rows = [row("a", 1, False), row("a", 2, False, stop_reason="inefficient planning")]
    rows += [row("b", 1, False), row("b", 2, True), row("c", 1, None, **FAULT), row("d", 1, False, True)]
    rows += [row("e", 1, None, False), row("f", 1, None, stop_reason="budget")]
    first = {"fault": 1, "hallucination": 3, "wrong answer": 1}
    assert metrics.failures_by_trial(rows, 2) == [first, {"inefficient planning": 1}]


def test_verdicts_are_compared_with_the_truth_where_both_are_known():
    rows = [row("a", 1, True), row("b", 1, False, True), row("c", 1, True, False), row("d", 1, None)]
    counts = {"true_positive": 1, "false_negative": 1, "false_positive": 1, "true_negative": 0}
    assert metrics.confusion(rows) == counts


def test_rates_are_shares_of_the_same_verdict_as_in_the_papers_table():
    # HumanEval in Python: 142 of 144 accepted programs are right, and 8 of 20 rejected ones.
    counts = {"true_positive": 142, "false_positive": 2, "false_negative": 8, "true_negative": 12}
    rates = {"true_positive": 0.9861, "false_positive": 0.0139, "false_negative": 0.4, "true_negative": 0.6}
    assert metrics.confusion_rates(counts) == rates
    assert set(metrics.confusion_rates(dict.fromkeys(counts, 0)).values()) == {None}
