"""Which paths of the host a sandbox shows: the system's programs, and those on PATH with what belongs to them.

A program on PATH may lie anywhere, below a home or temporary directory too. It is shown with the installation that it
belongs to: the virtual environment and its base interpreter, a Rust toolchain, a folder with `bin` and `lib`. A home
directory itself, or a folder that holds one, is never shown; where an installation would be that, its `bin` alone is,
and what a virtual environment has installed.
"""

import glob
import os
import pwd
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache

from langgraph_reflexion.envs.sandbox.checks import below

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_ETC = ("ld.so.cache", "alternatives", "localtime", "ssl/openssl.cnf")
_NETWORK = ("resolv.conf", "nsswitch.conf", "ssl/certs", "pki/tls/certs", "pki/ca-trust", "ca-certificates")
_SYSTEM_PATH = ("/usr/local/bin", "/usr/bin", "/bin")
# Folders in which people keep things of all kinds, keys among them.
_NEVER = {
    *("/", "/tmp", "/var", "/var/tmp", "/home", "/root", "/opt", "/srv", "/mnt", "/media", "/run", "/dev/shm"),
    "/etc",
}
_NEVER_NAMED = {".local", ".cargo", ".config", ".ssh", ".aws"}
_MOST_SCRIPTS = 400


@dataclass(frozen=True, slots=True)
class Visible:
    """What is shown."""

    paths: tuple[str, ...]
    """Host paths, those above others first. Links are to be made again as links."""
    path: str
    """The PATH inside."""


def visible(path: str | None = None, *, network: bool = False) -> Visible:
    """What a sandbox shows of this host.

    Args:
        path: The PATH whose programs are shown; this process's unless given. The interpreter that runs this is
            always shown.
        network: Also what is needed to look up names and check certificates.
    """
    return _visible(os.environ.get("PATH", "") if path is None else path, sys.executable, network)


@lru_cache(maxsize=16)
def _visible(path: str, executable: str, network: bool) -> Visible:
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
    return Visible(tuple(sorted(outer)), os.pathsep.join(folders))


class _Finder:
    def __init__(self, shown: dict[str, None]) -> None:
        self.shown = shown

    def folder(self, folder: str) -> list[str]:
        """Show a folder of programs. Returns what stands for it in the PATH inside."""
        if _within(folder, self.shown):
            return [folder]
        above = os.path.dirname(folder)
        shims = os.path.basename(folder) == "shims" and os.path.isdir(os.path.join(above, "versions"))
        if shims and not _private(above):
            # pyenv and its like: scripts that choose among the versions beside them.
            self.show(above)
            return [folder]
        if _private(folder):
            return []
        toolchain = _rust_toolchain(folder)
        if toolchain:
            self.show(toolchain)
        self.installation(folder)
        scripts = [entry for entry in os.scandir(folder) if entry.is_file()][:_MOST_SCRIPTS]
        for entry in scripts:
            self.program(entry.path)
        return [os.path.join(toolchain, "bin"), folder] if toolchain else [folder]

    def program(self, program: str) -> None:
        """Show what a program leads to: the file behind a link, and a script's interpreter."""
        real = os.path.realpath(program)
        if not _within(real, self.shown) and os.access(real, os.X_OK):
            folder = os.path.dirname(real)
            if os.path.basename(folder) == "bin":
                self.installation(folder)
            if not _within(real, self.shown):
                # Beside it may lie anything: a link may lead to a script among somebody's notes.
                bare = os.path.basename(folder) != "bin" or _private(folder)
                self.show(real if bare else folder)
        interpreter = _interpreter(real)
        if interpreter and not _within(os.path.realpath(interpreter), self.shown):
            self.installation(os.path.dirname(interpreter))
            self.program(interpreter)

    def installation(self, folder: str) -> None:
        """Show the installation that a folder of programs belongs to, or at least the folder."""
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
                # An environment made in a home itself works, too.
                for path in (settings, *glob.glob(f"{glob.escape(prefix)}/lib*/python*/site-packages")):
                    self.show(path)
        home = _base(settings) if virtual else None
        if home and os.path.isdir(home) and not _within(os.path.realpath(home), self.shown):
            self.installation(os.path.realpath(home))

    def show(self, path: str) -> None:
        """Show a path, and the one behind it where it is reached through links."""
        self.shown[path] = None
        real = os.path.realpath(path)
        if not _within(real, self.shown):
            self.shown[real] = None


def _within(path: str, folders: dict[str, None]) -> bool:
    return any(below(path, folder) for folder in folders)


def _private(folder: str) -> bool:
    """Whether a folder is a place where people keep more than programs."""
    real = os.path.realpath(folder)
    if {folder, real} & _NEVER or os.path.basename(real) in _NEVER_NAMED or os.path.dirname(real) == "/home":
        return True
    return any(below(home, real) for home in _homes())


@lru_cache(maxsize=1)
def _homes() -> frozenset[str]:
    known = {os.path.expanduser("~"), *(each.pw_dir for each in pwd.getpwall())}
    return frozenset(os.path.realpath(home) for home in known if home not in ("", "/"))


def _base(settings: str) -> str | None:
    """The folder of the interpreter that a virtual environment was made with."""
    with open(settings, encoding="utf-8") as file:
        for line in file:
            name, equals, value = line.partition("=")
            if equals and name.strip() == "home":
                return value.strip()
    return None


def _interpreter(script: str) -> str | None:
    try:
        with open(script, "rb") as file:
            first = file.readline(256)
    except OSError:
        return None
    words = first[2:].split() if first.startswith(b"#!") else []
    path = os.fsdecode(words[0]) if words else ""
    return path if os.path.isabs(path) and os.path.exists(path) else None


def _rust_toolchain(folder: str) -> str | None:
    """The toolchain behind rustup's proxies, which need their owner's home."""
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
