"""Makes folders that only root can reach visible to the user that a run of root's is handed to.

It is done in a mount namespace of this process's own: the host sees nothing of it, and it is gone with the process.
A folder on the way that the user may not enter is covered by an empty one that holds what is to be seen and nothing
else. Folders to be written to are mounted with their owner and the user exchanged, so that they keep their owner.
"""

import contextlib
import ctypes
import os
import signal
import stat
import struct
from collections.abc import Iterable
from pathlib import Path

from langgraph_reflexion.envs.sandbox.helper import kernel

_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
_AT_EMPTY_PATH, _AT_RECURSIVE, _CLONE_TREE, _FROM_EMPTY_PATH = 0x1000, 0x8000, 1, 4
_ATTR_IDMAP = 0x00100000


def stage(readable: Iterable[str], writable: Iterable[str], user: int) -> None:
    """Let `user` reach these paths, each at its own place.

    Args:
        readable: Paths that need only be read.
        writable: Folders to be written to.
        user: Who is going to. Only this process and its children see what is done.

    Raises:
        OSError: mounting is not allowed here.
    """
    blocked = {path: _blocker(path) for path in readable if os.path.exists(path)}
    given = [path for path in writable if os.path.exists(path) and os.stat(path).st_uid != user]
    blocked.update({path: _blocker(path) for path in given})
    swapped = {path for path in blocked if path in given or not _open_to_all(path)}
    todo = sorted(path for path, blocker in blocked.items() if blocker or path in swapped)
    if not todo:
        return
    kernel.unshare(kernel.CLONE_NEWNS)
    kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    owners = {path: (os.stat(path).st_uid, os.stat(path).st_gid) for path in swapped}
    mappings = {owner: _mapping(owner, user) for owner in set(owners.values())}
    trees = {path: detach(path, mappings[owners[path]] if path in swapped else -1) for path in todo}
    for cover in sorted({blocker for blocker in blocked.values() if blocker}):
        # One that lies below another is covered already.
        if os.path.isdir(cover) and not os.stat(cover).st_mode & stat.S_IXOTH:
            kernel.mount("none", cover, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "mode=0755,size=1m")
    for path, tree in trees.items():
        attach(path, tree)
    for mapping in mappings.values():
        os.close(mapping)


def reachable(path: str) -> bool:
    """Whether any user can read a path as it is."""
    return _blocker(path) is None and _open_to_all(path)


def _blocker(path: str) -> str | None:
    """The first folder above a path that others may not enter."""
    for folder in reversed(Path(path).parents):
        if not folder.stat().st_mode & stat.S_IXOTH:
            return str(folder)
    return None


def _open_to_all(path: str) -> bool:
    mode = os.stat(path).st_mode
    wanted = stat.S_IROTH | stat.S_IXOTH if stat.S_ISDIR(mode) else stat.S_IROTH
    return mode & wanted == wanted


def detach(path: str, mapping: int = -1) -> int:
    """A detached copy of what is mounted at a path, as a descriptor.

    Args:
        path: What is copied, with all that is mounted below it.
        mapping: A user namespace by whose mapping files change hands; -1 for none.
    """
    name = ctypes.c_char_p(os.fsencode(path))
    tree = kernel.syscall("open_tree", _OPEN_TREE, -100, name, _CLONE_TREE | _AT_RECURSIVE | os.O_CLOEXEC)
    if mapping >= 0:
        attributes = ctypes.create_string_buffer(struct.pack("QQQQ", _ATTR_IDMAP, 0, 0, mapping))
        empty = ctypes.c_char_p(b"")
        try:
            kernel.syscall("mount_setattr", _MOUNT_SETATTR, tree, empty, _AT_EMPTY_PATH, attributes, 32)
        except OSError as error:
            raise OSError(
                error.errno, f"{path} belongs to another user, and its owner cannot be mapped: {error}"
            ) from None
    return tree


def attach(path: str, tree: int) -> None:
    """Mount a detached copy at a path, which is made if need be."""
    folder = stat.S_ISDIR(os.fstat(tree).st_mode)
    os.makedirs(path if folder else os.path.dirname(path), mode=0o755, exist_ok=True)
    if not folder and not os.path.exists(path):
        Path(path).touch(0o644)
    empty, name = ctypes.c_char_p(b""), ctypes.c_char_p(os.fsencode(path))
    kernel.syscall("move_mount", _MOVE_MOUNT, tree, empty, -100, name, _FROM_EMPTY_PATH)
    os.close(tree)


def _mapping(owner: tuple[int, int], user: int) -> int:
    """A user namespace, as a descriptor, in which an owner on the disk, and a group, are `user`."""
    ready, done = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(OSError):
            kernel.unshare(kernel.CLONE_NEWUSER)
            os.write(done, b"+")
            signal.pause()
        os._exit(1)
    os.close(done)
    try:
        if not os.read(ready, 1):
            raise OSError("where user namespaces are off, root cannot lend a folder to the sandbox")
        for name, number in zip(("uid_map", "gid_map"), owner, strict=True):
            Path(f"/proc/{child}/{name}").write_text(f"{number} {user} 1\n", encoding="utf-8")
        return os.open(f"/proc/{child}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.close(ready)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
