import io
import tarfile

import pytest

from langgraph_reflexion.envs.sandbox.archive import Names, unpack
from langgraph_reflexion.envs.sandbox.client import Capture


def test_capture_keeps_both_ends():
    capture = Capture(10, 100)
    for number in range(30):
        capture.take(b"%d" % (number % 10))
    assert capture.kept == b"01234\n[... 20 bytes left out ...]\n56789"
    assert capture.truncated
    assert not capture.flooded


@pytest.mark.parametrize("name", ["../up", "/etc/up", "link", "other", "folder/../../up"])
def test_only_collected_files_are_unpacked(name):
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as writer:
        info = tarfile.TarInfo(name)
        if name == "link":
            info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
        else:
            info.size = 3
        writer.addfile(info, io.BytesIO(b"abc"))
    assert unpack(content.getvalue(), ["link", "folder"]) == {}


def test_malformed_archives_are_empty():
    header = tarfile.TarInfo("././@LongLink")
    header.type, header.size = b"L", 5
    chain = (header.tobuf(tarfile.GNU_FORMAT) + b"aaaa\0".ljust(512, b"\0")) * 3000
    assert unpack(chain, ["."]) == {}
    negative = bytearray(tarfile.TarInfo("a").tobuf(tarfile.GNU_FORMAT))
    negative[124:136] = b"\xff" * 12
    assert unpack(bytes(negative) * 2, ["."]) == {}
    assert unpack(b"no archive" * 100, ["a"]) == {}


def test_first_of_conflicting_names_wins():
    names = ["a", "a/b", "c/d", "c", "a", "n" * 200 + "/m", "o/" * 40 + "p" * 250, "q/" * 120 + "q"]
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.GNU_FORMAT) as writer:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = len(name)
            writer.addfile(info, io.BytesIO(name.encode()))
    made = content.getvalue()
    taken = ["a", "c/d", "n" * 200 + "/m", "o/" * 40 + "p" * 250]
    assert unpack(made, ["."]) == {name: name.encode() for name in taken}
    assert unpack(made[:512], ["."]) == {}
    possible = Names()
    assert [bool(possible.add(name)) for name in ("x", "x", "x/y", "../x", "", ".")] == [False, False, *[True] * 4]
