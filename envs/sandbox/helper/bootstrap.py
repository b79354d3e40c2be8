"""The start of the helper in a fresh interpreter, without importing the rest of the package.

The helper is forked for every run, so it has to stay small, and contain nothing that the agent has loaded. Its parent
packages are therefore replaced by empty ones.
"""

import os
import sys
from importlib import import_module
from types import ModuleType

HOME = "langgraph_reflexion.envs.sandbox.helper"


def load(name: str) -> ModuleType:
    """Import a module of the helper by its short name."""
    parts = HOME.split(".")
    for end in range(1, len(parts) + 1):
        package = ModuleType(".".join(parts[:end]))
        package.__path__ = [os.path.dirname(os.path.realpath(__file__))]
        sys.modules[package.__name__] = package
    return import_module(f"{HOME}.{name}")


if __name__ == "__main__":
    load("serve").main(sys.argv[1:])
