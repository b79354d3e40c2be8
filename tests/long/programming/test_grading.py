from dataclasses import replace

import pytest

from langgraph_reflexion.envs.programming import test_extraction
from langgraph_reflexion.envs.programming.grading import Grader
from langgraph_reflexion.envs.programming.problems import Case
from langgraph_reflexion.envs.sandbox import Limits, Sandbox
from langgraph_reflexion.errors import ConfigurationError
from tests.support.programming.cheats import RIGHT
from tests.support.programming.spread import CALLS, CHECKS, RUST, needs_rust

HONEST = f"def spread(numbers):\n    {RIGHT}"
BY_CANONICAL = replace(
    CALLS, cases=tuple(replace(case, expected="", comparison="evalplus") for case in CALLS.cases), canonical=HONEST
)
DECODES = "def f(n):\n    return b'\\xff'.decode()"
RUST_HONEST = (
    "fn spread(numbers: Vec<i64>) -> i64 {\n    match (numbers.iter().max(), numbers.iter().min()) {\n"
    "        (Some(a), Some(b)) => a - b,\n        _ => 0,\n    }\n}\n"
)


COMPARISONS = [
    ("True", "1", "==", True),
    ("1.0", "1", "==", True),
    ("(1, 2)", "[1, 2]", "==", False),
    ("{'a': (1, [2])}", "{'a': (1, [2])}", "==", True),
    ("__import__('collections').Counter('aab')", "{'a': 2, 'b': 1}", "==", True),
    ("__import__('collections').deque([1])", "[1]", "==", False),
    ("float('nan')", "float('nan')", "==", False),
    ("[float('nan')]", "float('nan')", "!=", True),
    ("10 ** 5000", "1", ">", True),
    ("b'a\\xff'", "b'a\\xff'", "==", True),
    ("1 + 2j", "3", "==", False),
    ("'\\ud800'", "'\\ud800'", "==", True),
    ("frozenset({1})", "{1}", "==", True),
    ("None", "None", "is", True),
    ("0", "False", "is", False),
    ("[0]", "True", "truth", True),
    ("3", "[1, 2, 3]", "in", True),
    ("0.3000001", "0.3", "close", True),
    ("'0.3'", "0.3", "close", False),
    ("[1, 'a'] < [2]", "True", "==", True),
    ("len", "1", "==", False),
]


def test_values_compare_by_the_operator_of_the_test(grader):
    code = f"def f(n):\n    return [{', '.join(f'lambda: {returned}' for returned, *_ in COMPARISONS)}][n]()"
    cases = {
        Case(f"f({number})", expected, comparison, 1e-3): holds
        for number, (_, expected, comparison, holds) in enumerate(COMPARISONS)
    }
    right = [case for case, holds in cases.items() if holds]
    assert not grader.failure(replace(CALLS, entry_point="f", cases=tuple(right)), code)
    for case in cases.keys() - right:
        assert grader.failure(replace(CALLS, entry_point="f", cases=(case,)), code), case


def test_reason_names_test_and_value(grader):
    def why(code):
        return grader.failure(CALLS, code)

    assert why("def spread(numbers):\n    return 8") == "spread([]): it returned 8, expected 0"
    assert why("def spread(numbers):\n    return 1 / 0") == "spread([3, 1, 9]): ZeroDivisionError: division by zero"
    assert "SyntaxError" in why("def spread(numbers)")
    assert "it does not define spread" in why("def other(): pass")
    assert "not plain: Wrapped" in why("class Wrapped(int): pass\ndef spread(numbers):\n    return Wrapped(8)")
    assert "division by zero" in grader.failure(CHECKS, "def spread(numbers):\n    return 1 / 0")
    assert "assert candidate(given) == answer" in grader.failure(CHECKS, "def spread(numbers):\n    return 8")


@pytest.mark.needs("sandbox")
def test_exceeded_limits():
    endless = "def spread(n):\n    while True: pass"
    for problem in (CALLS, CHECKS):
        assert "took longer than 2 s" in Grader(Sandbox(), Limits(wall=2)).failure(problem, endless)
    grader = Grader(Sandbox(), Limits(wall=60, cpu=1, memory=128 << 20, result=1 << 16))
    assert "took more than 1 s of CPU" in grader.failure(CHECKS, endless)
    large = "def spread(n):\n    x = b'x' * (160 << 20)\n    __import__('time').sleep(9)"
    assert "128 MB" in grader.failure(CALLS, large)
    assert "wrote too much" in grader.failure(CALLS, "def spread(n):\n    return 'x' * (1 << 20)")


