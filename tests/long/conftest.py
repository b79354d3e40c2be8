import pytest

from tests.support.cli import home, server

__all__ = ["home", "server"]


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark everything in this folder: `make test` leaves it out."""
    item.add_marker("long")
