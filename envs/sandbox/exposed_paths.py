"""The host paths that a sandbox exposes: the system's programs, and the programs on PATH with their installations.

A program on PATH may be anywhere, even below a home or temporary directory. Of the folder above its `bin`, only the
libraries are exposed, unless it is known to hold an installation and nothing else.
"""

import os
import pwd
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache

from langgraph_reflexion.envs.sandbox.types import below

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_ETC = ("ld.so.cache", "alternatives", "localtime", "ssl/openssl.cnf")
_NETWORK = ("resolv.conf", "nsswitch.conf", "ssl/certs", "pki/tls/certs", "pki/ca-trust", "ca-certificates")
_SYSTEM_PATH = ("/usr/local/bin", "/usr/bin", "/bin")
_LIBRARIES = ("lib", "lib32", "lib64", "libexec", "include", "share", "pyvenv.cfg")
_WHOLE = ("go.env", "release")
"""Files beside `bin` that only an installation of Go or Java has, which need more than their libraries."""
# Folders in which people keep all kinds of things, including keys.
_NEVER = {
    *("/", "/tmp", "/var", "/var/tmp", "/home", "/root", "/opt", "/srv", "/mnt", "/media", "/run", "/dev/shm"),
    "/etc",
}
_NEVER_NAMED = {".local", ".cargo", ".config", ".ssh", ".aws"}


@dataclass(frozen=True, slots=True)
class ExposedPaths:
    """The paths to expose, and the PATH to set."""

    paths: tuple[str, ...]
    """Host paths, parents first. Links stay links."""
    path: str
    """The PATH inside."""


def exposed_paths(path: str | None = None, *, network: bool = False) -> ExposedPaths:
    """Return the host paths for the programs on `path`, by default this process's PATH, and for this interpreter.

    With `network`, the files for looking up names and checking certificates are included.
    """
    return _exposed_paths(os.environ.get("PATH", "") if path is None else path, sys.executable, network)


@lru_cache(maxsize=16)
def _exposed_paths(path: str, executable: str, network: bool) -> ExposedPaths:
    shown = [each for each in SYSTEM if os.path.lexists(each)]
    java = [name for name in os.listdir("/etc") if name.startswith("java")]
    names = [*_ETC, *java, *(_NETWORK if network else ())]
    shown += [f"/etc/{name}" for name in names if os.path.exists(f"/etc/{name}")]
    folders: list[str] = []
    for given in [*path.split(os.pathsep), os.path.dirname(executable)]:
        if os.path.isabs(given) and os.path.isdir(given):
            folders += _of_folder(os.path.normpath(given), shown)
    _installation(os.path.join(sys.base_prefix, "bin"), shown)
    outer = {each for each in shown if not any(each.startswith(f"{other}/") for other in shown)}
    return ExposedPaths(tuple(sorted(outer)), os.pathsep.join(dict.fromkeys([*folders, *_SYSTEM_PATH])))


def _of_folder(folder: str, shown: list[str]) -> list[str]:
    """Show a folder of programs, and return its replacement in the PATH inside."""
    above = os.path.dirname(folder)
    if _within(folder, shown):
        return [folder]
    if os.path.basename(folder) == "shims" and os.path.isdir(f"{above}/versions") and not _private(above):
        # pyenv and the like: scripts that choose among the versions next to them.
        _show(above, shown)
        return [folder]
    if _private(folder):
        return []
    toolchain = _rust_toolchain(folder)
    if toolchain:
        _show(toolchain, shown)
    _installation(folder, shown)
    for entry in os.scandir(folder):
        real = os.path.realpath(entry.path)
        if entry.is_symlink() and entry.is_file() and os.access(real, os.X_OK) and not _within(real, shown):
            # Anything may be next to it: the link may point to a script among somebody's notes.
            inside = os.path.dirname(real)
            if os.path.basename(inside) == "bin" and not _private(inside):
                _installation(inside, shown)
            else:
                _show(real, shown)
    return [f"{toolchain}/bin", folder] if toolchain else [folder]


def _installation(folder: str, shown: list[str]) -> None:
    """Show a folder of programs, and the libraries next to it."""
    _show(folder, shown)
    prefix = os.path.dirname(folder)
    if os.path.basename(folder) not in ("bin", "sbin"):
        return
    if not _private(prefix) and any(os.path.isfile(os.path.join(prefix, name)) for name in _WHOLE):
        _show(prefix, shown)
    elif not _private(prefix) or os.path.isfile(os.path.join(prefix, "pyvenv.cfg")):
        for path in (os.path.join(prefix, name) for name in _LIBRARIES):
            if os.path.exists(path):
                _show(path, shown)


def _show(path: str, shown: list[str]) -> None:
    """Show a path, and its real path if they differ."""
    shown += [each for each in dict.fromkeys([path, os.path.realpath(path)]) if not _within(each, shown)]


def _within(path: str, folders: list[str]) -> bool:
    return any(below(path, folder) for folder in folders)


def _private(folder: str) -> bool:
    """Whether people keep more than programs in a folder."""
    real = os.path.realpath(folder)
    if {folder, real} & _NEVER or os.path.basename(real) in _NEVER_NAMED or os.path.dirname(real) == "/home":
        return True
    homes = {os.path.expanduser("~"), *(each.pw_dir for each in pwd.getpwall())} - {"", "/"}
    return any(below(os.path.realpath(home), real) for home in homes)


def _rust_toolchain(folder: str) -> str | None:
    """Return the toolchain behind rustup's proxies, which need their owner's home."""
    if not os.path.exists(f"{folder}/rustup"):
        return None
    try:
        asked = [f"{folder}/rustc", "--print", "sysroot"]
        root = subprocess.run(asked, capture_output=True, text=True, timeout=30, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None
    return root if os.path.isdir(f"{root}/bin") else None
