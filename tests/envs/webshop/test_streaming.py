"""Large JSON files, entry by entry: whatever `json` reads, wherever a piece ends, and never all of it at once."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from langgraph_reflexion.envs.webshop.streaming import entries, stream
from langgraph_reflexion.errors import ConfigurationError, EnvironmentUnavailable

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


class Dribbling:
    """A file that gives a few characters at a time, however many are asked for."""

    def __init__(self, text, size):
        self.text, self.size, self.most = text, size, 0

    def read(self, _):
        piece, self.text = self.text[: self.size], self.text[self.size :]
        return piece


@given(st.lists(VALUES, max_size=5), st.integers(1, 9), st.sampled_from([None, 2]))
def test_a_list_is_read_wherever_pieces_end(values, size, indent):
    text = json.dumps(values, indent=indent)
    assert list(entries(Dribbling(text, size))) == [("", value) for value in values]


@given(st.dictionaries(st.text(max_size=4), VALUES, max_size=5), st.integers(1, 9))
def test_an_object_is_read_wherever_pieces_end(values, size):
    text = f" {json.dumps(values, ensure_ascii=False)}\n"
    assert list(entries(Dribbling(text, size))) == list(values.items())


def test_what_pythons_json_writes_beyond_the_standard_is_read(tmp_path):
    file = tmp_path / "odd.json"
    file.write_text('\ufeff[NaN, -Infinity, "\\ud83d", 1e400]', encoding="utf-8")
    read = [value for _, value in stream(file)]
    assert [repr(value) for value in read] == ["nan", "-inf", repr("\ud83d"), "inf"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(cut=st.integers(0, 40))
def test_a_file_that_was_cut_off_is_an_error_after_what_was_whole(tmp_path, cut):
    text = '[{"a": 1}, {"b": [2, "x"]}, {"c": null}]'
    file = tmp_path / "cut.json"
    file.write_text(text[:cut])
    read = []
    if cut == len(text):
        assert len(list(stream(file))) == 3
        return
    with pytest.raises(ConfigurationError, match=r"cut\.json is no whole list or object of JSON: "):
        read.extend(stream(file))


@pytest.mark.parametrize(
    "text", ["", "7", '"text"', "[1 2]", "[1,]", '{"a" 1}', "{1: 2}", "[1] [2]", "[1]]", "[" * 9999]
)
def test_what_is_no_such_json_is_an_error_with_the_files_name(tmp_path, text):
    file = tmp_path / "wrong.json"
    file.write_text(text)
    with pytest.raises(ConfigurationError, match=r"wrong\.json is no whole list or object of JSON: "):
        list(stream(file))


def test_bytes_that_are_no_text_and_a_file_that_is_not_there(tmp_path):
    file = tmp_path / "bytes.json"
    file.write_bytes(b'["\xff\xfe"]')
    with pytest.raises(ConfigurationError, match="is no whole list"):
        list(stream(file))
    with pytest.raises(EnvironmentUnavailable, match="cannot be read: No such file"):
        list(stream(tmp_path / "none.json"))
