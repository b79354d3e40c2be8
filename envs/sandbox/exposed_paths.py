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
    "/",
    "/tmp",
    "/var",
    "/var/tmp",
    "/home",
    "/root",
    "/opt",
    "/srv",
    "/mnt",
    "/media",
    "/run",
    "/dev/shm",
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
    if path is None:
        path = os.environ.get("PATH", "")
    return _exposed_paths(path, sys.executable, network)


@lru_cache(maxsize=16)
def _exposed_paths(path: str, executable: str, network: bool) -> ExposedPaths:
    shown = [each for each in SYSTEM if os.path.lexists(each)]
    shown += _configuration(network)
    given_folders = path.split(os.pathsep)
    given_folders.append(os.path.dirname(executable))
    folders: list[str] = []
    for given in given_folders:
        if os.path.isabs(given) and os.path.isdir(given):
            folders += _of_folder(os.path.normpath(given), shown)
    # Those of a virtual environment are in the installation that it was made from.
    _installation(os.path.join(sys.base_prefix, "bin"), shown)
    folders += _SYSTEM_PATH
    once = dict.fromkeys(folders)
    return ExposedPaths(_outermost(shown), os.pathsep.join(once))


def _configuration(network: bool) -> list[str]:
    """Return the files in /etc that programs need."""
    names = list(_ETC)
    names += [name for name in os.listdir("/etc") if name.startswith("java")]
    if network:
        names += _NETWORK
    paths = [f"/etc/{name}" for name in names]
    return list(filter(os.path.exists, paths))


def _outermost(paths: list[str]) -> tuple[str, ...]:
    """Return the paths that lie below no other, sorted and each once."""
    outer = set()
    for path in paths:
        if not any(path.startswith(f"{other}/") for other in paths):
            outer.add(path)
    return tuple(sorted(outer))


def _of_folder(folder: str, shown: list[str]) -> list[str]:
    """Show a folder of programs, and return its replacement in the PATH inside."""
    if _within(folder, shown):
        return [folder]
    above = os.path.dirname(folder)
    shims = os.path.basename(folder) == "shims" and os.path.isdir(f"{above}/versions")
    if shims and not _private(above):
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
        if entry.is_symlink() and entry.is_file():
            _linked(os.path.realpath(entry.path), shown)
    if toolchain:
        return [f"{toolchain}/bin", folder]
    return [folder]


def _linked(program: str, shown: list[str]) -> None:
    """Show a program that lies elsewhere, by its real path."""
    if not os.access(program, os.X_OK) or _within(program, shown):
        return
    folder = os.path.dirname(program)
    if os.path.basename(folder) == "bin" and not _private(folder):
        _installation(folder, shown)
    else:
        # Anything may be next to it: the link may point to a script among somebody's notes.
        _show(program, shown)


def _installation(folder: str, shown: list[str]) -> None:
    """Show a folder of programs, and the libraries next to it."""
    _show(folder, shown)
    prefix = os.path.dirname(folder)
    if os.path.basename(folder) not in ("bin", "sbin"):
        return
    private = _private(prefix)
    if not private and _has_file(prefix, _WHOLE):
        _show(prefix, shown)
        return
    # A virtual environment holds an installation only, wherever it is.
    if private and not _has_file(prefix, ("pyvenv.cfg",)):
        return
    for name in _LIBRARIES:
        path = os.path.join(prefix, name)
        if os.path.exists(path):
            _show(path, shown)


def _has_file(folder: str, names: tuple[str, ...]) -> bool:
    return any(os.path.isfile(os.path.join(folder, name)) for name in names)


def _show(path: str, shown: list[str]) -> None:
    """Show a path, and its real path if they differ."""
    real = os.path.realpath(path)
    missing = [each for each in dict.fromkeys([path, real]) if not _within(each, shown)]
    shown += missing


def _within(path: str, folders: list[str]) -> bool:
    return any(below(path, folder) for folder in folders)


def _private(folder: str) -> bool:
    """Whether people keep more than programs in a folder."""
    real = os.path.realpath(folder)
    if folder in _NEVER or real in _NEVER:
        return True
    if os.path.basename(real) in _NEVER_NAMED or os.path.dirname(real) == "/home":
        return True
    # A folder above somebody's home is as private as the home itself.
    homes = {user.pw_dir for user in pwd.getpwall()}
    homes.add(os.path.expanduser("~"))
    # Users without a home have one of these.
    homes -= {"", "/"}
    return any(below(os.path.realpath(home), real) for home in homes)


def _rust_toolchain(folder: str) -> str | None:
    """Return the toolchain behind rustup's proxies, which need their owner's home."""
    if not os.path.exists(f"{folder}/rustup"):
        return None
    command = [f"{folder}/rustc", "--print", "sysroot"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    root = done.stdout.strip()
    if not os.path.isdir(f"{root}/bin"):
        return None
    return root
