"""Every reader of model output is quick with a megabyte of anything."""

import os
from random import Random

import pytest

from tests.support.endless import AROUND, READERS, UNITS, endless, reader
from tests.unit.actors.test_reading_time import SECONDS, seconds

pytestmark = pytest.mark.long
REPLIES = int(os.environ.get("FUZZ_REPLIES", "15"))


def test_readers_are_quick_with_a_megabyte_of_anything():
    random, found = Random(11), {name: reader(name) for name in READERS}
    slow = []
    for _ in range(REPLIES):
        (head, tail), units = random.choice(AROUND), random.sample(UNITS, random.choice([1, 1, 2, 3]))
        length = random.choice([1_000_000, 100_000, 19_900, 9_900])
        text = endless("".join(units), head, tail, length)
        for name, read in found.items():
            if (taken := seconds(read, text)) > SECONDS:
                slow.append((round(taken, 2), name, head, units, tail, length))
    assert not slow
