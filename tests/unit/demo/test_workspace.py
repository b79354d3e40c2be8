"""The demo model reads the output of checks, and knows common mistakes."""

import pytest

from langgraph_reflexion.demo.workspace.edits import candidates, edits
from langgraph_reflexion.demo.workspace.world import NOTHING_RUNS, read_outcome


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("if count < limit:", "if count <= limit:"),
        ("return base - sum(parts)", "return base + sum(parts)"),
        ("if ready and empty:", "if ready or empty:"),
        ("if ready:", "if not ready:"),
        ("total = 1", "total = 0"),
        ("share = part(whole, size)", "share = part(size, whole)"),
        ("top = min(values)", "top = max(values)"),
        ("step = n % 3", "step = n % 2"),
    ],
)
def test_its_catalogue_holds_the_usual_mistakes(wrong, right):
    assert right in [edit.line for edit in edits(wrong)]


@pytest.mark.parametrize("line", ["", "# a < b", "// a < b", "import a", "use crate::a;", "});", '"""a and b"""'])
def test_it_leaves_alone_what_does_nothing(line):
    assert edits(line) == []


@pytest.mark.parametrize(
    "output",
    [
        "E   SyntaxError: invalid syntax\n1 error in 0.1s",
        "error[E0308]: mismatched types\nerror: could not compile `a`",
        "",
    ],
)
def test_a_program_that_does_not_start_is_worse_than_any_failure(output):
    assert read_outcome(output, passed=False).failed == NOTHING_RUNS


def test_it_looks_first_at_what_failing_tests_reach_and_passing_ones_do_not():
    files = {
        "a.py": ["def one(n):", "    return n < 1", "", "def two(n):", "    return n < 2"],
        "tests/test_a.py": ["def test_one():", "    assert one(0)", "", "def test_two():", "    assert two(2)"],
    }
    outcome = read_outcome("E  assert False\ntests/test_a.py:5: AssertionError\n1 failed, 1 passed", passed=False)
    assert {(each.path, each.number) for each in candidates(files, outcome)} == {("a.py", 5)}
