"""The notebooks, executed again. `python -m tests.docs.notebooks [FILE...]` writes their new outputs.

`--base-url URL` is the server of the notebook that takes a language model by name.
"""

import argparse
import os
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[2] / "notebooks"
BY_LANGUAGE_MODEL = FOLDER / "06_small_model.ipynb"
"""A notebook in which a language model plays: no two runs have the same outputs."""
NOTEBOOKS = [path for path in sorted(FOLDER.glob("*.ipynb")) if path != BY_LANGUAGE_MODEL]
"""The notebooks whose outputs can be repeated."""

OWN_SERVER = "http://localhost:11434/v1"
"""The reader's own model server, as a notebook names it."""
SECONDS = 1800
"""The longest time of one cell: a small model may take long on one core."""


def executed(path, base_url=OWN_SERVER):
    """Return a notebook with new outputs, and otherwise as it is: no times, no versions of this machine.

    `base_url` is the model server to call in place of the reader's own.
    """
    notebook = nbformat.read(path, as_version=4)
    written = [cell.source for cell in notebook.cells]
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.source = cell.source.replace(OWN_SERVER, base_url)
    resources = {"metadata": {"path": path.parent}}
    client = NotebookClient(
        notebook, timeout=SECONDS, coalesce_streams=True, record_timing=False, resources=resources
    )
    kept = notebook.metadata.copy()
    client.execute()
    notebook.metadata = kept
    for cell, source in zip(notebook.cells, written, strict=True):
        cell.source = source
    return notebook


if __name__ == "__main__":
    os.environ["GIT_DIR"] = "/nonexistent"  # outputs name the version, not a commit
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="*", type=Path, default=NOTEBOOKS)
    parser.add_argument("--base-url", default=OWN_SERVER)
    given = parser.parse_args()
    for path in given.files:
        nbformat.write(executed(path, given.base_url), path)
