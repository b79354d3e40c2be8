"""The measurement itself, small: that it runs a real sweep, counts what it says, and comes near the ideal."""

import asyncio
import json
import os
import subprocess
import sys
from itertools import pairwise

import pytest
from langsmith.run_helpers import tracing_context
from langsmith.utils import tracing_is_enabled

from langgraph_reflexion.bench.slots import PACE, Slots
from langgraph_reflexion.bench.tracing import tracing_as_asked


@pytest.mark.long
def test_a_small_measurement_has_every_column():
    # In a process of its own: the actor that it measures with is not to be known to other tests.
    command = [sys.executable, "-m", "langgraph_reflexion.bench.throughput", "--json", "--repeats", "1"]
    small = ["--case", "8x2", "--steps", "3", "--latency", "0.1"]
    done = subprocess.run([*command, *small], capture_output=True, text=True, timeout=110, env=os.environ)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    measured = json.loads(done.stdout)
    assert list(measured) == ["8x2"]
    case = measured["8x2"]
    for way in (case["sweep"], case["bare"]):
        # Nothing is faster than the model; how much slower depends on what else the machine does.
        assert 1 < way["run"] < 20
        assert way["cpu"] > 0
    assert case["cpu_ratio"] == pytest.approx(case["sweep"]["cpu"] / case["bare"]["cpu"])


async def test_slots_open_one_after_another_and_in_order():
    slots, began = Slots(4), []

    async def run(number):
        async with slots:
            began.append((number, asyncio.get_running_loop().time()))
            await asyncio.sleep(0.05)

    await asyncio.gather(*(run(number) for number in range(8)))
    numbers, times = zip(*began, strict=True)
    assert numbers == tuple(range(8))
    assert all(later - earlier > 0.9 * PACE for earlier, later in pairwise(times))
    assert times[4] - times[0] >= 0.05


async def test_a_slot_that_is_not_waited_for_any_longer_is_free_again():
    slots = Slots(1)
    async with slots:
        waiting = asyncio.ensure_future(slots.__aenter__())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    async with asyncio.timeout(1):
        async with slots:
            leaving = asyncio.ensure_future(slots.__aenter__())
        await asyncio.sleep(0)
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
        async with slots:
            pass


def test_tracing_is_off_unless_it_was_asked_for(caplog):
    with tracing_as_asked(), tracing_context(parent=None):
        assert tracing_is_enabled() is False
    assert caplog.messages == []
    with tracing_context(enabled=True), tracing_as_asked():
        assert tracing_is_enabled() is True
    assert "LANGSMITH_TRACING=false" in caplog.text
