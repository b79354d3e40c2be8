from tests.support.cli import home, server

__all__ = ["home", "server"]
