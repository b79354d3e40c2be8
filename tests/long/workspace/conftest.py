from tests.support.workspace import folder, play, tested

__all__ = ["folder", "play", "tested"]
