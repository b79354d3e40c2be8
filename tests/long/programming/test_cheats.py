"""No cheat passes; honest programs that use the same means do."""

import time

import pytest

from langgraph_reflexion.envs.programming.grading import Grader
from tests.support.programming import cheats
from tests.support.programming.spread import CALLS, CHECKS, RUST, needs_rust
from tests.support.sandbox.columns import make

PYTHON = {**cheats.KNOWN, **cheats.FURTHER}


@pytest.mark.parametrize("problem", [CALLS, CHECKS], ids=["calls", "checks"])
@pytest.mark.parametrize("name", PYTHON)
def test_cheat_fails_and_its_twin_passes(grader, problem, name):
    cheat, twin = PYTHON[name]
    begin = time.monotonic()
    verdict = grader.grade(problem, cheat)
    assert not verdict.passed
    assert verdict.reason
    # Nor does it keep the grader busy.
    assert time.monotonic() - begin < 8
    honest = grader.grade(problem, twin)
    assert honest.passed, honest.reason


@needs_rust
@pytest.mark.parametrize("name", cheats.RUST)
def test_rust_cheat_fails_and_its_twin_passes(grader, name):
    cheat, twin = cheats.RUST[name]
    assert not grader.grade(RUST, cheat).passed
    assert grader.grade(RUST, twin).passed


def test_cheats_fail_behind_landlock():
    grader = Grader(make("landlock"))
    for name, (cheat, twin) in cheats.KNOWN.items():
        assert not grader.grade(CHECKS, cheat).passed, name
        assert grader.grade(CHECKS, twin).passed, name
