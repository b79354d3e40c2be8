from tests.support.cli import home, server

__all__ = ["home", "server"]


def pytest_itemcollected(item):
    """Mark everything in this folder, so that `make test` skips it."""
    item.add_marker("long")
