"""Pickles of strangers: plain data is read, and nothing is ever imported or run."""

import gzip
import os
import pickle
import zlib
from pathlib import Path
from typing import Any

import pytest

from langgraph_reflexion import ConfigurationError
from langgraph_reflexion.replication.pickles import MOST_BYTES, read_pickle

PLAIN = [{"question": "Who?", "answer": None, "n": [1, 2.5, True], "nested": ({"a": b"x"}, {1, 2})}]
SAME = [PLAIN, PLAIN]


def write(folder: Path, content: bytes) -> Path:
    path = folder / "agents.joblib"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("packed", [bytes, zlib.compress, gzip.compress, lambda data: zlib.compress(data, 1)])
def test_plain_data_is_read(tmp_path: Path, protocol: int, packed: Any) -> None:
    # Sets are plain from protocol 4 on.
    data = SAME if protocol >= 4 else [{"question": "Who?", "n": [1, 2.5, True, None]}] * 2
    assert read_pickle(write(tmp_path, packed(pickle.dumps(data, protocol)))) == data


class Runs:
    """Makes a folder when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.marker),)


def hostile(marker: Path) -> dict[str, bytes]:
    """Pickles that run code in each of the ways there are, each of which makes the folder."""
    name = str(marker).encode()
    make = b"(S'" + name + b"'\n"
    return {
        "reduce": pickle.dumps([{"question": Runs(marker)}]),
        "reduce 2": pickle.dumps(Runs(marker), 2),
        "global 0": b"cos\nmkdir\n" + make + b"tR.",
        "inst": make + b"ios\nmkdir\n.",
        "obj": b"(cos\nmkdir\nS'" + name + b"'\no.",
        "stack global": b"\x80\x04\x8c\x02os\x8c\x05mkdir\x93" + make + b"tR.",
        "builtins": b'cbuiltins\neval\n(S\'__import__("os").mkdir("' + name + b"\")'\ntR.",
        "behind data": pickle.dumps(PLAIN)[:-1] + b"0cos\nmkdir\n" + make + b"tR.",
        "zlib": zlib.compress(pickle.dumps(Runs(marker))),
    }


@pytest.mark.parametrize("way", hostile(Path("/nowhere")))
def test_a_pickle_that_would_run_code_is_refused_and_runs_none(tmp_path: Path, way: str) -> None:
    marker = tmp_path / "made"
    content = hostile(marker)[way]
    with pytest.raises(ConfigurationError, match=r"refused, and nothing in it run.*(mkdir|eval)"):
        read_pickle(write(tmp_path, content))
    assert not marker.exists()
    # It is no test of anything unless the pickle works.
    pickle.loads(zlib.decompress(content) if way == "zlib" else content)
    assert marker.exists()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "no pickle that can be read"),
        (pickle.dumps(PLAIN)[:-5], "no pickle that can be read"),
        (b"Psomewhere\n.", "refused.*another store"),
        (b"\x80\x02\x82\x01.", "no pickle that can be read"),
        (b"\x80\x04Nr\xff\xff\xff\xff.X", None),
        (b"\x80\x04\x8c\x03abc\x8c\x03def\x86R.", "no pickle that can be read"),
        (b"\x80\x04}\x8c\x01ab.", "no pickle that can be read"),
        (b"no pickle at all", "no pickle that can be read"),
        (b"\x78\x9c\xff\xff\xffdamaged", "cannot be read"),
    ],
)
def test_what_is_no_pickle_of_plain_data_is_said(tmp_path: Path, content: bytes, why: str | None) -> None:
    path = write(tmp_path, content)
    if why is None:
        # An index that a memo in C would make room for.
        assert read_pickle(path) is None
        return
    with pytest.raises(ConfigurationError, match=why):
        read_pickle(path)


def test_a_file_that_grows_without_end_is_not_read(tmp_path: Path) -> None:
    content = zlib.compress(bytes(MOST_BYTES + 2))
    assert len(content) < 1 << 20
    with pytest.raises(ConfigurationError, match="larger than 64 MB"):
        read_pickle(write(tmp_path, content))


def test_what_grows_when_it_is_written_out_is_refused_at_once(tmp_path: Path) -> None:
    nested: list[object] = []
    for _ in range(60):
        nested = [nested, nested]
    with pytest.raises(ConfigurationError, match=r"refused.*another store"):
        read_pickle(write(tmp_path, pickle.dumps(nested)[:-1] + b"Q."))
