"""The sandbox backends, and probes of which work on this machine."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from functools import lru_cache

from langgraph_reflexion.envs.sandbox.client import carry_out
from langgraph_reflexion.envs.sandbox.exposed_paths import exposed_paths
from langgraph_reflexion.envs.sandbox.helper import landlock, protocol
from langgraph_reflexion.envs.sandbox.limits import Limits
from langgraph_reflexion.errors import EnvironmentFault, EnvironmentUnavailable

HOST = "unsafe-bare-host"
"""No sandbox at all; never chosen automatically."""


@dataclass(frozen=True, slots=True)
class Backend:
    """A way to contain a run."""

    name: str
    contains: str
    lets_through: str
    fix: str
    """How to make it work."""
    tool: str = ""
    """The program that it needs."""
    automatic: bool = False
    """Whether it may be chosen automatically."""


@dataclass(frozen=True, slots=True)
class Probe:
    """Whether a backend works here."""

    works: bool
    words: str
    """The output of the probe."""


_BACKENDS = (
    Backend(
        "bubblewrap",
        contains="files, network, processes, signals, IPC, CPU, wall time, memory, number of processes, disk, output",
        lets_through="nothing that was tried; folders bound writable have no quota",
        fix="install bubblewrap (apt install bubblewrap, version 0.8 or newer), and allow user namespaces "
        "(sysctl user.max_user_namespaces=15000; on Ubuntu also kernel.apparmor_restrict_unprivileged_userns=0)",
        tool="bwrap",
        automatic=True,
    ),
    Backend(
        "landlock",
        contains="files, network, signals, IPC, CPU, wall time, memory, number of processes, output",
        lets_through="modes and times of your files, sizes of all files, the sum of disk use, the host's name",
        fix="use a kernel with Landlock: 6.12 or newer, or as root 6.2 (lsm=landlock on its command line)",
        automatic=True,
    ),
    Backend(
        HOST,
        contains="CPU, wall time, memory, number of processes, output, unless the program works around it",
        lets_through="files, network, signals: everything that this user may do",
        fix="",
    ),
)
BACKENDS = {each.name: each for each in _BACKENDS}


@lru_cache(maxsize=32)
def probe(name: str) -> Probe:
    """Run a command in one of `BACKENDS`. The result is cached for the life of the process."""
    backend = BACKENDS[name]
    if backend.tool and not tool(name):
        return Probe(False, f"{backend.tool}: not found on PATH")
    seen = exposed_paths("/usr/bin:/bin")
    request = protocol.Request(
        backend=name,
        argv=["/bin/sh", "-c", "printf ready >&3"],
        limits=Limits(),
        env={"PATH": seen.path},
        files={},
        exposed=seen.paths,
        tool=tool(name),
    )
    try:
        if name == "landlock":
            _require_landlock()
        done = carry_out(request)
    except (EnvironmentFault, OSError) as error:
        return Probe(False, " ".join(str(error).split()))
    if done.status == "ok" and done.result == b"ready":
        return Probe(True, "ran a command")
    said = " ".join(done.errors.split())
    return Probe(False, f"{done.status}, status {done.exit_code}: {said}")


def tool(name: str) -> str:
    """Return the path of the program that a backend needs, if there is one."""
    return shutil.which(BACKENDS[name].tool) or ""


def choose(name: str | None = None) -> str:
    """Return this backend, or the first of bubblewrap and Landlock that works.

    Raises:
        EnvironmentUnavailable: it does not work, or none does. The message quotes each probe and how to fix it.
    """
    what = "no sandbox works here"
    candidates = [each for each in BACKENDS.values() if each.automatic]
    if name:
        what = f"the sandbox {name} does not work here"
        candidates = [BACKENDS[name]]
    failed = []
    for backend in candidates:
        tried = probe(backend.name)
        if tried.works:
            return backend.name
        failed.append(f"{backend.name}: {tried.words}.")
        if backend.fix:
            failed.append(f"To fix it, {backend.fix}.")
    raise EnvironmentUnavailable(f"{what}. {' '.join(failed)}")


def _require_landlock() -> None:
    # Older versions do not restrict signals, and nothing else does where runs share a user with other processes.
    needed = 6
    if os.geteuid() == 0:
        needed = 3
    has = landlock.version()
    if has < needed:
        raise OSError(f"this kernel has version {has} of Landlock, version {needed} is required")
