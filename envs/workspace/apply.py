"""Application of a patch to a user's folder: all of it, or nothing."""

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from langgraph_reflexion.envs.workspace.snapshots import END, SnapshotRepo
from langgraph_reflexion.errors import ConfigurationError, EnvironmentFault


def apply_patch(repo: SnapshotRepo, patch: Path, folder: Path) -> str:
    """Apply a patch to a folder, without its own settings, hooks and filters, and return a sentence on the outcome.

    Raises:
        ConfigurationError: the patch does not apply, or the folder cannot be written.
    """
    if not patch.stat().st_size:
        return f"{folder}: there is nothing to change."
    words, named = ("apply", "--whitespace=nowarn"), (END, str(patch.absolute()))
    try:
        repo.git(*words, "--check", *named, cwd=folder)
    except EnvironmentFault as fault:
        try:
            repo.git(*words, "--reverse", "--check", *named, cwd=folder)
        except EnvironmentFault:
            raise ConfigurationError(f"the patch does not apply to {folder}, which is unchanged: {fault}") from None
        return f"{folder}: {patch} was applied before."
    # The reverse patch has the files' old names.
    rows = repo.git(*words, "--numstat", "-z", *named) + repo.git(*words, "--reverse", "--numstat", "-z", *named)
    touched = sorted({os.fsdecode(row.split(b"\t", 2)[2]) for row in rows.split(b"\0")[:-1]})
    with tempfile.TemporaryDirectory(prefix="applying-") as kept:
        for number, path in enumerate(touched):
            if (folder / path).is_symlink() or (folder / path).is_file():
                shutil.copy2(folder / path, Path(kept, str(number)), follow_symlinks=False)
        try:
            repo.git(*words, *named, cwd=folder)
        except BaseException as error:
            _roll_back(touched, Path(kept), folder)
            if isinstance(error, EnvironmentFault):
                raise ConfigurationError(f"{folder} cannot be written; nothing was changed: {error}") from None
            raise
    return f"{folder}: {patch} was applied."


def _roll_back(paths: list[str], kept: Path, folder: Path) -> None:
    # A path that cannot be written now was not written before; a folder with other files is not ours.
    for path in reversed(paths):
        place = folder / path
        with suppress(OSError):
            if place.is_dir() and not place.is_symlink():
                place.rmdir()
            else:
                place.unlink()
    for number, path in enumerate(paths):
        with suppress(OSError):
            if os.path.lexists(kept / str(number)):
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(kept / str(number), folder / path, follow_symlinks=False)
