"""The helper's program: it supervises one run, in an interpreter with the standard library only.

    python bootstrap.py CONTROL REQUEST STDIN STDOUT STDERR RESULT COLLECTED

The arguments are descriptors; see `Streams`.

The parent packages are replaced by empty ones, so that nothing else of the project is imported. The helper starts for
every run, so it does without modules that take longer to import than it takes to start a program: `re`, `typing`,
`json`, `signal`, `contextlib`, `collections`, `importlib` and what imports them.
"""

import os
import sys
from types import ModuleType

HOME = "langgraph_reflexion.envs.sandbox.helper"


def load(name: str) -> ModuleType:
    """Import a module of the helper by its short name."""
    parts = HOME.split(".")
    for end in range(1, len(parts) + 1):
        package = ModuleType(".".join(parts[:end]))
        package.__path__ = [os.path.dirname(os.path.realpath(__file__))]
        sys.modules[package.__name__] = package
    __import__(f"{HOME}.{name}")
    return sys.modules[f"{HOME}.{name}"]


if __name__ == "__main__":
    load("supervisor").main(*map(int, sys.argv[1:]))
