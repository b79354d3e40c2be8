"""The backends, and finding out by running which of them work on this machine."""

import os
import shutil
from dataclasses import dataclass
from functools import lru_cache

from langgraph_reflexion.envs.sandbox.contract import Limits
from langgraph_reflexion.envs.sandbox.exchange import carry_out
from langgraph_reflexion.envs.sandbox.helper import landlock, wire
from langgraph_reflexion.envs.sandbox.launcher import shared
from langgraph_reflexion.envs.sandbox.visible import visible
from langgraph_reflexion.errors import EnvironmentFault, EnvironmentUnavailable

HOST = "unsafe-bare-host"
"""No sandbox at all. It is never chosen by itself."""


@dataclass(frozen=True, slots=True)
class Backend:
    """One way to contain a run."""

    name: str
    contains: str
    """What it keeps in, in a sentence."""
    lets_through: str
    """What it does not."""
    fix: str
    """What to do where it does not work."""
    tool: str = ""
    """The program that it needs."""
    automatic: bool = False
    """It may be chosen by itself."""


@dataclass(frozen=True, slots=True)
class Probe:
    """Whether a backend works here."""

    works: bool
    words: str
    """What trying it said."""


_NAMESPACES = "files, network, processes, signals, IPC, CPU, wall time, memory, number of processes, disk, output"
_IMAGE_ONLY = "nothing that was tried; programs come from an image and not from this machine"
BACKENDS = {
    each.name: each
    for each in (
        Backend(
            "bubblewrap",
            contains=_NAMESPACES,
            lets_through="nothing that was tried; folders bound writable have no quota",
            fix="install bubblewrap (apt install bubblewrap, version 0.8 or newer), and allow user namespaces "
            "(sysctl user.max_user_namespaces=15000; on Ubuntu also kernel.apparmor_restrict_unprivileged_userns=0)",
            tool="bwrap",
            automatic=True,
        ),
        Backend(
            "landlock",
            contains="files, network, signals, IPC, CPU, wall time, memory, number of processes, output",
            lets_through="disk use (each file is limited, their sum is not); process numbers and name are the host's",
            fix="use a kernel with Landlock: 6.12 or newer, or as root 6.2 (lsm=landlock on its command line)",
            automatic=True,
        ),
        Backend(
            "docker", _NAMESPACES, _IMAGE_ONLY, fix="install Docker, start it, and pull the image", tool="docker"
        ),
        Backend(
            "podman",
            _NAMESPACES,
            _IMAGE_ONLY,
            fix="install Podman (apt install podman) and pull the image",
            tool="podman",
        ),
        Backend(
            HOST,
            contains="CPU, wall time, memory, number of processes, output, unless it is out to get around that",
            lets_through="files, network, signals: everything that this user may do",
            fix="",
        ),
    )
}
IMAGE = "docker.io/library/python:3.11-slim"
"""What containers are made from unless something else is said."""


@lru_cache(maxsize=32)
def probe(name: str, image: str = IMAGE) -> Probe:
    """Run a command in a backend and see. Done once in a process.

    Args:
        name: One of `BACKENDS`.
        image: For containers.
    """
    backend = BACKENDS[name]
    if backend.tool and not shutil.which(backend.tool):
        return Probe(False, f"{backend.tool}: not found on PATH")
    try:
        if name == "landlock":
            _landlock_suffices()
        done = carry_out(shared(), trial(name, image), [], Limits())
    except (EnvironmentFault, OSError) as error:
        return Probe(False, " ".join(str(error).split()))
    if done.status == "ok" and done.result == b"stands":
        return Probe(True, "ran a command")
    return Probe(False, f"{done.status}, status {done.exit_code}: {' '.join(done.errors.split())}")


def trial(name: str, image: str = IMAGE) -> wire.Request:
    """The request that a backend is tried with."""
    shown = visible("/usr/bin:/bin")
    return wire.Request(
        backend=name,
        argv=["/bin/sh", "-c", "printf stands >&3"],
        env={"PATH": shown.path},
        visible=list(shown.paths),
        binds=[],
        cwd=None,
        files=[],
        collect=[],
        limits=limit_values(Limits()),
        network=False,
        fork=True,
        role="program",
        inherit=False,
        tool=shutil.which(BACKENDS[name].tool) or "",
        image=image,
    )


def limit_values(limits: Limits) -> wire.LimitValues:
    """The limits that the helper applies."""
    return wire.LimitValues(
        wall=limits.wall,
        cpu=limits.cpu,
        memory=limits.memory,
        processes=limits.processes,
        descriptors=limits.descriptors,
        disk=limits.disk,
        files=limits.files,
    )


def choose(name: str | None = None, image: str = IMAGE) -> Backend:
    """The backend of that name, or the first that works.

    Args:
        name: One of `BACKENDS`; None chooses between bubblewrap and Landlock.
        image: For containers.

    Raises:
        EnvironmentUnavailable: it does not work, or none does. The message has each probe's own words and the fix.
    """
    candidates = [BACKENDS[name]] if name else [each for each in BACKENDS.values() if each.automatic]
    failed = []
    for backend in candidates:
        tried = probe(backend.name, image)
        if tried.works:
            return backend
        failed.append(f"{backend.name}: {tried.words}." + (f" To fix it, {backend.fix}." if backend.fix else ""))
    what = f"the sandbox {name} does not work here" if name else "no sandbox works here"
    raise EnvironmentUnavailable(f"{what}. {' '.join(failed)}")


def _landlock_suffices() -> None:
    """Older versions leave out what no other wall holds: signals, where runs share a user with others."""
    needed = 3 if os.geteuid() == 0 else 6
    if (has := landlock.version()) < needed:
        raise OSError(f"this kernel has version {has} of Landlock, and version {needed} is needed")
