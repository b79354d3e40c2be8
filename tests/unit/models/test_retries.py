import time

import pytest

from langgraph_reflexion.errors import EnvironmentFault, Fault
from langgraph_reflexion.support.retries import WAITING, Retries


def failing(*faults):
    """An attempt that fails in these ways, and succeeds after that; the times at which it was made."""
    left, times = list(faults), []

    async def attempt():
        times.append(time.monotonic())
        if left:
            raise left.pop(0)
        return "done"

    return attempt, times


def busy(**said):
    return EnvironmentFault("the wiki is busy", **said)


async def test_it_tries_until_it_succeeds_or_was_tried_often_enough():
    attempt, times = failing(busy(), busy())
    assert (await Retries(3, first_wait=0.01)(attempt), len(times)) == ("done", 3)
    attempt, times = failing(busy(), last := busy(), busy())
    with pytest.raises(Fault) as caught:
        await Retries(2, first_wait=0.01)(attempt)
    assert (caught.value, len(times)) == (last, 2)


@pytest.mark.parametrize(
    "error",
    [busy(transient=False), busy(retry_after=0.2), ZeroDivisionError()],
    ids=["permanent", "asks for too much patience", "a bug"],
)
async def test_what_is_not_worth_trying_again_is_raised_at_once(error):
    attempt, times = failing(error)
    with pytest.raises(type(error)) as caught:
        await Retries(5, first_wait=0.01, longest_wait=0.1)(attempt)
    assert (caught.value, len(times)) == (error, 1)


async def test_it_waits_for_as_long_as_it_is_asked_to():
    attempt, times = failing(busy(retry_after=0.1))
    await Retries(2, first_wait=0.0)(attempt)
    assert 0.09 < times[1] - times[0] < 5


@pytest.mark.slow
async def test_waits_double_with_jitter_up_to_the_longest(caplog):
    waits = []
    for _ in range(3):
        caplog.clear()
        attempt, _ = failing(*[busy()] * 5)
        with caplog.at_level("INFO", logger=WAITING.name):
            await Retries(6, first_wait=0.02, longest_wait=0.09)(attempt)
        first, second, third, *rest = (record.args[2] for record in caplog.records)
        assert 0.02 <= first <= 0.04 <= second <= 0.06
        assert 0.08 <= third <= 0.09
        assert rest == [0.09, 0.09]
        waits.append(first)
    assert len({*waits}) == 3
