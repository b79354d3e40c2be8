"""Executing a notebook takes its time: the notebooks are among the long tests."""

import pytest


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.suffix == ".ipynb":
            item.add_marker(pytest.mark.long)
