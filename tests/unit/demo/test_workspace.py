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


def test_it_negates_as_the_language_does():
    assert "return !seen.has(word);" in [edit.line for edit in edits("return seen.has(word);", "!")]
    assert "while !done(x) {" in [edit.line for edit in edits("while done(x) {", "!")]


@pytest.mark.parametrize("line", ["", "# a < b", "// a < b", "import a", "use crate::a;", "});", '"""a and b"""'])
def test_it_leaves_alone_what_does_nothing(line):
    assert edits(line) == []


@pytest.mark.parametrize(
    ("output", "names", "place"),
    [
        (
            "FAILED\n>       assert f(2) == 3\nE       assert 2 == 3\n\ntests/test_a.py:7: AssertionError\n"
            "FAILED tests/test_a.py::test_f - assert 2 == 3\n1 failed, 4 passed in \u2026s",
            *(("test_f",), ("tests/test_a.py", 7)),
        ),
        (
            "not ok 2 - it adds\n  stack: |-\n    TestContext.<anonymous> (file:///w/test/a.test.js:6:10)\n"
            "  expected: 3\n  actual: 2\n# pass 4\n# fail 1",
            *(("it adds",), ("///w/test/a.test.js", 6)),
        ),
        (
            "test sums::adds ... FAILED\n---- sums::adds stdout ----\n"
            "thread 'sums::adds' panicked at tests/a.rs:6:5:\nassertion `left == right` failed\n"
            "test result: FAILED. 4 passed; 1 failed; 0 ignored\nerror: test failed, to rerun pass `--test a`",
            *(("adds",), ("tests/a.rs", 6)),
        ),
    ],
    ids=["pytest", "node", "cargo"],
)
def test_it_reads_what_fails_and_where(output, names, place):
    outcome = read_outcome(output, passed=False)
    assert (outcome.failed, outcome.names) == (1, names)
    assert place in outcome.places


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
