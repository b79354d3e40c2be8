import ast
import gc
import threading
import time
from contextlib import suppress
from dataclasses import replace

import pytest

from langgraph_reflexion.envs.programming import test_extraction
from langgraph_reflexion.envs.programming.assemble import assemble
from langgraph_reflexion.envs.programming.python_source import defines, valid
from langgraph_reflexion.envs.programming.sandbox_runner import NotPlainError, decode, encode
from langgraph_reflexion.envs.programming.values import holds, shown
from tests.support.programming.cheats import RIGHT
from tests.support.programming.spread import CALLS, RUST


@pytest.mark.parametrize(
    ("reply", "language", "tests"),
    [
        (
            "They are:\nassert f([1]) == 0\nassert f([1) == 0\n  assert g(2)",
            "python",
            ["assert f([1]) == 0", "assert g(2)"],
        ),
        ("assert f([1]) == 0\nassert f([ 1]) == 0", "python", ["assert f([1]) == 0"]),
        ("def test():\n    assert f(\n        [1, 2]) == 1, 'far'\n", "python", ["assert f([1, 2]) == 1"]),
        ("assert!(f(vec![4,\n 4]) == 0);", "rust", ["assert!(f(vec![4, 4]) == 0);"]),
        ("assert f(1) == " + "1+" * 5000 + f"1\nassert f({[1] * 1000}) == 0\nassert f(2)", "python", ["assert f(2)"]),
    ],
    ids=["broken", "repeated", "several lines", "Rust", "deep and long"],
)
def test_tests_are_extracted(reply, language, tests):
    assert test_extraction.tests_in(reply, language) == tests


FUNCTION = "def f(x):\n    return x + 1"
UNITTEST = """import unittest

class TestF(unittest.TestCase):
    def test_all(self):
        self.assertEqual(f(1), 2, "one more")
        self.assertEqual([3], f(2))
        self.assertTrue(f(3))
        self.assertFalse(f(4))
        self.assertIsNone(f(5))
        self.assertIsNotNone(f(6))
        self.assertNotEqual(f(7), 7)
        self.assertIn(f(8), [8, 9])
        self.assertGreater(f(9), 9)
        self.assertIsInstance(f(10), int)
        self.assertCountEqual(f(11), [2, 1])
        self.assertAlmostEqual(f(0.5), 1.5, places=2)
        self.assertAlmostEqual(f(0.25), 1.25, delta=0.1)
        self.assertRaises(ValueError, f, -1)
        with self.assertRaises(TypeError):
            f("a")
        with pytest.raises(KeyError):
            f({})
        self.skipTest("no more")

if __name__ == "__main__":
    unittest.main()
"""
ASSERTS = [
    "assert f(1) == 2",
    "assert f(2) == [3]",
    "assert f(3)",
    "assert not f(4)",
    "assert f(5) is None",
    "assert f(6) is not None",
    "assert f(7) != 7",
    "assert f(8) in [8, 9]",
    "assert f(9) > 9",
    "assert isinstance(f(10), int)",
    "assert sorted(f(11)) == sorted([2, 1])",
    "assert abs(f(0.5) - 1.5) < 0.005",
    "assert abs(f(0.25) - 1.25) < 0.1",
    "assert raises(ValueError, lambda: f(-1))",
    "assert raises(TypeError, lambda: f('a'))",
    "assert raises(KeyError, lambda: f({}))",
]


def test_checks_of_unittest_are_read_as_asserts():
    assert test_extraction.tests_in(UNITTEST, "python") == ASSERTS


def test_checks_of_unittest_are_read_from_a_reply_that_was_cut():
    cut = UNITTEST.partition("        self.skipTest")[0] + "        self.assertEqual(f(12"
    assert test_extraction.tests_in(cut, "python") == ASSERTS