@pytest.mark.needs("sandbox")
def test_tests_after_a_late_one_have_less_time():
    grader = Grader(Sandbox(), Limits(wall=60, cpu=5))
    code = "def spread(numbers):\n    while sum(numbers) > 1: pass\n    return 0"
    tests = ["assert spread([2]) == 0", "assert spread([3]) == 0", "assert [spread([4])] == [0]"]
    tests += ["assert spread([1]) == 0", "assert [spread([1])] == [0]"]
    (outcomes,) = grader.run_tests(CALLS, code, tests)
    late = [f"took more than {seconds} s of CPU" for seconds in ("5", "0.5", "0.5")]
    assert [outcome.error for outcome in outcomes] == [*late, "", ""]
    assert [outcome.passed for outcome in outcomes] == [False, False, False, True, True]


def test_checks_see_changed_arguments(grader):
    test = (
        "def check(candidate):\n    row, table = [3, 1], {'a': [2, 1], 'b': {1}}\n    inner = table['a']\n"
        "    assert candidate(row) is None\n    candidate(inner)\n    assert row == [1, 3] and table['a'] == [1, 2]\n"
        "check(candidate)\n"
    )
    problem = replace(CHECKS, entry_point="f", test=test)
    assert not grader.failure(problem, "def f(xs):\n    xs.sort()")
    assert grader.failure(problem, "def f(xs):\n    sorted(xs)")


def test_checks_see_exceptions(grader):
    test = "def check(candidate):\n    try:\n        candidate(-1)\n    except ValueError as error:\n"
    test += "        assert 'negative' in str(error)\n    else:\n        assert False\ncheck(candidate)\n"
    problem = replace(CHECKS, entry_point="f", test=test)
    assert not grader.failure(problem, "def f(n):\n    raise ValueError('negative')")
    assert not grader.failure(problem, "class Own(ValueError): pass\ndef f(n):\n    raise Own('negative')")
    assert grader.failure(problem, "def f(n):\n    raise KeyError('negative')")
    assert grader.failure(problem, "def f(n):\n    raise Exception('negative')")
    assert "UnicodeError" in grader.failure(replace(problem, test="assert candidate(1)"), DECODES)
    assert grader.failure(problem, "class ValueError(Exception): pass\ndef f(n):\n    raise ValueError('negative')")
    assert grader.failure(problem, "class ValueError(Exception): pass\ndef f(n):\n    return 1")


def test_checks_that_catch_everything_fail_a_candidate_that_exits(grader):
    test = "for n in range(3):\n    try:\n        candidate(n)\n    except:\n        pass\n"
    problem = replace(CHECKS, entry_point="f", test=test)
    assert not grader.failure(problem, "def f(n):\n    raise ValueError")
    assert grader.failure(problem, "import os\ndef f(n):\n    os._exit(0)") == "the program ended during the call"
    assert grader.failure(problem, "import os\nos._exit(0)") == "the program ended before it was called"


@pytest.mark.parametrize(
    ("problem", "says"),
    [
        (replace(CHECKS, test="candidate(print)\n"), "a call with"),
        (replace(CHECKS, test="def check(candidate):\n    assert candidate([])\n"), "never call"),
        (replace(CALLS, gradable=False), "cannot be graded"),
        (replace(CALLS, cases=()), "cannot be graded"),
        (replace(BY_CANONICAL, canonical="def spread(numbers):\n    return 1 / 0"), "canonical"),
    ],
    ids=["odd arguments", "no calls", "not gradable", "no cases", "failing canonical solution"],
)
def test_problem_that_cannot_be_graded_is_an_error(grader, problem, says):
    with pytest.raises(ConfigurationError, match=says):
        grader.failure(problem, HONEST)


def test_canonical_solution_defines_the_expected_values(grader):
    assert not grader.failure(BY_CANONICAL, HONEST)
    assert grader.failure(BY_CANONICAL, "def spread(numbers):\n    return 8")
    assert not grader.failure(CALLS, f"class Solution:\n    def spread(self, numbers):\n        {RIGHT}")


def test_self_written_tests_in_python(grader):
    code = "import os\ndef spread(numbers):\n    if not numbers: os._exit(0)\n    return max(numbers)\n"
    tests = {
        "assert spread([3, 0]) == 3": (True, "3"),
        "assert spread([]) == 0": (False, ""),
        "assert spread([3, 1]) == 2": (False, "3"),
        "assert [spread([n, n]) for n in range(2)] == [0, 0]": (False, "1"),
        "assert spread(3) == 3": (False, ""),
        "assert True or spread([])": (True, ""),
        "assert spread([]) + 1 == 1": (False, ""),
    }
    outcomes, again = grader.run_tests(CALLS, code, list(tests), times=2)
    assert {outcome.test: (outcome.passed, outcome.output) for outcome in outcomes} == tests
    assert "ended during the call" in outcomes[1].error
    assert "TypeError" in outcomes[4].error
    assert again == outcomes
    raising = "def spread(numbers):\n    if not numbers: raise ValueError('none')\n    return 1"
    raises = ["ValueError, lambda: spread([])", "KeyError, lambda: spread([])", "ValueError, lambda: spread([1])"]
    asserts = [f"assert raises({each})" for each in raises]
    assert grader.valid_tests(CALLS, asserts) == asserts
    (raised,) = grader.run_tests(CALLS, raising, asserts)
    assert [outcome.passed for outcome in raised] == [True, False, False]
    assert grader.run_tests(CALLS, code, [], times=2) == [[], []]
    ((broken,),) = grader.run_tests(CALLS, "def spread(:", list(tests)[:1])
    assert "SyntaxError" in broken.error


