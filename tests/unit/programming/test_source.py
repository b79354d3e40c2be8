"""Python source: tests in a reply, completions as programs, comparison of plain values, names of languages."""

import warnings
from dataclasses import replace

import pytest

from langgraph_reflexion.envs.programming import test_extraction
from langgraph_reflexion.envs.programming.assemble import assemble
from langgraph_reflexion.envs.programming.python_source import helpers, valid
from langgraph_reflexion.envs.programming.sandbox_runner import NotPlainError, decode, encode
from langgraph_reflexion.envs.programming.values import holds, shown
from tests.support.programming.cheats import RIGHT
from tests.support.programming.spread import CALLS, RUST


def test_tests_are_extracted():
    reply = (
        "Here they are:\nassert spread([1]) == 0\nassert spread([1) == 0\n  assert other(2)\nassert spread([ 1]) == 0"
    )
    assert test_extraction.tests_in(reply, "python") == ["assert spread([1]) == 0", "assert other(2)"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        several = "def test_it():\n    assert spread(\n        [1, 2]) == 1, 'far'\n\nassert 1 == 1\n"
        assert test_extraction.tests_in(several, "python") == ["assert spread([1, 2]) == 1", "assert 1 == 1"]
    assert test_extraction.tests_in("assert!(spread(vec![4,\n 4]) == 0);", "rust") == [
        "assert!(spread(vec![4, 4]) == 0);"
    ]


def test_long_deep_and_many_tests_are_dropped():
    deep = "assert spread([1]) == " + "1+" * 5000 + "1"
    long = f"assert spread({[1] * 1000}) == 0"
    assert test_extraction.tests_in(f"{deep}\n{long}\nassert spread([1]) == 0", "python") == [
        "assert spread([1]) == 0"
    ]
    assert (
        len(test_extraction.tests_in("\n".join(f"assert f({n})" for n in range(200)), "python"))
        == test_extraction.MAX_TESTS
    )


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
    assert helpers(CALLS.prompt, "spread") == "from typing import List"
    assert assemble(RUST, "    0\n").count("}") == 1
    assert assemble(RUST, "    0\n}\n\nfn main() {\n    let x = (").count("}") == 1
    go = replace(CALLS, language="go")
    assert assemble(go, "return 1") == go.prompt + "return 1"


def test_plain_values_survive_json():
    value = {"a": (1, [2.5, None]), 3: {frozenset({1}), b"x"}, "big": 1 << 80, "complex": 1 + 2j}
    assert decode(encode(value)) == value
    for odd in (object(), len, type("Own", (int,), {})(3)):
        with pytest.raises(NotPlainError):
            encode(odd)
    for data in ({"no": 1}, {"set": [{"int": hex(n * (2**61 - 1))} for n in range(256, 20000)]}, {"tuple": 3}):
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
