"""The garbage collector during a sweep, and after it."""

import gc

import pytest

from langgraph_reflexion.bench.garbage import RARELY, rare_collections
from langgraph_reflexion.bench.settings import SweepSettings
from langgraph_reflexion.bench.sweep import Unobserved, run_sweep


@pytest.fixture(autouse=True)
def usual():
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


def test_what_is_there_is_not_looked_at_and_the_rest_rarely():
    gc.set_threshold(700, 10, 10)
    with rare_collections():
        assert gc.get_freeze_count() > 10_000
        assert gc.get_threshold() == (RARELY, 10, 10)
        with rare_collections():
            pass
        # Another sweep goes on.
        assert gc.get_freeze_count() > 10_000
        assert gc.get_threshold() == (RARELY, 10, 10)
    assert gc.get_freeze_count() == 0
    assert gc.get_threshold() == (700, 10, 10)


def test_of_two_that_overlap_the_last_one_puts_it_back():
    gc.set_threshold(700, 10, 10)
    first, second = rare_collections(), rare_collections()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert gc.get_threshold() == (RARELY, 10, 10)
    second.__exit__(None, None, None)
    assert gc.get_threshold() == (700, 10, 10)


def test_what_somebody_else_has_frozen_stays_so():
    gc.freeze()
    with rare_collections():
        pass
    assert gc.get_freeze_count() > 0


@pytest.mark.parametrize("threshold", [0, 10 * RARELY])
def test_who_has_said_how_often_is_heard(threshold):
    gc.set_threshold(threshold, 10, 10)
    with rare_collections():
        assert gc.get_threshold() == (threshold, 10, 10)


async def test_a_sweep_has_it_so(tmp_path):
    gc.set_threshold(700, 10, 10)
    seen = []

    class Looks(Unobserved):
        def on_action(self):
            seen.append(gc.get_threshold()[0])

    await run_sweep(SweepSettings("alfworld", limit=1, trials=1), tmp_path / "run", Looks())
    assert set(seen) == {RARELY}
    assert gc.get_threshold() == (700, 10, 10)
