"""What a run in a sandbox is given, and what comes back."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from langgraph_reflexion.errors import ConfigurationError

MB = 1 << 20

Status = Literal["ok", "failed", "timeout", "cpu", "memory", "output", "files"]


_LONGEST_SECONDS = 10**9
_BOUNDS = {
    "memory": (4 * MB, 1 << 60),
    "processes": (1, 1 << 30),
    "descriptors": (16, 1 << 30),
    "disk": (4096, 1 << 60),
    "files": (16, 1 << 40),
    "output": (1, 1 << 40),
    "result": (0, 1 << 40),
}
"""With less no program starts, or none is limited, as 0 is no limit for the kernel; it cannot count further."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may use. What passes a limit is ended, or gets an error of its own, as the field says.

    Where the host itself allows less, it is that.

    Raises:
        ConfigurationError: a number is none, or one with which nothing could run.
    """

    wall: float | None = 10.0
    """Seconds from when the sandbox stands; then it is ended (`timeout`). None: as long as it takes."""
    cpu: float = 10.0
    """Seconds of CPU of all its processes together; then it is ended (`cpu`)."""
    memory: int = 1024 * MB
    """Bytes of all its processes together; then it is ended (`memory`). One process that asks for twice as much
    gets an error instead."""
    processes: int = 64
    """Processes and threads; beyond, starting one fails."""
    descriptors: int = 256
    """Open files of one process; beyond, opening one fails."""
    disk: int = 64 * MB
    """Bytes of the files that it writes, and of the largest one; beyond, writing fails. Shared memory has 64 MB
    of its own. Behind Landlock, and in folders bound writable, only each file is limited."""
    files: int = 10_000
    """Files that it makes; beyond, it is ended (`files`). Not behind Landlock, nor in folders bound writable."""
    output: int = 64 * 1024
    """Bytes kept of standard output and of standard error, half from the beginning and half from the end. It is ended
    (`output`) when it has written 256 times as much."""
    result: int = MB
    """Bytes on the result descriptor, and as many times 64 of collected files; beyond, it is ended (`output`)."""

    def __post_init__(self) -> None:
        """Refuse what would only be found out by a run."""
        for name in ("wall", "cpu"):
            seconds = getattr(self, name)
            if name == "wall" and seconds is None:
                continue
            number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
            if not number or not 0 < seconds <= _LONGEST_SECONDS:
                most = f"more than 0 and at most {_LONGEST_SECONDS}" + (", or None" if name == "wall" else "")
                raise ConfigurationError(f"Limits({name}={_said(seconds)}): give seconds, {most}")
        for name, (least, most_) in _BOUNDS.items():
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most_:
                raise ConfigurationError(
                    f"Limits({name}={_said(value)}): give a whole number from {least} to {most_}"
                )


def _said(value: object) -> str:
    # Python refuses to write out the largest numbers.
    return "a huge number" if isinstance(value, int) and abs(value) > 1 << 70 else repr(value)


@dataclass(frozen=True, slots=True)
class Bind:
    """A folder or file of the host that is there inside as well."""

    source: Path
    target: Path | None = None
    """Where it is inside; at its own path unless given. Landlock knows no other place."""
    writable: bool = False
    """Whether the host's own files may be changed."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What a run may see and do."""

    network: bool = False
    """The host's network, with all that can be reached over it, the host's own loopback services among them. Unix
    sockets are then refused, as the host's abstract ones would be within reach."""
    fork: bool = True
    """Whether it may start processes. Threads it always may."""
    binds: tuple[Bind, ...] = ()
    """What it sees of the host beside interpreters and compilers."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Environment variables, beside HOME, PATH, TMPDIR, USER and LANG. Nothing is taken over from the agent."""


@dataclass(frozen=True, slots=True)
class Result:
    """How a run ended. A sandbox that did not start has no result: that is an `EnvironmentFault`."""

    status: Status
    """`ok` for exit status 0, `failed` for any other, or the limit that ended it."""
    exit_code: int
    """As in a shell: 128 and the signal's number where a signal ended it."""
    stdout: bytes
    stderr: bytes
    result: bytes
    """What it wrote on descriptor 3. It may have written anything: who decides what it is worth is the caller."""
    files: dict[str, bytes]
    """The files that were asked for, as far as they were there and fitted."""
    seconds: float
    """Wall time, from when the sandbox stood."""
    cpu: float
    """Seconds of CPU, a few milliseconds for the start of the sandbox among them."""
    memory: int
    """The most memory that was seen at once, in bytes; 0 for a run too short to be looked at."""
    truncated: bool
    """Some of its output is left out."""
    backend: str

    @property
    def text(self) -> str:
        """Standard output as text."""
        return self.stdout.decode(errors="replace")

    @property
    def errors(self) -> str:
        """Standard error as text."""
        return self.stderr.decode(errors="replace")
