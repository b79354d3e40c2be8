"""The staging of a run: its folder on the host's disk, and mounts that make root's paths visible to its user.

Mounting is done in a mount namespace of this process: the host does not see it, and it goes away with the process. A
parent folder that the user may not enter is covered by an empty one, which holds only the paths to be seen. Writable
folders are mounted with their owner and the user exchanged, so that files keep their owner.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import select
import stat
import struct

from langgraph_reflexion.envs.sandbox.helper import kernel
from langgraph_reflexion.envs.sandbox.helper.kernel import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

PREFIX = "langgraph-reflexion-sandbox-"
_OPEN_TREE = 428
_MOVE_MOUNT = 429
_MOUNT_SETATTR = 442
_AT_FDCWD = -100
_AT_EMPTY_PATH = 0x1000
_AT_RECURSIVE = 0x8000
_CLONE_TREE = 1
_FROM_EMPTY_PATH = 4
_ATTR_IDMAP = 0x00100000
_PATIENCE = 2.0


def stage(readable: Iterable[str], writable: Iterable[str], user: int) -> None:
    """Make these paths reachable for `user`, for this process and its children only."""
    blockers, swapped = _obstacles(readable, writable, user)
    todo = sorted(path for path, blocker in blockers.items() if blocker or path in swapped)
    if not todo:
        return
    kernel.unshare(kernel.CLONE_NEWNS)
    # Nothing that is mounted from now on reaches the host.
    kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    owners = {path: _owner(path) for path in swapped}
    mappings = {owner: _mapping(owner, user) for owner in set(owners.values())}
    # Before their parents are covered.
    trees = {}
    for path in todo:
        mapping = -1
        if path in swapped:
            mapping = mappings[owners[path]]
        trees[path] = _detach(path, mapping)
    _cover(blockers.values())
    for path, tree in trees.items():
        _attach(path, tree)
    for mapping in mappings.values():
        os.close(mapping)


def _obstacles(readable: Iterable[str], writable: Iterable[str], user: int) -> tuple[dict[str, str | None], set[str]]:
    """Return the blockers by path, and the paths whose owner has to be exchanged with the user."""
    blockers: dict[str, str | None] = {}
    swapped: set[str] = set()
    for path in readable:
        if not os.path.exists(path):
            continue
        blockers[path] = _blocker(path)
        if not _open_to_all(path):
            swapped.add(path)
    for path in writable:
        if os.path.exists(path) and os.stat(path).st_uid != user:
            blockers[path] = _blocker(path)
            swapped.add(path)
    return blockers, swapped


def _cover(blockers: Iterable[str | None]) -> None:
    """Mount an empty folder on each of these."""
    for folder in sorted({blocker for blocker in blockers if blocker}):
        # One below another is already covered.
        if os.path.isdir(folder) and not os.stat(folder).st_mode & stat.S_IXOTH:
            kernel.mount("none", folder, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "mode=0755,size=1m")


def _owner(path: str) -> tuple[int, int]:
    there = os.stat(path)
    return there.st_uid, there.st_gid


def reachable(path: str) -> bool:
    """Whether any user can read a path."""
    return _blocker(path) is None and _open_to_all(path)


def _blocker(path: str) -> str | None:
    """Return the topmost parent folder that other users may not enter."""
    folder = "/"
    for part in os.path.dirname(path).split("/"):
        folder = os.path.join(folder, part)
        if not os.stat(folder).st_mode & stat.S_IXOTH:
            return folder
    return None


def _open_to_all(path: str) -> bool:
    mode = os.stat(path).st_mode
    wanted = stat.S_IROTH
    # A folder is not only listed but entered.
    if stat.S_ISDIR(mode):
        wanted |= stat.S_IXOTH
    return mode & wanted == wanted


def _detach(path: str, mapping: int) -> int:
    """Return a detached copy of the mounts at a path, as a descriptor; `mapping` is a user namespace or -1."""
    name = ctypes.c_char_p(os.fsencode(path))
    flags = _CLONE_TREE | _AT_RECURSIVE | os.O_CLOEXEC
    tree = kernel.syscall("open_tree", _OPEN_TREE, _AT_FDCWD, name, flags)
    if mapping < 0:
        return tree
    attributes = struct.pack("QQQQ", _ATTR_IDMAP, 0, 0, mapping)
    given = ctypes.create_string_buffer(attributes)
    empty = ctypes.c_char_p(b"")
    try:
        kernel.syscall("mount_setattr", _MOUNT_SETATTR, tree, empty, _AT_EMPTY_PATH, given, len(attributes))
    except OSError as error:
        why = f"{path} belongs to another user, and its owner cannot be mapped: {error}"
        raise OSError(error.errno, why) from None
    return tree


def _attach(path: str, tree: int) -> None:
    """Mount a detached copy at a path, which is created if necessary."""
    if stat.S_ISDIR(os.fstat(tree).st_mode):
        os.makedirs(path, mode=0o755, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
        # A file is mounted on a file.
        if not os.path.exists(path):
            os.close(os.open(path, os.O_CREAT, 0o644))
    empty = ctypes.c_char_p(b"")
    name = ctypes.c_char_p(os.fsencode(path))
    kernel.syscall("move_mount", _MOVE_MOUNT, tree, empty, _AT_FDCWD, name, _FROM_EMPTY_PATH)
    os.close(tree)


def _mapping(owner: tuple[int, int], user: int) -> int:
    """Return a user namespace, as a descriptor, that maps an owner and a group on disk to `user`."""
    ready, done = os.pipe()
    child = os.fork()
    if child == 0:
        # It keeps the namespace until it is killed.
        with suppress(OSError):
            kernel.unshare(kernel.CLONE_NEWUSER)
            os.write(done, b"+")
            select.select([], [], [])
        os._exit(1)
    os.close(done)
    try:
        if not os.read(ready, 1):
            raise OSError("root cannot share a folder with the sandbox without user namespaces")
        for name, number in zip(("uid_map", "gid_map"), owner, strict=True):
            with open(f"/proc/{child}/{name}", "w", encoding="utf-8") as file:
                file.write(f"{number} {user} 1\n")
        return os.open(f"/proc/{child}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.close(ready)
        os.kill(child, kernel.SIGKILL)
        os.waitpid(child, 0)


def make(above: str) -> tuple[str, int]:
    """Create a folder for one run, and return it with a descriptor that holds a lock while this process lives."""
    while True:
        path = os.path.join(above, f"{PREFIX}{os.getpid()}-{os.urandom(8).hex()}")
        os.mkdir(path, 0o700)
        with suppress(FileNotFoundError, BlockingIOError):
            folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.exists(path):
                return path, folder
        # A sweep ran between creation and lock.


def sweep(above: str) -> None:
    """Remove the folders in `above` of runs that were killed.

    The lock decides, not the process number: agents in different PID namespaces may share a folder.
    """
    left = []
    opened = []
    for name in os.listdir(above):
        if not name.startswith(PREFIX):
            continue
        path = os.path.join(above, name)
        with suppress(OSError):
            folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            opened.append(folder)
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            left.append(path)
    if left:
        remove(*left, patience=_PATIENCE)
    # The locks are held until here, so that no other sweep removes the same folders.
    for folder in opened:
        os.close(folder)


def remove(*paths: str, patience: float | None = _PATIENCE) -> None:
    """Remove folders with everything in them, without following links. Never raises; what cannot be removed stays.

    A program can make more folders than are removed in the same time, so that after `patience` seconds the removal
    continues in the background.
    """
    removal = 'rm -rf --one-file-system -- "$@"'
    # A program may have taken its own permissions away.
    script = f'{{ {removal} || {{ chmod -R u+rwX -- "$@"; {removal}; }}; }} 2>/dev/null'
    child = os.posix_spawnp("sh", ["sh", "-c", script, "sh", *paths], os.environ)
    ended = os.pidfd_open(child)
    if select.select([ended], [], [], patience)[0]:
        os.waitpid(child, 0)
    os.close(ended)
