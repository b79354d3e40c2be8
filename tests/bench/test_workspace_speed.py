"""The measurement of the workspace: on few files, that it measures what it says."""

import pytest

from langgraph_reflexion.envs.sandbox import probe
from tests.performance.workspace_speed import measure, write_repository


def test_few_files_are_measured():
    if not probe("bubblewrap").works:
        pytest.skip(f"bubblewrap does not work here: {probe('bubblewrap').words}")
    told = measure(250, 2)
    assert told["files"] == 250
    assert all(value > 0 for value in told.values())


def test_the_repository_is_the_same_every_time(tmp_path):
    assert write_repository(tmp_path / "a", 120) == write_repository(tmp_path / "b", 120)
    assert len(list((tmp_path / "a").rglob("*.txt"))) == 120
