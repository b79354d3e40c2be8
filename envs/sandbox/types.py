"""The types of the sandbox's API, and the validation of what callers pass."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from langgraph_reflexion.envs.sandbox.archive import Names
from langgraph_reflexion.envs.sandbox.helper.launch import HOME, WORK
from langgraph_reflexion.errors import ConfigurationError

MB = 1 << 20
MAX_FILES = 200
"""Number of files of a run: bubblewrap writes each from a descriptor, and accepts a few thousand arguments."""

Status = Literal["ok", "failed", "timeout", "cpu", "memory", "output", "files"]

RESERVED = (
    *("/proc", "/dev", "/sys", "/etc", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"),
    *(WORK, HOME),
)
"""Paths inside that belong to the sandbox itself."""
_MAX_SECONDS = 10**9
_MAX_WORD_BYTES = (1 << 17) - 1
_BOUNDS = {
    "memory": (4 * MB, 1 << 60),
    "processes": (1, 1 << 30),
    "descriptors": (16, 1 << 30),
    "disk": (4096, 1 << 60),
    "files": (16, 1 << 40),
    "output": (1, 1 << 40),
    "result": (0, 1 << 40),
}
"""Below the minimum no program starts, or 0 would mean no limit to the kernel; above the maximum it overflows."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Resource limits of a run. Exceeding one ends the run, or fails the system call, as each field says.

    A lower limit of the host applies instead.

    Raises:
        ConfigurationError: a value is not a number, or is out of range.
    """

    wall: float | None = 10.0
    """Seconds from the moment the sandbox is ready; then the run is ended (`timeout`). None: no limit."""
    cpu: float = 10.0
    """Seconds of CPU of all processes together; then the run is ended (`cpu`)."""
    memory: int = 1024 * MB
    """Bytes of all processes together; then the run is ended (`memory`). A single process that asks for twice as
    much gets an error instead."""
    processes: int = 64
    """Processes and threads; starting another one fails."""
    descriptors: int = 256
    """Open files per process; opening another one fails."""
    disk: int = 64 * MB
    """Bytes of all files written, and of the largest one; writing more fails. Shared memory has 64 MB of its own.
    With Landlock, and in writable binds, only the size of each file is limited."""
    files: int = 10_000
    """Files created; then the run is ended (`files`). Not enforced with Landlock, nor in writable binds."""
    output: int = 64 * 1024
    """Bytes kept of standard output and of standard error, half from the beginning and half from the end. The run is
    ended (`output`) when it has written 256 times as much."""
    result: int = MB
    """Bytes on the result descriptor, and 64 times as many of collected files; then the run is ended (`output`)."""

    def __post_init__(self) -> None:
        for name in ("wall", "cpu"):
            seconds = getattr(self, name)
            if name == "wall" and seconds is None:
                continue
            number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
            if not number or not 0 < seconds <= _MAX_SECONDS:
                allowed = f"more than 0 and at most {_MAX_SECONDS}" + (", or None" if name == "wall" else "")
                raise ConfigurationError(f"Limits({name}={seconds!r}): give seconds, {allowed}")
        for name, (least, most) in _BOUNDS.items():
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
                raise ConfigurationError(f"Limits({name}={value!r}): give an integer from {least} to {most}")


@dataclass(frozen=True, slots=True)
class Bind:
    """A folder or file of the host that is visible inside."""

    source: Path
    target: Path | None = None
    """Its path inside; by default the same. Landlock supports no other."""
    writable: bool = False
    """Whether the program may change the host's files. It cannot change those that programs of the host run by
    themselves, such as `.git` and `.vscode` (`helper.hooks.HOOKS`)."""
    own: bool = False
    """Whether the folder is the program's alone, such as a copy: then it may also change those files, and have Unix
    sockets, with which it could reach servers of the host that listen in a shared folder."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What a run may see and do."""

    network: bool = False
    """Share the host's network and everything reachable over it, including the host's loopback services. Unix sockets
    are then refused, except pairs, since the host's abstract ones would be reachable too."""
    fork: bool = True
    """Whether the program may start processes. Threads are always allowed."""
    binds: tuple[Bind, ...] = ()
    """Host paths that are visible in addition to interpreters and compilers."""
    hidden: tuple[Path, ...] = ()
    """Host folders that are not visible, although the installation around them is."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Environment variables in addition to HOME, PATH, TMPDIR, USER and LANG. None are inherited from the agent."""


