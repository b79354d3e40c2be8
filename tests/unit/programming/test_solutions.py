"""Files of solutions: how they are read, refused and counted. Nothing is run here."""

from itertools import combinations

import pytest

from langgraph_reflexion.envs.programming.solutions import Grades, ProblemGrade, grade_file
from langgraph_reflexion.errors import ConfigurationError
from tests.support.programming.graded import PROBLEMS, UNGRADABLE, write

RIGHT = {"task_id": "Mine/twice", "completion": "    return n + n\n"}


def graded(name, passed, failed):
    return ProblemGrade(name, (None,) * passed + ("it failed",) * failed)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
@pytest.mark.parametrize("passed", [0, 1, 3, 5])
def test_pass_at_k_is_the_share_of_choices_with_a_passing_sample(passed, k):
    grade = graded("a", passed, 5 - passed)
    chosen = list(combinations(grade.failures, k))
    assert grade.pass_at(k) == pytest.approx(sum(None in each for each in chosen) / len(chosen))


def test_rates_are_means_over_problems():
    grades = Grades((graded("a", 1, 0), graded("b", 0, 3)))
    assert (grades.n, grades.c, grades.pass_at()) == (4, 1, 0.5)
    assert grades.rates() == {"pass@1": 0.5}


def test_a_rate_needs_enough_samples_of_every_problem():
    grades = Grades((graded("a", 5, 5), graded("b", 0, 12)))
    assert list(grades.rates()) == ["pass@1", "pass@10"]
    with pytest.raises(ValueError, match="pass@11 needs 11 samples, but a has 10"):
        grades.pass_at(11)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"completion": "x"}, "line 2: a solution names its problem in 'task_id'"),
        ({"task_id": True, "completion": "x"}, "line 2: a solution names its problem in 'task_id'"),
        (
            {"task_id": "Mine/twise", "completion": "x"},
            r"line 2: .* no problem 'Mine/twise' \(did you mean Mine/twice",
        ),
        ({"task_id": "Mine/next"}, "line 2: a solution has its program in one of 'solution', 'completion'"),
        ({"task_id": "Mine/next", "completion": None}, "line 2: a solution has its program in one of"),
        ({"task_id": "Mine/next", "completion": ["x"]}, "line 2: 'completion' is not a text"),
        ({"task_id": "Mine/next", "samples": "x"}, "line 2: 'samples' is not a list of texts"),
        ({"task_id": "Mine/next", "samples": [1]}, "line 2: 'samples' is not a list of texts"),
        ("Mine/next", "line 2: expected a JSON object, found str"),
    ],
)
def test_a_wrong_row_is_named(row, said, tmp_path):
    problems = write(tmp_path / "problems.jsonl", PROBLEMS)
    with pytest.raises(ConfigurationError, match=said):
        grade_file(problems, write(tmp_path / "solutions.jsonl", [RIGHT, row]))


def test_problems_without_a_solution_are_refused(tmp_path):
    problems = write(tmp_path / "problems.jsonl", [*PROBLEMS, UNGRADABLE])
    with pytest.raises(ConfigurationError, match=r"no solution of 1 problem \(Mine/next\): .*--ignore-incomplete"):
        grade_file(problems, write(tmp_path / "solutions.jsonl", [RIGHT]))


@pytest.mark.parametrize("rows", [[], [{"task_id": "leet", "completion": "return 1"}]])
def test_a_file_without_solutions_that_can_be_graded_is_refused(rows, tmp_path):
    problems = write(tmp_path / "problems.jsonl", [*PROBLEMS, UNGRADABLE])
    with pytest.raises(ConfigurationError, match="has no solution"):
        grade_file(problems, write(tmp_path / "solutions.jsonl", rows), ignore_incomplete=True)
