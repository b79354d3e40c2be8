"""Shows Griffe, which reads the package for the reference, the folders that lie at the top of the repository.

Griffe reads files as they lie, where an editable installation finds these folders by an import hook.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import griffe

PACKAGE = "langgraph_reflexion"
FOLDERS = ("envs", "graph", "nodes", "prompts")


class TopFolders(griffe.Extension):
    """Puts the folders into the package as soon as it is loaded."""

    def on_package(self, *, pkg: griffe.Module, loader: griffe.GriffeLoader, **kwargs: Any) -> None:
        """Load the folders from where Python finds them."""
        if pkg.path != PACKAGE:
            return
        for name in FOLDERS:
            spec = find_spec(f"{PACKAGE}.{name}")
            assert spec is not None
            assert spec.origin is not None
            # By its path; by its name, Griffe would look for a package of another origin.
            folder = loader.load(Path(spec.origin).parent)
            pkg.set_member(name, folder)
