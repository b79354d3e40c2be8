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
    try:
        _git_apply(repo, patch, "--check", cwd=folder)
    except EnvironmentFault as fault:
        try:
            _git_apply(repo, patch, "--reverse", "--check", cwd=folder)
        except EnvironmentFault:
            raise ConfigurationError(f"the patch does not apply to {folder}, which is unchanged: {fault}") from None
        return f"{folder}: {patch} was applied before."
    touched = _touched(repo, patch)
    with tempfile.TemporaryDirectory(prefix="applying-") as name:
        kept = Path(name)
        for number, path in enumerate(touched):
            place = folder / path
            if place.is_symlink() or place.is_file():
                shutil.copy2(place, kept / str(number), follow_symlinks=False)
        try:
            _git_apply(repo, patch, cwd=folder)
        except EnvironmentFault as fault:
            _roll_back(touched, kept, folder)
            raise ConfigurationError(f"{folder} cannot be written; nothing was changed: {fault}") from None
        # Also if the user interrupts it.
        except BaseException:
            _roll_back(touched, kept, folder)
            raise
    return f"{folder}: {patch} was applied."


def _git_apply(repo: SnapshotRepo, patch: Path, *options: str, cwd: Path | None = None) -> bytes:
    return repo.git("apply", "--whitespace=nowarn", *options, END, str(patch.absolute()), cwd=cwd)


def _touched(repo: SnapshotRepo, patch: Path) -> list[str]:
    """Return the paths that a patch changes, adds or removes."""
    rows = _git_apply(repo, patch, "--numstat", "-z")
    # The reverse patch has the files' old names.
    rows += _git_apply(repo, patch, "--reverse", "--numstat", "-z")
    paths = set()
    for row in rows.split(b"\0")[:-1]:
        _, _, path = row.split(b"\t", 2)
        paths.add(os.fsdecode(path))
    return sorted(paths)


def _roll_back(paths: list[str], kept: Path, folder: Path) -> None:
    """Put the files that were kept back, each named by its number, and remove those that were not there."""
    # A path that cannot be written now was not written before; a folder with other files is not ours.
    for path in reversed(paths):
        place = folder / path
        with suppress(OSError):
            if place.is_dir() and not place.is_symlink():
                place.rmdir()
            else:
                place.unlink()
    for number, path in enumerate(paths):
        before = kept / str(number)
        place = folder / path
        with suppress(OSError):
            if os.path.lexists(before):
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(before, place, follow_symlinks=False)