@pytest.mark.parametrize(
    ("code", "tests"),
    [
        ("n = 1\nwanted = [n, 2]\nassert f(n) == wanted", ["assert f(1) == [1, 2]"]),
        (
            "def test():\n    got = f(1)\n    self.assertEqual(got, 2)\n    assert got",
            ["assert f(1) == 2", "assert f(1)"],
        ),
        ("for n, wanted in [(1, 2), (3, 4)]:\n    assert f(n) == wanted", ["assert f(1) == 2", "assert f(3) == 4"]),
        (
            "cases = [1, 2]\nfor n in cases:\n    got = f(n)\n    assert got == 0",
            ["assert f(1) == 0", "assert f(2) == 0"],
        ),
        ("a = [1]\na.append(2)\nassert f(a) == 3", ["assert f(a) == 3"]),
        ("n = 1\nn += 1\nassert f(n) == 3", ["assert f(n) == 3"]),
        ("n = 1\ndef test(n):\n    assert f(n) == 3", ["assert f(n) == 3"]),
        ("n = 1\nif n:\n    n = 2\nassert f(n) == 3", ["assert f(n) == 3"]),
        ("for n in numbers:\n    assert f(n) == 3", ["assert f(n) == 3"]),
        ("n = 1\nfor k in [1, 2]:\n    n = n + k\nassert f(n) == 4", ["assert f(n) == 4"]),
        ("a = []\nfor k in [1, 2]:\n    a.append(k)\nassert f(a) == 3", ["assert f(a) == 3"]),
        ("n = 9\nfor n in [1]:\n    assert f(n) == 0\nassert f(n) == 1", ["assert f(1) == 0", "assert f(n) == 1"]),
        (
            "k = 2\nfor n in [1, 3]:\n    got = f(n, k)\n    assert got == 0",
            ["assert f(1, 2) == 0", "assert f(3, 2) == 0"],
        ),
        ("n = 3\nassert f([n for n in range(3)]) == 3", ["assert f([n for n in range(3)]) == 3"]),
        ("n = 3\nassert f(lambda n: n) == 3", ["assert f(lambda n: n) == 3"]),
    ],
)
def test_tests_stand_alone(code, tests):
    assert test_extraction.tests_in(code, "python") == tests


@pytest.mark.parametrize(
    "reply",
    [
        f"The function:\n```python\n{FUNCTION}\n```\nIts tests:\n```python\nassert f(1) == 2\n```",
        f"```python\n{FUNCTION}\n```\nIts tests:\n```python\nassert f(1) == 2",
        f"```python\n{FUNCTION}\n```\n```\nassert f(1) == 2\n```\nassert f(1) == 2",
        "```python\nassert f(1) == 2\n```\n```sh\npytest\n```",
    ],
    ids=["after the function", "left open", "outside of the block", "before another"],
)
def test_the_block_with_the_tests_is_read(reply):
    assert test_extraction.tests_in_reply(reply, "python", "python", "py") == ["assert f(1) == 2"]


class Interrupting:
    """Garbage whose removal lets another thread run."""

    def __init__(self):
        self.itself = self

    def __del__(self):
        time.sleep(0.001)


@pytest.mark.slow
def test_two_threads_can_parse_at_once():
    done = threading.Event()

    def parse_deeper(depth=60):
        if depth:
            parse_deeper(depth - 1)
        while not done.is_set():
            with suppress(SystemError):
                ast.parse("values = [[[1]]]\n" * 100)

    source, threshold = "def spread(values):\n" + "    values = [values, (1, 2)]\n" * 300, gc.get_threshold()
    other = threading.Thread(target=parse_deeper)
    gc.set_threshold(50)
    other.start()
    try:
        for _ in range(10):
            garbage = [Interrupting() for _ in range(20)]
            del garbage
            assert defines(source, "spread")
    finally:
        gc.set_threshold(*threshold)
        done.set()
        other.join()


