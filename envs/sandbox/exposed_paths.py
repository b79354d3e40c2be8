"""The host paths that a sandbox exposes: the system's programs, and the programs on PATH with their installations.

A program on PATH may be anywhere, even below a home or temporary directory. It is exposed together with its
installation: the virtual environment and its base interpreter, a Rust toolchain, a folder with `bin` and `lib`. A
home directory, or a folder that contains one, is never exposed; if an installation is one, only its `bin` and the
site-packages of a virtual environment are.
"""

import glob
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
    shown: dict[str, None] = dict.fromkeys(each for each in SYSTEM if os.path.lexists(each))
    names = (*_ETC, *(name for name in _listed("/etc") if name.startswith("java")), *(_NETWORK if network else ()))
    shown.update(dict.fromkeys(f"/etc/{name}" for name in names if os.path.exists(f"/etc/{name}")))
    found = _Finder(shown)
    folders = []
    for folder in [*path.split(os.pathsep), os.path.dirname(executable)]:
        if os.path.isabs(folder) and os.path.isdir(folder):
            folders += [each for each in found.folder(os.path.normpath(folder)) if each not in folders]
    folders += [each for each in _SYSTEM_PATH if each not in folders]
    outer = [each for each in shown if not any(each.startswith(f"{other}/") for other in shown if other != each)]
    return ExposedPaths(tuple(sorted(outer)), os.pathsep.join(folders))


class _Finder:
    def __init__(self, shown: dict[str, None]) -> None:
        self.shown = shown

    def folder(self, folder: str) -> list[str]:
        """Show a folder of programs, and return its replacement in the PATH inside."""
        if _within(folder, self.shown):
            return [folder]
        above = os.path.dirname(folder)
        shims = os.path.basename(folder) == "shims" and os.path.isdir(os.path.join(above, "versions"))
        if shims and not _private(above):
            # pyenv and the like: scripts that choose among the versions next to them.
            self.show(above)
            return [folder]
        if _private(folder):
            return []
        toolchain = _rust_toolchain(folder)
        if toolchain:
            self.show(toolchain)
        self.installation(folder)
        for entry in os.scandir(folder):
            if entry.is_symlink() and entry.is_file():
                self.program(entry.path)
        return [os.path.join(toolchain, "bin"), folder] if toolchain else [folder]

    def program(self, program: str) -> None:
        """Show the target of a link."""
        real = os.path.realpath(program)
        if not _within(real, self.shown) and os.access(real, os.X_OK):
            folder = os.path.dirname(real)
            if os.path.basename(folder) == "bin":
                self.installation(folder)
            if not _within(real, self.shown):
                # Anything may be next to it: the link may point to a script among somebody's notes.
                bare = os.path.basename(folder) != "bin" or _private(folder)
                self.show(real if bare else folder)

    def installation(self, folder: str) -> None:
        """Show the installation of a folder of programs, or at least the folder."""
        prefix = os.path.dirname(folder)
        settings = os.path.join(prefix, "pyvenv.cfg")
        virtual = os.path.isfile(settings)
        library = any(os.path.isdir(os.path.join(prefix, name)) for name in ("lib", "lib64", "libexec"))
        whole = virtual or (library and os.path.basename(folder) in ("bin", "sbin"))
        if whole and not _private(prefix):
            self.show(prefix)
        elif not _private(folder):
            self.show(folder)
            if virtual:
                # A virtual environment in a home directory itself works, too.
                for path in (settings, *glob.glob(f"{glob.escape(prefix)}/lib*/python*/site-packages")):
                    self.show(path)
        home = _base(settings) if virtual else None
        if home and os.path.isdir(home) and not _within(os.path.realpath(home), self.shown):
            self.installation(os.path.realpath(home))

    def show(self, path: str) -> None:
        """Show a path, and its real path if they differ."""
        self.shown[path] = None
        real = os.path.realpath(path)
        if not _within(real, self.shown):
            self.shown[real] = None


def _within(path: str, folders: dict[str, None]) -> bool:
    return any(below(path, folder) for folder in folders)


def _private(folder: str) -> bool:
    """Whether people keep more than programs in a folder."""
    real = os.path.realpath(folder)
    if {folder, real} & _NEVER or os.path.basename(real) in _NEVER_NAMED or os.path.dirname(real) == "/home":
        return True
    return any(below(home, real) for home in _homes())


@lru_cache(maxsize=1)
def _homes() -> frozenset[str]:
    known = {os.path.expanduser("~"), *(each.pw_dir for each in pwd.getpwall())}
    return frozenset(os.path.realpath(home) for home in known if home not in ("", "/"))


def _base(settings: str) -> str | None:
    with open(settings, encoding="utf-8") as file:
        for line in file:
            name, equals, value = line.partition("=")
            if equals and name.strip() == "home":
                return value.strip()
    return None


def _rust_toolchain(folder: str) -> str | None:
    """Return the toolchain behind rustup's proxies, which need their owner's home."""
    compiler = os.path.join(folder, "rustc")
    if os.path.basename(os.path.realpath(compiler)) != "rustup" and not os.path.exists(
        os.path.join(folder, "rustup")
    ):
        return None
    try:
        asked = subprocess.run(
            [compiler, "--print", "sysroot"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    root = asked.stdout.strip()
    return root if asked.returncode == 0 and os.path.isdir(os.path.join(root, "bin")) else None


def _listed(folder: str) -> list[str]:
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []
