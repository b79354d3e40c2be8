"""Verdicts on hidden tests, outcomes of self-written ones, and which of those are valid."""

import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from cheats import RIGHT
from spread import CALLS, CHECKS, RUST, needs_rust

from langgraph_reflexion.envs.programming import written
from langgraph_reflexion.envs.programming.judging import Judge
from langgraph_reflexion.envs.programming.problems import Case
from langgraph_reflexion.envs.sandbox import Limits, Sandbox
from langgraph_reflexion.errors import ConfigurationError

HONEST = f"def spread(numbers):\n    {RIGHT}"
DECODES = "def f(n):\n    return b'\\xff'.decode()"
RUST_HONEST = (
    "fn spread(numbers: Vec<i64>) -> i64 {\n    match (numbers.iter().max(), numbers.iter().min()) {\n"
    "        (Some(a), Some(b)) => a - b,\n        _ => 0,\n    }\n}\n"
)


def one(call, expected, comparison="==", atol=0.0, name="f"):
    return replace(CALLS, entry_point=name, cases=(Case(call, expected, comparison, atol),))


@pytest.mark.parametrize(
    ("returned", "expected", "comparison", "holds"),
    [
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
        ("1 + 2j", "1 + 2j", "==", False),
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
    ],
)
def test_plain_values_compare_as_the_tests_own_operator_does(judge, returned, expected, comparison, holds):
    problem = one("f()", expected if expected != "1 + 2j" else "3", comparison, 1e-3)
    assert judge.grade(problem, f"def f():\n    return {returned}").passed is holds


def test_a_reason_names_the_test_and_what_came_out(judge):
    def why(code):
        return judge.grade(CALLS, code).reason

    assert why("def spread(numbers):\n    return 8") == "spread([]): it gave 8, expected 0"
    assert why("def spread(numbers):\n    return 1 / 0") == "spread([3, 1, 9]): ZeroDivisionError: division by zero"
    assert "SyntaxError" in why("def spread(numbers)")
    assert "it does not define spread" in why("def other(): pass")
    assert "not plain: Wrapped" in why("class Wrapped(int): pass\ndef spread(numbers):\n    return Wrapped(8)")
    assert "division by zero" in judge.grade(CHECKS, "def spread(numbers):\n    return 1 / 0").reason
    assert "assert candidate(given) == answer" in judge.grade(CHECKS, "def spread(numbers):\n    return 8").reason


@pytest.mark.needs("sandbox")
def test_what_takes_too_long_or_too_much_is_wrong_and_says_so():
    with Judge(Sandbox(), Limits(wall=2, memory=128 << 20, result=1 << 16)) as judge:
        assert "took longer than 2 s" in judge.grade(CALLS, "def spread(n):\n    while True: pass").reason
        assert "took longer than 2 s" in judge.grade(CHECKS, "def spread(n):\n    while True: pass").reason
        assert "128 MB" in judge.grade(CALLS, "def spread(n):\n    x = b'x' * (160 << 20)\n    while 1: pass").reason
        assert "wrote too much" in judge.grade(CALLS, "def spread(n):\n    return 'x' * (1 << 20)").reason


def test_checks_see_what_a_candidate_does_to_its_arguments(judge):
    test = (
        "def check(candidate):\n    row, table = [3, 1], {'a': [2, 1], 'b': {1}}\n    inner = table['a']\n"
        "    assert candidate(row) is None\n    candidate(inner)\n    assert row == [1, 3] and table['a'] == [1, 2]\n"
    )
    problem = replace(CHECKS, entry_point="f", test=test)
    assert judge.grade(problem, "def f(xs):\n    xs.sort()").passed
    assert not judge.grade(problem, "def f(xs):\n    sorted(xs)").passed


def test_checks_see_exceptions_of_the_candidate(judge):
    test = "def check(candidate):\n    try:\n        candidate(-1)\n    except ValueError as error:\n"
    test += "        assert 'negative' in str(error)\n    else:\n        assert False\n"
    problem = replace(CHECKS, entry_point="f", test=test)
    assert judge.grade(problem, "def f(n):\n    raise ValueError('negative')").passed
    assert judge.grade(problem, "class Own(ValueError): pass\ndef f(n):\n    raise Own('negative')").passed
    assert not judge.grade(problem, "def f(n):\n    raise KeyError('negative')").passed
    assert not judge.grade(problem, "def f(n):\n    raise Exception('negative')").passed
    assert (
        "UnicodeError" in judge.grade(replace(problem, test="assert candidate(1)", self_calling=True), DECODES).reason
    )
    assert not judge.grade(
        problem, "class ValueError(Exception): pass\ndef f(n):\n    raise ValueError('negative')"
    ).passed
    assert not judge.grade(problem, "class ValueError(Exception): pass\ndef f(n):\n    return 1").passed


