import json
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_reflexion.envs.webshop.streaming import stream
from langgraph_reflexion.errors import ConfigurationError, EnvironmentUnavailable

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**15), 10**15) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=30)
@given(st.lists(VALUES, max_size=5) | st.dictionaries(TEXTS, VALUES, max_size=5), st.sampled_from([None, 2]))
def test_entries_are_those_of_json(tmp_path_factory, content, indent):
    file = tmp_path_factory.mktemp("json") / "file.json"
    file.write_text(json.dumps(content, indent=indent), encoding="utf-8")
    assert list(stream(file)) == list(content.items() if isinstance(content, dict) else (("", c) for c in content))


def test_a_byte_order_mark_is_skipped_and_numbers_are_floats(tmp_path):
    file = tmp_path / "odd.json"
    file.write_text("\ufeff [1.5, 2, 1e3]", encoding="utf-8")
    assert [value for _, value in stream(file)] == [1.5, 2, 1000.0]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"7",
        b'"text"',
        b"[1 2]",
        b"[1,]",
        b'{"a" 1}',
        b"{1: 2}",
        b"[1] [2]",
        b"[1]]",
        b'[{"a": 1}, {"b"',
        b'["\xff"]',
    ],
)
def test_an_invalid_file_is_named(tmp_path, content):
    file = tmp_path / "wrong.json"
    file.write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"wrong\.json"):
        list(stream(file))


def test_a_missing_file_or_extra_is_named(tmp_path, monkeypatch):
    with pytest.raises(EnvironmentUnavailable, match=r"none\.json"):
        list(stream(tmp_path / "none.json"))
    monkeypatch.setitem(sys.modules, "ijson", None)
    with pytest.raises(EnvironmentUnavailable, match=r"\[webshop\]"):
        list(stream(tmp_path / "none.json"))
