"""The measurements of environments, on little data."""

import pytest

from tests.performance import corpus_speed, webshop_speed


@pytest.mark.parametrize("measure", [corpus_speed.measure, webshop_speed.measure])
def test_little_data_is_measured(measure):
    assert all(value > 0 for value in measure(250, 20).values())
