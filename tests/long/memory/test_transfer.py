"""The experiment on lessons: they help with unseen tasks in rooms that were met, and other worlds' lessons do not."""

import asyncio

import pytest
from langgraph.store.memory import InMemoryStore

from langgraph_reflexion.memory.records import LessonSource
from langgraph_reflexion.memory.store import LessonStore
from tests.performance.memory_transfer import Transfer, difference, exact, measure, swapped, table


@pytest.mark.parametrize(("environment", "limit"), [("alfworld", 12), ("hotpotqa", 24)])
def test_lessons_raise_first_trial_success_on_unseen_tasks_and_swapped_ones_do_not(environment, limit):
    result = asyncio.run(measure(environment, seeds=2, limit=limit))
    helped, fooled = result.pair("with", "without"), result.pair("swapped", "without")
    assert helped.gain > 0.1
    assert helped.only_first >= 6 * helped.only_second
    assert helped.p < 0.05
    assert abs(fooled.gain) < helped.gain / 2
    assert helped.worlds == (2, 0), "another seed keeps it"
    solved = sum(result.solved["with"].values())
    assert f"with     {solved:>4} of {2 * limit}  {solved / (2 * limit):>6.1%}" in table(environment, result)


def test_the_intervals_are_exact():
    # Clopper and Pearson's by hand: 0 of n ends at 1 - 0.025^(1/n), 9 of 10 begins at 0.555.
    assert exact(0, 10).high == pytest.approx(1 - 0.025**0.1)
    assert exact(9, 10) == pytest.approx((0.5550, 0.9975), abs=1e-4)
    low, high = difference(0, 0, 240)
    assert low == pytest.approx(-(1 - 0.0125 ** (1 / 240)))
    assert high == -low


def test_pairs_are_counted_task_by_task():
    one = {f"t{n}": n < 9 for n in range(12)}
    other = {f"t{n}": n == 10 for n in range(12)}
    pair = Transfer({"with": one, "without": other}, {f"t{n}": n // 6 for n in range(12)}, 0).pair("with", "without")
    assert (pair.only_first, pair.only_second, pair.worlds) == (9, 1, (2, 0))
    assert pair.p == pytest.approx(22 / 1024)
    assert pair.gain == pytest.approx(8 / 12)
    assert pair.interval == difference(9, 1, 12)


async def test_swapping_keeps_what_lessons_are_found_by_and_changes_what_they_say():
    stores = InMemoryStore(), InMemoryStore()
    for store, text in zip(stores, ("The key is under the mat", "The cat sat on the mat"), strict=True):
        await LessonStore(store, "house").add([LessonSource(text=text, instruction=f"task of {text}", task="t")])
    [lesson] = (await LessonStore(await swapped("house", *stores), "house").snapshot()).lessons.values()
    assert lesson.text == "The cat sat on the mat"
    assert lesson.about.startswith("task of The key is under the mat")
