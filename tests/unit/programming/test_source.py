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


class Interrupting:
    """Garbage whose removal lets another thread run."""

    def __init__(self):
        self.itself = self

    def __del__(self):
        time.sleep(0.001)


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
