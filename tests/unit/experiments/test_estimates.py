"""The wall time that a run may take."""

import pytest

from langgraph_reflexion.lab.experiments.estimates import wall_time
from tests.support.run_folders import row


@pytest.mark.parametrize(
    ("concurrency", "seconds"),
    [
        (1, 12.0),
        (2, 6.0),
        # The task of four trials goes on alone.
        (8, 4.0),
    ],
)
def test_a_run_takes_as_long_as_its_longest_task(concurrency, seconds):
    measured = [row("long", trial, False, seconds=1.0) for trial in range(1, 5)] + [
        row("short", 1, True, seconds=1.0)
    ]
    assert wall_time(12.0, concurrency, left=[4, 4, 4, 4], rows=measured) == seconds
