"""One process at a time on a run folder."""

import contextlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.experiments.record import holds_run

LOCK = "lock"
"""The file that is held. It stays in the folder: what counts is whether a process holds it."""

try:
    import fcntl
except ImportError:  # Windows has no fcntl: there, nothing keeps two processes from one folder
    fcntl = None  # type: ignore[assignment]

PATIENCE_SECONDS = 3.0
"""Seconds to wait for workers whose driver was killed: they share its hold and end when they notice."""


@contextmanager
def locked(folder: Path) -> Iterator[int]:
    """Hold a run folder. The kernel lets go of it when this process ends, however it ends.

    Args:
        folder: The folder; it is made. Where no run is begun, nothing of it stays.

    Yields:
        The descriptor of what is held. A process that inherits it shares the hold, for as long as it lives.

    Raises:
        ConfigurationError: another process holds it, or it cannot be written to.
    """
    made = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        new = not (folder / LOCK).exists()
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise ConfigurationError(f"cannot write the run to {folder}: {error.strerror}") from error
    try:
        _hold(descriptor, folder)
        try:
            yield descriptor
        finally:
            if new and not holds_run(folder):
                (folder / LOCK).unlink(missing_ok=True)
                with contextlib.suppress(OSError):  # something is in it by now
                    for each in made:
                        each.rmdir()
    finally:
        os.close(descriptor)


def _hold(descriptor: int, folder: Path) -> None:
    if fcntl is None:
        return
    deadline = time.monotonic() + PATIENCE_SECONDS
    try:
        while not _held(descriptor) and time.monotonic() < deadline:
            time.sleep(0.02)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The file may have been removed between opening and locking it: then what is held is nothing.
        held = os.path.samestat(os.fstat(descriptor), (folder / LOCK).stat())
    except BlockingIOError as error:
        raise ConfigurationError(f"another process is at work on {folder}: wait for it, or stop it") from error
    except FileNotFoundError:
        held = False
    except OSError as error:
        raise ConfigurationError(f"cannot lock {folder}: {error.strerror}") from error
    if not held:
        raise ConfigurationError(f"another process was at work on {folder}: try again")


def _held(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
