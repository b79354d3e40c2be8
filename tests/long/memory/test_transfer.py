"""The experiment on lessons: they help with unseen tasks in rooms that were met, and other worlds' lessons do not."""

import asyncio
import json
from functools import cache

import pytest
from langgraph.store.memory import InMemoryStore

from langgraph_reflexion import load_environment
from langgraph_reflexion.memory.records import LessonSource
from langgraph_reflexion.memory.store import LessonStore
from tests.performance.memory_transfer import (
    ARMS,
    SPLITS,
    Settings,
    Transfer,
    as_json,
    difference,
    exact,
    main,
    measure,
    swapped,
    table,
)

pytest.importorskip("scipy")

LIMITS = {"alfworld": 16, "hotpotqa": 24}


@cache
def measured(environment):
    return asyncio.run(measure(Settings(environment, seeds=2, limit=LIMITS[environment])))


@pytest.mark.long
@pytest.mark.parametrize("environment", SPLITS)
def test_lessons_raise_first_trial_success_on_unseen_tasks_and_swapped_ones_do_not(environment):
    result = measured(environment)
    helped, fooled = result.pair("with", "without"), result.pair("swapped", "without")
    assert helped.gain > 0.1
    assert helped.only_first >= 6 * helped.only_second
    assert helped.p < 0.05
    assert abs(fooled.gain) < helped.gain / 2
    assert result.pair("with", "swapped").gain > 0.1
    assert helped.worlds == (2, 0), "another seed keeps it"
    assert len(result.world) == 2 * LIMITS[environment]


@pytest.mark.parametrize("environment", SPLITS)
def test_no_test_task_was_trained_on(environment):
    for seed in range(3):
        played = load_environment(environment, seed=seed)
        train, test = (played.tasks(split) for split in SPLITS[environment])
        assert not {task["id"] for task in train} & {task["id"] for task in test}
        openings = [{played.start(task).observation for task in tasks} for tasks in (train, test)]
        assert not openings[0] & openings[1]
        played.close()


@pytest.mark.long
def test_the_result_in_words_and_in_json():
    result = measured("hotpotqa")
    told = table(result)
    assert told.startswith("hotpotqa, demo: first trials of unseen tasks, 2 worlds, ")
    solved, tasks, at = result.share("with")
    assert f"with     {solved:>4} of {tasks}  {solved / tasks:>6.1%}  ({at.low:.1%} to {at.high:.1%})" in told
    whole = json.loads(json.dumps(as_json(result)))
    assert set(whole["arms"]) == set(ARMS)
    assert whole["pairs"]["with - without"]["gain"] == result.pair("with", "without").gain


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
    world = {f"t{n}": n // 6 for n in range(12)}
    pair = Transfer(Settings("alfworld"), {"with": one, "without": other}, world, 0).pair("with", "without")
    assert (pair.only_first, pair.only_second, pair.worlds) == (9, 1, (2, 0))
    assert pair.p == pytest.approx(22 / 1024)
    assert pair.gain == pytest.approx(8 / 12)
    assert pair.interval == difference(9, 1, 12)
    assert pair.interval.low < pair.gain < pair.interval.high


def test_swapping_keeps_what_lessons_are_found_by_and_changes_what_they_say():
    async def swap():
        stores = InMemoryStore(), InMemoryStore()
        for store, text in zip(stores, ("The key is under the mat", "The cat sat on the mat"), strict=True):
            about = {"instruction": f"task of {text}", "outcome": "failure", "task": "t", "trial": 1, "date": "2026"}
            await LessonStore(store, "house").learn(LessonSource(text=text, **about), "name")
        return await LessonStore(await swapped("house", *stores), "house").snapshot()

    [lesson] = asyncio.run(swap()).lessons.values()
    assert lesson.text == "The cat sat on the mat"
    assert lesson.about.startswith("task of The key is under the mat")


def test_one_world_alone_cannot_be_swapped(capsys):
    with pytest.raises(SystemExit):
        main(["--seeds", "1"])
    assert "at least two worlds" in capsys.readouterr().err
