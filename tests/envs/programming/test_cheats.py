"""Nothing passes without knowing the answers; what uses the same means honestly passes."""

import time
import warnings

import cheats
import pytest
from spread import CALLS, CHECKS, RUST, needs_rust

from langgraph_reflexion.envs.programming.judging import Judge
from langgraph_reflexion.envs.sandbox import Sandbox, probe

PYTHON = {**cheats.KNOWN, **cheats.FURTHER}


@pytest.mark.parametrize("problem", [CALLS, CHECKS], ids=["calls", "checks"])
@pytest.mark.parametrize("name", PYTHON)
def test_a_cheat_is_refused_and_its_twin_passes(judge, problem, name):
    cheat, twin = PYTHON[name]
    begin = time.monotonic()
    verdict = judge.grade(problem, cheat)
    assert not verdict.passed
    assert verdict.reason
    # Nor does it keep the judge busy.
    assert time.monotonic() - begin < 8
    assert judge.grade(problem, twin).passed, judge.grade(problem, twin).reason


@needs_rust
@pytest.mark.parametrize("name", cheats.RUST)
def test_a_rust_cheat_is_refused_and_its_twin_passes(judge, name):
    cheat, twin = cheats.RUST[name]
    assert not judge.grade(RUST, cheat).passed
    assert judge.grade(RUST, twin).passed, judge.grade(RUST, twin).reason


def test_cheats_are_refused_behind_landlock():
    if not probe("landlock").works:
        pytest.skip(f"landlock does not work here: {probe('landlock').words}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Landlock is said to be weaker
        sandbox = Sandbox("landlock")
    with Judge(sandbox) as judge:
        for name, (cheat, twin) in cheats.KNOWN.items():
            assert not judge.grade(CHECKS, cheat).passed, name
            assert judge.grade(CHECKS, twin).passed, name
