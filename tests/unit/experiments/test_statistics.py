from random import Random

import pytest

from langgraph_reflexion.lab.experiments.statistics import Interval, interval, sign_test, tasks_needed, wilson


@pytest.mark.parametrize(
    ("solved", "tasks", "low", "high"),
    # Newcombe 1998, "Two-sided confidence intervals for the single proportion", Table I, method 3.
    [(81, 263, 0.2553, 0.3662), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_intervals_are_the_published_ones(solved, tasks, low, high):
    assert wilson(solved, tasks) == pytest.approx((low, high), abs=0.00005)
    by_task = {str(task): [task < solved] for task in range(tasks)}
    assert interval(by_task) == pytest.approx((low, high), abs=0.00005)
    assert interval({}) is None


@pytest.mark.parametrize(
    ("wins", "losses", "p"),
    # Exact two-sided sign tests: 22/1024, 2 * (1 + 12 + 66) / 4096, and statsmodels' value of McNemar's.
    [(9, 1, 0.021484375), (2, 30, 2.463e-7), (0, 0, 1.0)],
)
def test_the_sign_test_gives_known_values(wins, losses, p):
    test = sign_test([1] * wins + [-1] * losses + [0] * 50)
    assert (test.wins, test.losses, test.tasks) == (wins, losses, wins + losses + 50)
    assert test.p == pytest.approx(p, rel=1e-3)
    assert test.significant == (p < 0.05)


def test_repeated_tasks_narrow_the_interval_only_where_they_differ():
    once = {str(task): [task < 30] for task in range(40)}
    assert interval({task: solved * 5 for task, solved in once.items()}) == pytest.approx(interval(once))
    mixed = {str(task): [True, True, False, True] for task in range(40)}
    assert interval(mixed) == pytest.approx(wilson(120, 160))
    low, high = interval({str(task): [task < 30, task < 20] for task in range(40)}) or Interval(0, 0)
    assert wilson(50, 80).low > low > wilson(25, 40).low
    assert wilson(50, 80).high < high < wilson(25, 40).high
    assert interval({str(task): [True] * 9 for task in range(20)}) == pytest.approx(wilson(20, 20))


@pytest.mark.parametrize(("gained", "lost"), [(0.3, 0), (0.3, 0.1), (0.15, 0.05)])
def test_as_many_tasks_as_are_needed_find_a_difference_in_four_of_five_comparisons(gained, lost):
    tasks = tasks_needed(gained, lost)
    random = Random(1)
    found = 0
    for _ in range(500):
        draws = [random.random() for _ in range(tasks)]
        test = sign_test([(draw < gained) - (gained <= draw < gained + lost) for draw in draws])
        found += test.significant and test.wins > test.losses
    assert found / 500 == pytest.approx(0.8, abs=0.05)


def test_six_tasks_are_the_fewest_that_can_show_a_difference():
    assert tasks_needed(1.0, 0.0, power=0.99) == 6


@pytest.mark.slow
@pytest.mark.parametrize(("gained", "lost", "said"), [(0.1, 0.1, "0.1"), (0.8, 0.3, "0.8"), (0.11, 0.1, "1 points")])
def test_shares_without_a_number_of_tasks_are_refused(gained, lost, said):
    with pytest.raises(ValueError, match=said):
        tasks_needed(gained, lost)
