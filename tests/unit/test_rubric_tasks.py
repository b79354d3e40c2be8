"""The tasks whose criteria two judges are measured with: what code decides, and that each task can be solved."""

import runpy
from pathlib import Path

import pytest

TASKS = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "experiments" / "rubric_tasks.py"))
JUDGED, SOLVED = TASKS["JUDGED"], TASKS["SOLVED"]


@pytest.mark.parametrize(
    ("make", "given", "good", "bad"),
    [
        ("at_most_words", (3,), "One two three.", "One two three four."),
        ("contains", ("12 May",), "It comes on 12 may.", "It comes on May 12."),
        ("lacks", ("!",), "Come.", "Come!"),
        ("begins_with", ("Dear Ms Lee,",), "\nDear Ms Lee,\nhello", "Hello, Dear Ms Lee,"),
        ("ends_with", ("?",), "Could you come? \n", "Could you come? Thanks."),
        ("has_lines", (2,), "a\n\nb\n", "a b"),
        ("has_sentences", (2,), "It costs 3.50 euros. Buy it!", "It costs 3.50 euros."),
        ("lines_begin_with", ("- ",), "- a\n- b", "Things:\n- a"),
        ("is_in_alphabetical_order", (), "- apples\n- Bread", "- bread\n- Apples"),
        ("lines_are_numbered", (), "1. a\n2. b", "1. a\n1. b"),
        ("has_short_lines", (3,), "1. Take it.\n2. Use it.", "1. Take it.\n2. Use it now."),
        ("is_in_capitals", (), "PAGES FOR ALL", "Pages FOR ALL"),
        ("has_number", ("2500", "metres"), "They are 2,500 metres.", "They are 25000 metres."),
        ("has_number", ("210", "minutes"), "210.0 minutes", "1210 minutes, or 210.5"),
        ("is_only_json", (), '{"age": 3}', '```json\n{"age": 3}\n```'),
        ("has_value", ("age", 3), 'Here: {"age": 3}', '{"age": "3"}'),
        ("has_value", ("name", "Bo"), '{"name": "Bo"}', "Bo"),
        ("has_columns", (3,), "a; b; c", "a; b"),
    ],
)
def test_a_check_accepts_a_good_answer_and_rejects_a_bad_one(make, given, good, bad):
    criterion = TASKS[make](*given)
    assert criterion.check(good)
    assert not criterion.check(bad)
    for value in given:
        assert str(value) in criterion.words


def test_each_task_can_be_solved_and_some_answer_fails_each_criterion():
    tasks = [*JUDGED, *SOLVED]
    others = [task.example for task in tasks]
    # The words of all criteria name all that an answer must not contain, in too many words, on one line.
    others.append(" ".join(criterion.words for task in tasks for criterion in task.criteria))
    for task in tasks:
        assert all(task.truth(task.example)), task.name
        for criterion in task.criteria:
            assert not all(criterion.check(other) for other in others), criterion.words


def test_the_tasks_to_judge_and_to_solve_are_others():
    assert (len(JUDGED), len(SOLVED)) == (45, 30)
    texts = {task.text for task in [*JUDGED, *SOLVED]}
    assert len(texts) == 75
    assert {len(task.criteria) for task in JUDGED} == {3, 4}
