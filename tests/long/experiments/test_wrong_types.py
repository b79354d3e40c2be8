"""Every value of a run folder's first rows, with every wrong type in its place."""

import shutil

import pytest

from tests.faces.test_wrong_types import FILES, fails_of, real
from tests.support.wrong_types import variants

__all__ = ["real"]  # a fixture


@pytest.mark.parametrize("file", FILES)
def test_every_wrong_type_is_read_or_refused_in_one_line(real, tmp_path, file):
    folder = shutil.copytree(real, tmp_path / "run")
    changes = list(variants((folder / file).read_text()))
    assert len(changes) > 500
    assert fails_of(folder, file, changes) == []
