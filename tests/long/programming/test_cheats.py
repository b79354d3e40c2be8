import time
from dataclasses import replace
from pathlib import Path

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
    assert grader.failure(problem, cheat)
    # Nor does it keep the grader busy until a limit, the first of which is 20 s of CPU.
    assert time.monotonic() - begin < 19
    assert grader.failure(problem, twin) is None


@needs_rust
@pytest.mark.parametrize("name", cheats.RUST)
def test_rust_cheat_fails_and_its_twin_passes(grader, name):
    cheat, twin = cheats.RUST[name]
    begin = time.process_time()
    assert grader.failure(RUST, cheat)
    # What it wrote takes the grader, which is the agent's own process, no time to read.
    assert time.process_time() - begin < 5
    assert not grader.failure(RUST, twin)


def test_documentation_counts_the_cheats():
    docs = (Path(__file__).parents[3] / "docs" / "sandbox.md").read_text(encoding="utf-8")
    assert f"contains {len(PYTHON) + len(cheats.RUST)} cheats" in docs.replace("\n", " ")


def test_cheats_fail_behind_landlock():
    grader = Grader(make("landlock"))
    for name, (cheat, twin) in cheats.KNOWN.items():
        assert grader.failure(CHECKS, cheat), name
        assert not grader.failure(CHECKS, twin), name


LOOPS = [
    "all(map(lambda pair: candidate(pair[0]) == pair[1], [([1, 3], 2)]))",
    "not list(filter(lambda pair: candidate(pair[0]) != pair[1], [([1, 3], 2)]))",
    "[got for got in map(candidate, [[1, 3]])] == [2] or not list(map(candidate, [[1, 3]]))",
]


@pytest.mark.parametrize("loop", LOOPS)
def test_candidate_cannot_end_a_loop_of_the_checks(grader, loop):
    problem = replace(CHECKS, test=f"assert {loop}\n")
    for error in ("StopIteration", "StopAsyncIteration", "GeneratorExit"):
        assert grader.failure(problem, f"def spread(numbers):\n    raise {error}")
    assert not grader.failure(problem, f"def spread(numbers):\n    {cheats.RIGHT}")


def test_candidate_that_only_makes_folders_is_wrong_behind_landlock():
    folders = "import os, time\ndef spread(numbers):\n    end, n = time.time() + 3, 0\n    while time.time() < end:\n"
    folders += "        n += 1\n        os.makedirs(f'{n}/a/b/c/d/e/f/g/h')\n    return 0\n"
    assert "expected 8" in Grader(make("landlock")).failure(replace(CALLS, cases=CALLS.cases[:1]), folders)


def test_endless_answer_takes_little_of_the_graders_time(grader):
    flood = "import os\ndef spread(numbers):\n    rest = b'{\"value\": [' + b'[],' * 5_000_000 + b'[]]}\\n'\n"
    flood += "    while rest:\n        rest = rest[os.write(3, rest) :]\n"
    begin = time.process_time()
    for problem in (CALLS, CHECKS):
        assert grader.failure(problem, flood)
    assert time.process_time() - begin < 2


@needs_rust
def test_reason_has_no_escape_codes(grader):
    title = "struct A;\nuse std::fmt;\nimpl fmt::Debug for A {\n"
    title += '    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result { write!(f, "\\u{1b}]0;title\\u{7}") }\n}\n'
    reason = grader.failure(RUST, f"{title}fn spread(numbers: Vec<i64>) -> A {{ A }}")
    assert "]0;title" in reason
    assert reason.isprintable()