def test_many_tests_are_dropped():
    many = "\n".join(f"assert f({n})" for n in range(200))
    assert len(test_extraction.tests_in(many, "python")) == test_extraction.MAX_TESTS


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("assert spread([math.inf]) == 0", True),
        ("assert (n := spread([1])) == n", True),
        ("assert spread(values) == 0", False),
        ("assert (yield spread([1]))", False),
        ("assert other([1]) == 0", False),
        ("spread([1])", False),
    ],
)
def test_validity(test, expected):
    assert valid(test, "spread", "import math") is expected


def test_completions():
    body = assemble(replace(CALLS, stop_tokens=("\ndef",)), f"{RIGHT}\n\ndef main(:\n")
    assert body.startswith(CALLS.prompt)
    assert "main" not in body
    whole = "def spread(numbers: List[int]) -> int:\n    return 0"
    assert assemble(CALLS, whole) == f"from typing import List\n\n{whole}"
    for reply in ("    0\n", "    0\n}\n\nfn main() {\n    let x = ("):
        assert assemble(RUST, reply).count("}") == 1
    assert assemble(replace(CALLS, language="go"), "return 1") == CALLS.prompt + "return 1"


def test_plain_values_survive_json():
    value = {"a": (1, [2.5, None]), 3: {frozenset({1}), b"x"}, "big": 1 << 80, "complex": 1 + 2j}
    assert decode(encode(value)) == value
    for odd in (object(), len, type("Own", (int,), {})(3)):
        with pytest.raises(NotPlainError):
            encode(odd)
    colliding = {"set": [{"int": hex(n * (2**61 - 1))} for n in range(256, 20000)]}
    for data in ({"no": 1}, colliding, {"tuple": 3}, {"complex": [10**400, 0]}):
        with pytest.raises(NotPlainError):
            decode(data)


def test_comparison_and_display():
    assert holds(0.3000001, "close", 0.3, 1e-3)
    assert not holds("0.3", "close", 0.3, 1e-3)
    assert holds(True, "==", 1)
    assert not holds((1, 2), "==", [1, 2])
    assert shown(({"a", "bc", "d"}, frozenset((10, 9)), {1: set()}, (1,))) == (
        "({'a', 'd', 'bc'}, frozenset({9, 10}), {1: set()}, (1,))"
    )
    assert "digits" in shown(10**5000)
    assert shown("x" * 2000).endswith("(2002 characters)")


@pytest.mark.parametrize(
    ("code", "tests"),
    [
        ("i = 0\nfor c in [5, 6]:\n    assert f(c) == [1, 2][i]\n    i += 1", ["assert f(c) == [1, 2][i]"]),
        ("i = 0\nfor c in [5, 6]:\n    i = c\nassert f(i) == 6", ["assert f(i) == 6"]),
        ("for a, b in [(1, 0)]:\n    if b:\n        continue\n    assert f(a) == b", ["assert f(a) == b"]),
        ("x = 3\nassert f([x for x in [1, 2]])", ["assert f([x for x in [1, 2]])"]),
        ("x = 3\nassert f(lambda x: x + 1)", ["assert f(lambda x: x + 1)"]),
        (
            "for a in [1, 2]:\n    with self.subTest(a=a):\n        self.assertTrue(f(a))",
            ["assert f(1)", "assert f(2)"],
        ),
        ("assert (f(1) == 2, 'message')", ["assert f(1) == 2"]),
    ],
    ids=["counter", "after a loop", "continue", "comprehension", "lambda", "subTest", "tuple"],
)
def test_a_test_says_what_its_code_says(code, tests):
    assert test_extraction.tests_in(code, "python") == tests


@pytest.mark.slow
def test_a_long_value_that_is_used_often_is_not_written_out():
    code = f"x = [{'1,' * 300}]\nfor y in [{'1,' * 100}]:\n    assert f({'x,' * 300}y) == 1"
    begun = time.process_time()
    test_extraction.tests_in(code, "python")
    assert time.process_time() - begun < 10
