"""Stored values that call a function when they are read: each would make a folder."""

import json
import pickle
import sqlite3
from contextlib import closing

import ormsgpack
import pytest


@pytest.fixture
def folder_made(tmp_path):
    """The folder that a poisoned value makes if it is run."""
    return tmp_path / "made by a stored value"


def edit(file, *statement):
    """Change a database."""
    with closing(sqlite3.connect(file)) as connection, connection:
        assert connection.execute(*statement).rowcount > 0


class _MakesFolder:
    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        import os

        return os.mkdir, (self.folder,)


def poisons(folder):
    """Return values of every kind that names a callable, by the kind's name: LangGraph's encoding and the bytes.

    Args:
        folder: The path that each would make.
    """
    path = str(folder)
    calls = {
        "one argument": (0, ("os", "mkdir", path)),
        "arguments": (1, ("os", "mkdir", [path])),
        "named arguments": (2, ("os", "mkdir", {"path": path})),
        "a method": (3, ("os", "mkdir", path, "__call__")),
        "a model of pydantic 1": (4, ("os", "mkdir", {"path": path})),
        "a model of pydantic 2": (5, ("os", "mkdir", {"path": path}, "model_validate_json")),
    }
    made = {name: ("msgpack", _packed(code, parts)) for name, (code, parts) in calls.items()}
    # A value within others is reached, too.
    inner = ormsgpack.Ext(0, ormsgpack.packb(("os", "mkdir", path)))
    made["within a list of a message"] = ("msgpack", ormsgpack.packb({"content": [inner]}))
    outer = ("langchain_core.messages.ai", "AIMessage", {"content": inner}, "model_validate_json")
    made["within a message"] = ("msgpack", _packed(5, outer))
    constructor = {"lc": 2, "type": "constructor", "id": ["os", "mkdir"], "args": [path], "kwargs": {}}
    made["json"] = ("json", json.dumps(constructor).encode())
    made["pickle"] = ("pickle", pickle.dumps(_MakesFolder(path)))
    return made


def _packed(code, parts):
    return ormsgpack.packb(ormsgpack.Ext(code, ormsgpack.packb(parts)))


POISONS = tuple(poisons("/"))
"""The names of the kinds."""
