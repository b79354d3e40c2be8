import pytest

from langgraph_reflexion.envs.programming.described import contradicts, examples_in
from langgraph_reflexion.envs.programming.problems import Problem

PYTHON = '''def f(x: list[int], y: int = 0) -> int:
    """Add them. With f(x) the sum is meant, and f(1, 2, 3) is an error.

    EXAMPLE
    """
'''
RUST = """/// Add them.
///
/// EXAMPLE
fn f(x: Vec<i64>) -> i64 {
"""


def problem(example, language="python"):
    prompt = {"python": PYTHON, "rust": RUST}[language].replace("EXAMPLE", example)
    return Problem(id="1", language=language, prompt=prompt, entry_point="f")


@pytest.mark.parametrize(
    ("example", "tests"),
    [
        (">>> f([1])\n    1\n    >>> f([])\n    0", ["assert f([1]) == 1", "assert f([]) == 0"]),
        (">>> f([1])\n    [1,\n     2]", ["assert f([1]) == [1, 2]"]),
        (">>> round(f([1.25]), 1)\n    1.2", ["assert round(f([1.25]), 1) == 1.2"]),
        (">>> f([1])  # one\n    1", ["assert f([1]) == 1"]),
        (">>> sorted(f([1])) == [1]\n    True", ["assert (sorted(f([1])) == [1]) == True"]),
        (">>> f([1]) == 1", ["assert f([1]) == 1"]),
        ("f([1]) == 1", ["assert f([1]) == 1"]),
        ("* f([1], y=2) => 3", ["assert f([1], y=2) == 3"]),
        ("f([1]) ==> true", ["assert f([1]) == True"]),
        ("f([1]) -> -1  # one less", ["assert f([1]) == -1"]),
        ("f([1]) \u279e 'a, b'", ["assert f([1]) == 'a, b'"]),
        ("f([1]) returns 1, as 1 is 1.", ["assert f([1]) == 1"]),
        ("f([1]) should return 16.", ["assert f([1]) == 16"]),
        ("f([1]) # returns 'one'", ["assert f([1]) == 'one'"]),
        ("f([\n        [1],\n    ], 1) == [\n        2]", ["assert f([[1]], 1) == [2]"]),
        ("assert f([1]) == 1", ["assert f([1]) == 1"]),
        ("f([1]) == 1\n    f([ 1 ]) => 2\n    f([2]) == 2", ["assert f([2]) == 2"]),
        ("f(n) = f(n - 1) + 1, f(word) => 'x', g.f(1) == 1", []),
        ("It returns f([1]).", []),
    ],
)
def test_examples_of_a_description_are_tests(example, tests):
    assert examples_in(problem(example)) == tests


@pytest.mark.parametrize(
    ("example", "tests"),
    [
        (
            ">>> f(vec![1])\n/// 1\n/// >>> f(vec![])\n/// 0",
            ["assert_eq!(f(vec![1]), 1);", "assert_eq!(f(vec![]), 0);"],
        ),
        ('f(vec![1]) => String::from("a")', ['assert_eq!(f(vec![1]), String::from("a"));']),
        ("f(vec![1]) => wanted", []),
    ],
)
def test_examples_of_a_description_in_rust_are_tests(example, tests):
    assert examples_in(problem(example, "rust")) == tests


@pytest.mark.parametrize(
    ("test", "wrong"),
    [
        ("assert f([1]) == 2", True),
        ("assert f([ 1 ]) == 2", True),
        ("assert f([1]) != 1", True),
        ("assert not f([1])", True),
        ("assert f([1]) == 1.0", False),
        ("assert f([1]) > 0", False),
        ("assert f([2]) == 1", False),
        ("assert sorted([f([1])]) == [2]", False),
    ],
)
def test_a_test_that_contradicts_an_example_is_found(test, wrong):
    assert contradicts(problem(""), test, ["assert f([1]) == 1"]) is wrong


@pytest.mark.parametrize(
    ("test", "wrong"),
    [
        ("assert_eq!(f(vec![1,2]), 2);", True),
        ("assert!(f(vec![1, 2]) != 3);", True),
        ("assert_eq!(3, f(vec![1, 2]));", False),
        ("assert_eq!(f(vec![12]), 2);", False),
        ("assert!(f(vec![1, 2]) < 9);", False),
    ],
)
def test_a_test_in_rust_that_contradicts_an_example_is_found(test, wrong):
    assert contradicts(problem("", "rust"), test, ["assert_eq!(f(vec![1, 2]), 3);"]) is wrong