@pytest.mark.parametrize(
    "test",
    [
        "__import__('os')._exit(0)",
        "__import__('os').write(3, b'no message\\n')",
        "__import__('os').write(3, b'[]\\n')",
        'not __import__("os").write(3, b\'{"outcome": "failed", "last": {"no": 1}}\\n\')',
        "print('x' * 10 ** 8)",
        "[0] * 10 ** 11",
    ],
)
def test_test_that_ends_itself_affects_no_other(test, grader):
    tests = [f"assert {test} or spread([1]) == 0", "assert spread([3, 1]) == 2"]
    (outcomes,) = grader.run_tests(CALLS, HONEST, tests)
    assert [outcome.passed for outcome in outcomes][1:] == [True]
    if "write(3" not in test:
        assert not outcomes[0].passed


def test_messages_are_printable_lines(grader):
    code = 'def spread(numbers):\n    raise ValueError("\\ud800 \\x1b[2J\\nno")'
    (outcomes,) = grader.run_tests(CALLS, code, ["assert spread([1]) == 0", "assert [spread([1])] == [0]"])
    said = grader.failure(CALLS, code)
    for words in (said, outcomes[0].error, outcomes[1].error):
        assert words.endswith("ValueError:    [2J no")


def test_iteration_order_of_sets_is_fixed(grader):
    code = "def spread(numbers):\n    return list({'a', 'b', 'c', 'd', 'e', 'f'})"
    (one,), (other,) = (grader.run_tests(CALLS, code, ["assert spread([1]) == 0"])[0] for _ in range(2))
    assert one.output == other.output


@needs_rust
def test_self_written_tests_in_rust(grader):
    code = RUST_HONEST.replace("_ => 0", '_ => panic!("no\\nnumbers")').replace("a - b", "a + b")
    tests = {
        "assert_eq!(spread(vec![1, 0]), 1);": (True, "1"),
        "assert_eq!(spread(vec![3, 1]), 2);": (False, "4"),
        "assert!(spread(vec![3, 1]) < 3);": (False, "4"),
        "assert_eq!(spread(vec![]), 0);": (False, ""),
        "assert_ne!(spread(vec![1, 1]), 0);": (True, "2"),
        "assert!(4 == spread(vec![3, 1]));": (True, "4"),
    }
    (outcomes,) = grader.run_tests(RUST, code, list(tests))
    assert [(outcome.passed, outcome.output) for outcome in outcomes] == list(tests.values())
    assert outcomes[3].error == "panicked: no numbers"
    ((broken,),) = grader.run_tests(RUST, "fn spread(numbers: Vec<i64>) -> i64 { 'a' }", list(tests)[:1])
    assert broken.error.startswith("error[E0308]: mismatched types")
    code = RUST_HONEST.replace("_ => 0", "_ => std::process::exit(0)")
    ((exited, unaffected),) = grader.run_tests(RUST, code, [list(tests)[3], list(tests)[1]])
    assert (exited.passed, unaffected.passed) == (False, True)
    assert "exit status 0" in exited.error


@needs_rust
def test_rust_filter(grader):
    reply = (
        'Tests:\n```rust\nassert_eq!(spread(vec![1, 2]), 1);\nassert_eq!(spread("no"), 1);\n'
        'assert_eq!(spread(vec![1]), String::new());\nassert!(spread(vec![4,\n 4]) == 0, "a ) in it");\n'
        "assert_eq!(spread(vec![1, 2), 1);\nassert_eq!(1, 1);\nassert!(spread(undefined) == 1);\n```"
    )
    texts = (reply, "assert_eq!(spread(vec![1, 2]), 1)")
    found = [test for text in texts for test in test_extraction.tests_in(text, "rust")]
    assert grader.valid_tests(RUST, list(dict.fromkeys(found))) == [
        "assert_eq!(spread(vec![1, 2]), 1);",
        'assert!(spread(vec![4, 4]) == 0, "a ) in it");',
    ]
    left_open = replace(RUST, prompt="fn spread(n: Later) -> i64 {")
    assert grader.valid_tests(left_open, ["assert_eq!(spread(vec![1]), 1);"]) == ["assert_eq!(spread(vec![1]), 1);"]
