"""Writing a patch into a folder that is not ours: all of it, or nothing."""

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from langgraph_reflexion.envs.workspace.shadow import Shadow
from langgraph_reflexion.errors import ConfigurationError, EnvironmentFault


def apply_patch(shadow: Shadow, patch: Path, folder: Path) -> str:
    """Apply a patch to a folder as it is now.

    Args:
        shadow: Its git is used, so that no setting, hook or filter of the folder's own is.
        patch: The file.
        folder: The folder.

    Returns:
        What was done, in words.

    Raises:
        ConfigurationError: the patch does not fit the folder, or the folder cannot be written.
    """
    if not patch.stat().st_size:
        return f"{folder}: there is nothing to change."
    words = ("apply", "--whitespace=nowarn", str(patch.absolute()))
    try:
        shadow.git(*words, "--check", cwd=folder)
    except EnvironmentFault as fault:
        try:
            shadow.git(*words, "--reverse", "--check", cwd=folder)
        except EnvironmentFault:
            raise ConfigurationError(f"{folder} is not as it was, and nothing was changed: {fault}") from None
        return f"{folder}: {patch} had been applied."
    # Turned round, it names what files were called before.
    rows = shadow.git(*words, "--numstat", "-z") + shadow.git(*words, "--reverse", "--numstat", "-z")
    touched = sorted({os.fsdecode(row.split(b"\t", 2)[2]) for row in rows.split(b"\0")[:-1]})
    with tempfile.TemporaryDirectory(prefix="applying-") as kept:
        for number, path in enumerate(touched):
            if (folder / path).is_symlink() or (folder / path).is_file():
                shutil.copy2(folder / path, Path(kept, str(number)), follow_symlinks=False)
        try:
            shadow.git(*words, cwd=folder)
        except BaseException as error:
            _bring_back(touched, Path(kept), folder)
            if isinstance(error, EnvironmentFault):
                raise ConfigurationError(f"{folder} cannot be written, and is as it was: {error}") from None
            raise
    return f"{folder}: {patch} was applied."


def _bring_back(paths: list[str], kept: Path, folder: Path) -> None:
    # What cannot be written now has not been written before; and a folder that holds more is not ours.
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
