import pytest

from langgraph_reflexion.experiments.statistics import Interval, interval, sign_test, wilson


@pytest.mark.parametrize(
    ("solved", "tasks", "low", "high"),
    # Newcombe 1998, "Two-sided confidence intervals for the single proportion", Table I, method 3.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_intervals_are_the_published_ones(solved: int, tasks: int, low: float, high: float) -> None:
    assert wilson(solved, tasks) == pytest.approx((low, high), abs=0.00005)
    by_task = {str(task): [task < solved] for task in range(tasks)}
    assert interval(by_task) == pytest.approx((low, high), abs=0.00005)


def test_intervals_are_those_of_scipy() -> None:
    from scipy.stats import binomtest

    for solved, tasks in ((97, 134), (134, 134), (1, 3)):
        expected = binomtest(solved, tasks).proportion_ci(method="wilson")
        assert wilson(solved, tasks) == pytest.approx((expected.low, expected.high))


@pytest.mark.parametrize(
    ("wins", "losses", "p"),
    # Exact two-sided sign tests: 22/1024, 2 * (1 + 12 + 66) / 4096, and the value that statsmodels gives McNemar's.
    [(9, 1, 0.021484375), (2, 10, 158 / 4096), (2, 30, 2.463e-7), (5, 5, 1.0), (0, 0, 1.0)],
)
def test_the_sign_test_gives_known_values(wins: int, losses: int, p: float) -> None:
    test = sign_test([1] * wins + [-1] * losses + [0] * 50)
    assert (test.wins, test.losses) == (wins, losses)
    assert test.p == pytest.approx(p, rel=1e-3)
    assert test.shown == (p < 0.05)


def test_a_task_votes_once_however_many_seeds_it_was_run_under() -> None:
    assert sign_test([3, -1, 0]) == sign_test([1, -2, 0])


def test_repeats_of_the_same_tasks_make_nothing_surer() -> None:
    once = {str(task): [task < 30] for task in range(40)}
    alike = {task: solved * 5 for task, solved in once.items()}
    assert interval(alike) == pytest.approx(interval(once))


def test_repeats_that_differ_make_it_surer_up_to_as_many_answers() -> None:
    mixed = {str(task): [True, True, False, True] for task in range(40)}
    assert interval(mixed) == pytest.approx(wilson(120, 160))
    partly = {str(task): [task < 30, task < 20] for task in range(40)}
    low, high = interval(partly) or Interval(0, 0)
    assert wilson(50, 80).low > low > wilson(25, 40).low
    assert wilson(50, 80).high < high < wilson(25, 40).high


def test_when_all_is_solved_the_tasks_count() -> None:
    assert interval({str(task): [True] * 9 for task in range(20)}) == pytest.approx(wilson(20, 20))


def test_without_tasks_there_is_no_interval() -> None:
    assert interval({}) is None