def test_checks_that_catch_everything_do_not_pass_a_candidate_that_ends_itself(judge):
    test = "def check(candidate):\n    for n in range(3):\n        try:\n            candidate(n)\n        except:\n"
    problem = replace(CHECKS, entry_point="f", test=f"{test}            pass\n")
    assert judge.grade(problem, "def f(n):\n    raise ValueError").passed
    verdict = judge.grade(problem, "import os\ndef f(n):\n    os._exit(0)")
    assert (verdict.passed, verdict.reason) == (False, "the program ended during the call")


def test_checks_that_hand_over_what_is_not_plain_are_the_problems_fault(judge):
    problem = replace(CHECKS, test="def check(candidate):\n    candidate(print)\n")
    with pytest.raises(ConfigurationError, match="spread/checks: its tests cannot be run: a call with"):
        judge.grade(problem, HONEST)


def test_what_is_not_gradable_is_refused(judge):
    with pytest.raises(ConfigurationError, match="cannot be graded"):
        judge.grade(replace(CALLS, gradable=False), HONEST)
    with pytest.raises(ConfigurationError, match="no hidden tests"):
        judge.grade(replace(CALLS, cases=()), HONEST)


def test_what_the_canonical_solution_returns_is_expected(judge):
    cases = tuple(replace(case, expected="", comparison="evalplus") for case in CALLS.cases)
    problem = replace(CALLS, cases=cases, canonical=HONEST)
    assert judge.grade(problem, HONEST).passed
    assert not judge.grade(problem, "def spread(numbers):\n    return 8").passed
    with pytest.raises(ConfigurationError, match="its canonical solution fails"):
        judge.grade(replace(problem, canonical="def spread(numbers):\n    return 1 / 0"), HONEST)


def test_a_method_of_a_class_solution_is_called(judge):
    assert judge.grade(CALLS, f"class Solution:\n    def spread(self, numbers):\n        {RIGHT}").passed


def test_many_at_once(judge):
    codes = [HONEST, "def spread(numbers):\n    return 8"] * 6
    with ThreadPoolExecutor(4) as pool:
        verdicts = list(pool.map(lambda code: (judge.grade(CALLS, code), judge.grade(CHECKS, code)), codes))
    assert [(one.passed, other.passed) for one, other in verdicts] == [(True, True), (False, False)] * 6


def test_self_written_tests_in_python(judge):
    code = "import os\ndef spread(numbers):\n    if not numbers: os._exit(0)\n    return max(numbers)\n"
    tests = [
        "assert spread([3, 0]) == 3",
        "assert spread([]) == 0",
        "assert spread([3, 1]) == 2",
        "assert [spread([n, n]) for n in range(2)] == [0, 0]",
        "assert spread(3) == 3",
        "assert spread([]) + 1 == 1",
    ]
    outcomes, again = judge.run_tests(CALLS, code, tests, times=2)
    assert [outcome.test for outcome in outcomes] == tests
    assert [outcome.passed for outcome in outcomes] == [True, False, False, False, False, False]
    assert [outcome.output for outcome in outcomes] == ["3", "", "3", "1", "", ""]
    assert "ended during the call" in outcomes[1].error
    assert "TypeError" in outcomes[4].error
    assert again == outcomes
    assert judge.run_tests(CALLS, code, [], times=2) == [[], []]
    ((broken,),) = judge.run_tests(CALLS, "def spread(:", tests[:1])
    assert "SyntaxError" in broken.error


def filtered(judge, problem, *texts):
    found = [test for text in texts for test in written.tests_in(text, problem.language)]
    return judge.valid_tests(problem, list(dict.fromkeys(found)))


