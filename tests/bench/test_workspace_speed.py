"""The measurement of the workspace: on few files, that it measures what it says."""

import pytest

from langgraph_reflexion.bench.workspace_speed import measure, write_repository


@pytest.mark.needs("bubblewrap")
def test_few_files_are_measured():
    told = measure(250, 2)
    assert told["files"] == 250
    assert all(value > 0 for value in told.values())


def test_the_repository_is_the_same_every_time(tmp_path):
    assert write_repository(tmp_path / "a", 120) == write_repository(tmp_path / "b", 120)
    assert len(list((tmp_path / "a").rglob("*.txt"))) == 120
