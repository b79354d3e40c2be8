"""Lazy imports: the names of a package that are imported when they are first used."""

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazy_names(
    package: str, module_of: Mapping[str, str]
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__all__`, `__getattr__` and `__dir__` of a package, by the full name of the module of each name."""

    def get(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = importlib.import_module(module_of[name])
        value = getattr(module, name)
        # The next time, Python finds it without this function.
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        known = set(module_of)
        if "__version__" in vars(sys.modules[package]):
            known.add("__version__")
        return sorted(known)

    return sorted(module_of), get, names