def test_the_syntax_filter_of_python(judge):
    reply = (
        "Here they are:\nassert spread([1]) == 0\nassert spread([1) == 0\n  assert other(2)\nassert spread([ 1]) == 0"
    )
    several = (
        "def test_it():\n    assert spread(\n        [1, 2]) == 1, 'far'\n\nassert 1 == 1\n"
        "assert spread(numbers=[]) == 0"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert filtered(judge, CALLS, reply, several, r"assert spread(['\d']) == 0") == [
            "assert spread([1]) == 0",
            "assert spread([1, 2]) == 1",
            "assert spread(numbers=[]) == 0",
            r"assert spread(['\\d']) == 0",
        ]


@pytest.mark.parametrize(
    "test",
    [
        "assert await spread([1]) == 0",
        "assert spread(values) == 0",
        "assert [spread(each) for each in ()] == other",
        "assert (yield spread([1]))",
    ],
)
def test_a_test_that_no_program_could_pass_is_not_valid(test, judge):
    assert judge.valid_tests(CALLS, [test]) == []


def test_names_that_a_test_has_of_its_own_are_known(judge):
    problem = replace(CALLS, prompt=f"import random as r\n\n{CALLS.prompt}")
    tests = [
        "assert [spread([each]) for each in range(3)] == [0, 0, 0]",
        "assert (lambda n: spread(n))([1]) == 0",
        "assert (n := spread([1])) == n",
        "assert math.isclose(spread([1]), 0)",
        "assert spread([r.random()]) == 0",
    ]
    assert judge.valid_tests(problem, tests) == tests
    (outcomes,) = judge.run_tests(problem, HONEST, tests)
    assert [outcome.passed for outcome in outcomes] == [True] * 5


def test_what_is_too_long_or_too_deep_is_no_test():
    deep = "assert spread([1]) == " + "1+" * 5000 + "1"
    long = f"assert spread({[1] * 1000}) == 0"
    assert written.tests_in(f"{deep}\n{long}\nassert spread([1]) == 0", "python") == ["assert spread([1]) == 0"]


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
def test_a_test_that_ends_itself_fails_and_nothing_else(test, judge):
    tests = [f"assert {test} or spread([1]) == 0", "assert spread([3, 1]) == 2"]
    (outcomes,) = judge.run_tests(CALLS, HONEST, tests)
    assert [outcome.passed for outcome in outcomes][1:] == [True]
    if "write(3" not in test:
        assert not outcomes[0].passed


def test_what_a_program_says_is_one_line_that_any_file_takes(judge):
    code = 'def spread(numbers):\n    raise ValueError("\\ud800 \\x1b[2J\\nno")'
    (outcomes,) = judge.run_tests(CALLS, code, ["assert spread([1]) == 0", "assert [spread([1])] == [0]"])
    said = judge.grade(CALLS, code).reason
    for words in (said, outcomes[0].error, outcomes[1].error):
        assert words.endswith("ValueError:    [2J no")


def test_numbers_of_one_hash_keep_nobody_busy(judge):
    # Half of them are honest, so that the others do not stand out as a share.
    code = (
        "import json, os\ndef spread(numbers):\n"
        "    items = [{'int': hex(each * (2 ** 61 - 1))} for each in range(256, 20000)] + list(range(30000))\n"
        "    data = json.dumps({'value': {'set': items}}).encode() + b'\\n'\n"
        "    while data:\n        data = data[os.write(3, data):]\n    os._exit(0)"
    )
    assert "keys that collide" in judge.grade(CALLS, code).reason


def test_sets_are_shown_in_one_order(judge):
    code = "def spread(numbers):\n    return ({'a', 'bc', 'd'}, frozenset((10, 9)), {1: set()}, [], (1,))"
    (outcomes,) = judge.run_tests(CALLS, code, ["assert spread([1]) == 0"])
    assert outcomes[0].output == "({'a', 'd', 'bc'}, frozenset({9, 10}), {1: set()}, [], (1,))"


@pytest.mark.needs("sandbox")
def test_a_program_goes_through_a_set_in_the_same_order_every_time():
    code = "def spread(numbers):\n    return list({'a', 'b', 'c', 'd', 'e', 'f'})"
    orders = set()
    for _ in range(3):
        with Judge(Sandbox()) as judge:
            ((outcome,),) = judge.run_tests(CALLS, code, ["assert spread([1]) == 0"])
            orders.add(outcome.output)
    assert len(orders) == 1


@needs_rust
def test_self_written_tests_in_rust(judge):
    code = RUST_HONEST.replace("_ => 0", '_ => panic!("no\\nnumbers")').replace("a - b", "a + b")
    tests = [
        "assert_eq!(spread(vec![1, 0]), 1);",
        "assert_eq!(spread(vec![3, 1]), 2);",
        "assert!(spread(vec![3, 1]) < 3);",
        "assert_eq!(spread(vec![]), 0);",
        "assert_ne!(spread(vec![1, 1]), 0);",
        "assert!(4 == spread(vec![3, 1]));",
    ]
    (outcomes,) = judge.run_tests(RUST, code, tests)
    assert [outcome.passed for outcome in outcomes] == [True, False, False, False, True, True]
    assert [outcome.output for outcome in outcomes] == ["1", "4", "4", "", "2", "4"]
    assert outcomes[3].error == "panicked: no numbers"
    ((broken,),) = judge.run_tests(RUST, "fn spread(numbers: Vec<i64>) -> i64 { 'a' }", tests[:1])
    assert broken.error.startswith("error[E0308]: mismatched types")


@needs_rust
def test_one_rust_test_that_ends_the_program_takes_no_other_with_it(judge):
    code = RUST_HONEST.replace("_ => 0", "_ => std::process::exit(0)")
    tests = ["assert_eq!(spread(vec![]), 0);", "assert_eq!(spread(vec![3, 1]), 2);"]
    (outcomes,) = judge.run_tests(RUST, code, tests)
    assert [outcome.passed for outcome in outcomes] == [False, True]
    assert "exit status 0" in outcomes[0].error


@needs_rust
def test_the_syntax_filter_of_rust(judge):
    reply = (
        'Tests:\n```rust\nassert_eq!(spread(vec![1, 2]), 1);\nassert_eq!(spread("no"), 1);\n'
        'assert_eq!(spread(vec![1]), String::new());\nassert!(spread(vec![4,\n 4]) == 0, "a ) in it");\n'
        "assert_eq!(spread(vec![1, 2), 1);\nassert_eq!(1, 1);\nassert!(spread(undefined) == 1);\n```"
    )
    assert filtered(judge, RUST, reply, "assert_eq!(spread(vec![1, 2]), 1)") == [
        "assert_eq!(spread(vec![1, 2]), 1);",
        'assert!(spread(vec![4, 4]) == 0, "a ) in it");',
    ]
    left_open = replace(RUST, prompt="fn spread(n: Later) -> i64 {")
    assert judge.valid_tests(left_open, ["assert_eq!(spread(vec![1]), 1);"]) == ["assert_eq!(spread(vec![1]), 1);"]


BODIES = {
    "a body": f"    {RIGHT}\n",
    "a body without its first blanks": f"{RIGHT}\n",
    "a body that runs on": f"    {RIGHT}\n\ndef main(:\n",
    "a body with a helper behind it": f"    return far(numbers)\n\ndef far(numbers):\n    {RIGHT}\n",
    "a whole function": HONEST,
    "a whole function that needs the prompt's imports": f"def spread(numbers: List[int]) -> int:\n    {RIGHT}",
    "a helper first": f"def far(numbers):\n    {RIGHT}\n\ndef spread(numbers):\n    return far(numbers)",
    "line ends of another system": HONEST.replace("\n", "\r\n"),
}


@pytest.mark.parametrize("name", BODIES)
def test_python_completions_become_programs(judge, name):
    problem = replace(CALLS, stop_tokens=("\ndef", "\n#"))
    verdict = judge.grade(problem, judge.assemble(problem, BODIES[name]))
    assert verdict.passed, verdict.reason


RUST_BODY = "    numbers.iter().max().unwrap_or(&0) - numbers.iter().min().unwrap_or(&0)\n"
RUST_BODIES = {
    "a body": RUST_BODY,
    "a body with its brace": f"{RUST_BODY}}}\n",
    "a body that runs on": f"{RUST_BODY}}}\n\nfn main() {{\n    let x = (",
    "a whole function": RUST_HONEST,
    "a brace in a text": f'    let _ = "}}}}"; // }}\n{RUST_BODY}',
}


@needs_rust
@pytest.mark.parametrize("name", RUST_BODIES)
def test_rust_completions_become_programs(judge, name):
    problem = replace(RUST, stop_tokens=("\n}",))
    verdict = judge.grade(problem, judge.assemble(problem, RUST_BODIES[name]))
    assert verdict.passed, verdict.reason
