"""The notebooks, executed again. `python -m tests.docs.notebooks [FILE...]` writes their new outputs."""

import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


def executed(path):
    """Return a notebook with new outputs, and otherwise as it is: no times, no versions of this machine."""
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": path.parent}}
    client = NotebookClient(notebook, timeout=300, coalesce_streams=True, record_timing=False, resources=resources)
    kept = notebook.metadata.copy()
    client.execute()
    notebook.metadata = kept
    return notebook


if __name__ == "__main__":
    os.environ["GIT_DIR"] = "/nonexistent"  # outputs name the version, not a commit
    for path in map(Path, sys.argv[1:] or NOTEBOOKS):
        nbformat.write(executed(path), path)
