"""Folders on the host's disk that a run works in: made, told apart from what killed runs have left, and removed."""

import contextlib
import fcntl
import os
import stat
import tempfile
import uuid

PREFIX = "langgraph-reflexion-sandbox-"


def make(above: str) -> tuple[str, int]:
    """A folder for one run, and a descriptor that holds a lock on it for as long as this process lives.

    Args:
        above: Where it is made.

    Raises:
        OSError: it cannot be made.
    """
    while True:
        path = tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=above)
        with contextlib.suppress(FileNotFoundError, BlockingIOError):
            held = _opened(path)
            try:
                _lock(held)
                if os.stat(path).st_ino == os.fstat(held).st_ino:
                    return path, held
            except OSError:
                os.close(held)
                raise
            os.close(held)
        # A sweep came between the making and the lock.


def _lock(place: int) -> None:
    try:
        fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        return  # there are no locks on this file system, so that no sweep gets one either


def sweep(above: str) -> None:
    """Remove the folders of runs whose process was killed before it could. Never raises.

    The lock tells, and not the number of the process: agents in different PID namespaces may share a folder.

    Args:
        above: Where they lie.
    """
    with contextlib.suppress(OSError):
        for name in os.listdir(above):
            if name.startswith(PREFIX):
                with contextlib.suppress(OSError):
                    _remove_if_left(os.path.join(above, name))


def _remove_if_left(path: str) -> None:
    place = _opened(path)
    try:
        fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _empty(place)
        os.rmdir(path)
    finally:
        os.close(place)


def remove(path: str) -> None:
    """Remove a folder with all that a program has left in it. Never raises; what cannot be removed stays.

    Args:
        path: The folder. Nothing that a link in it leads to is touched.
    """
    with contextlib.suppress(OSError):
        place = _opened(path)
        try:
            _empty(place)
        finally:
            os.close(place)
        os.rmdir(path)


def _empty(top: int) -> None:
    """Remove all below an open folder.

    Folders in folders are moved up first, so that none lies deep: where names would be too long for the kernel, and
    levels too many for descriptors or for calls within calls.
    """
    waiting, token, count = _without_files(top), uuid.uuid4().hex, 0
    while waiting:
        name = waiting.pop()
        with contextlib.suppress(OSError):
            place = _opened(name, top)
            try:
                for inner in _without_files(place):
                    count += 1
                    with contextlib.suppress(OSError):
                        os.close(_opened(inner, place))  # it has to be writable to be moved
                        os.rename(inner, f"{token}-{count}", src_dir_fd=place, dst_dir_fd=top)
                        waiting.append(f"{token}-{count}")
            finally:
                os.close(place)
            os.rmdir(name, dir_fd=top)


def _without_files(place: int) -> list[str]:
    """Remove what is no folder from an open folder. Returns the names of the folders in it."""
    folders = []
    with os.scandir(place) as entries:
        found = list(entries)
    for entry in found:
        if entry.is_dir(follow_symlinks=False):
            folders.append(entry.name)
        else:
            with contextlib.suppress(OSError):
                os.unlink(entry.name, dir_fd=place)
    return folders


def _opened(name: str, above: int | None = None) -> int:
    """Open a folder, and no link to one, after making it possible to."""
    place = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
    try:
        itself = f"/proc/self/fd/{place}"
        if os.fstat(place).st_mode & stat.S_IRWXU != stat.S_IRWXU:
            os.chmod(itself, stat.S_IRWXU)
        return os.open(itself, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    finally:
        os.close(place)