@dataclass(frozen=True, slots=True)
class Result:
    """How a run ended. A sandbox that fails to start has no result: it raises `EnvironmentFault`."""

    status: Status
    """`ok` for exit status 0, `failed` for any other, or the limit that ended the run."""
    exit_code: int
    """As in a shell: 128 plus the signal's number if a signal ended it."""
    stdout: bytes
    stderr: bytes
    result: bytes
    """What it wrote to descriptor 3. The program may write anything here: the caller decides what it is worth."""
    files: dict[str, bytes]
    """The collected files, as far as they exist and fit."""
    seconds: float
    """Wall time, from the moment the sandbox was ready."""
    cpu: float
    """Seconds of CPU, including a few milliseconds for starting the sandbox."""
    memory: int
    """Peak memory in bytes, sampled; 0 for a run too short to sample."""
    truncated: bool
    """Whether some of its output was left out."""
    backend: str

    @property
    def text(self) -> str:
        """Standard output as text."""
        return self.stdout.decode(errors="replace")

    @property
    def errors(self) -> str:
        """Standard error as text."""
        return self.stderr.decode(errors="replace")


def to_bytes(content: str | bytes, what: str) -> bytes:
    """Return the content of a file as bytes; `what` names it in the error."""
    if isinstance(content, bytes):
        return content
    if not isinstance(content, str):
        raise ConfigurationError(f"{what}: give text or bytes, not {type(content).__name__}")
    try:
        return content.encode()
    except UnicodeEncodeError as error:
        raise ConfigurationError(f"{what}: the text cannot be encoded as UTF-8: {error}") from None


def word(value: object, what: str) -> str:
    """Return a string that can be passed to a system call; raise ConfigurationError for any other value."""
    if not isinstance(value, str):
        raise ConfigurationError(f"{what}: give text, not {type(value).__name__} ({value!r:.60})")
    try:
        length = len(os.fsencode(value))
    except UnicodeEncodeError:
        raise ConfigurationError(f"{what}: {value!r:.60} cannot be encoded as UTF-8") from None
    if "\0" in value:
        raise ConfigurationError(f"{what}: {value!r:.60} contains a NUL, which no program can receive")
    if length > _MAX_WORD_BYTES:
        raise ConfigurationError(f"{what}: {length} bytes, at most {_MAX_WORD_BYTES}: use stdin or a file instead")
    return value


def words(values: Sequence[str], what: str) -> list[str]:
    """Validate a list of strings."""
    if isinstance(values, str | bytes):
        raise ConfigurationError(f"{what}: give a list of words, not a single {type(values).__name__}")
    return [word(value, what) for value in values]


def command(argv: Sequence[str]) -> list[str]:
    """Validate a program and its arguments."""
    given = words(argv, "the command")
    if not given or not given[0]:
        raise ConfigurationError("the sandbox needs a command to run")
    return given


def environment(env: Mapping[str, str]) -> dict[str, str]:
    """Validate environment variables."""
    for name, value in env.items():
        word(name, "a variable's name")
        if not name or "=" in name:
            raise ConfigurationError(f"{name!r} is not a valid name of an environment variable")
        word(value, f"the variable {name}")
    return dict(env)


def file_names(names: Sequence[str]) -> list[str]:
    """Return the normalized names of a run's files."""
    possible = Names()
    return [_file_name(name, possible) for name in names]


def collected_names(names: Sequence[str]) -> list[str]:
    """Return the names of files or folders to collect; the working directory itself may be one."""
    given = words(names, "collect")
    for name in given:
        if os.path.normpath(name or "/") != ".":
            _file_name(name, Names())
    return given


def _file_name(name: str, possible: Names) -> str:
    given = word(name, "the name of a file")
    # "a/../b" is not normalized, since "a" may be a link; and "" would become ".".
    normal = given if not given or ".." in given.split("/") or given[0] == "/" else os.path.normpath(given)
    if wrong := possible.add(normal):
        raise ConfigurationError(f"{given!r:.80} {wrong}")
    return normal


def validate_binds(binds: Sequence[tuple[str, str, bool]]) -> None:
    """Refuse binds that hide the sandbox's own paths, or that a link made by an earlier run would redirect."""
    for source, target, _ in binds:
        word(source, "a bind")
        word(target, "a bind")
        if not os.path.exists(source):
            raise ConfigurationError(f"cannot bind {source}: it does not exist")
        if any(below(target, each) or below(each, target) for each in RESERVED):
            raise ConfigurationError(f"cannot bind at {target}: that path, or one below it, is the sandbox's own")
        for folder, place, writable in binds:
            # In a folder that programs write to, any part of a path may have become a link.
            for path, above in ((source, folder), (target, place)):
                if writable and path != above and below(path, above):
                    rest = os.path.relpath(path, above)
                    if os.path.realpath(os.path.join(folder, rest)) != os.path.join(os.path.realpath(folder), rest):
                        raise ConfigurationError(
                            f"cannot bind {path}: a link leads it out of {above}, which is writable"
                        )


def below(path: str, folder: str) -> bool:
    """Whether a path is a folder or lies below it."""
    return path == folder or path.startswith(folder if folder.endswith("/") else f"{folder}/")
