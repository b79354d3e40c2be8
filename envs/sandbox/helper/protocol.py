"""The protocol between agent and helper: a request as a memory file, a report as one message."""

from __future__ import annotations

import fcntl
import marshal
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypedDict

    class LimitValues(TypedDict):
        """The limits of one run, in seconds and bytes."""

        wall: float | None
        cpu: float
        memory: int
        processes: int
        descriptors: int
        disk: int
        files: int
        output: int
        result: int

    class Request(TypedDict):
        """One run."""

        backend: str
        argv: list[str]
        env: dict[str, str]
        exposed: list[str]
        """Host paths that are visible read-only, each at the same path."""
        binds: list[tuple[str, str, bool]]
        """Source on the host, target inside, writable."""
        guarded: list[tuple[str, str]]
        """Source and target of the writable folders whose hooks the run must not change."""
        cwd: str | None
        files: list[str]
        """Names in the working directory; the blobs are their contents, in this order."""
        collect: list[str]
        limits: LimitValues
        hidden: list[str]
        """Real paths of folders that are not visible, although those around them are."""
        network: bool
        unix: bool
        """Whether it may have Unix sockets besides pairs."""
        fork: bool
        inherit: bool
        """Whether it uses the caller's standard streams."""
        tool: str
        """The backend's executable on the host, if it has one."""

    class Report(TypedDict, total=False):
        """How a run ended: `fault` alone, or all other fields."""

        fault: str
        killed: str | None
        exit: int
        seconds: float


def request(backend: str, argv: list[str], limits: dict[str, Any], **fields: Any) -> Request:
    """Return a request with defaults for the fields that are not given."""
    made: Any = {name: [] for name in ("exposed", "binds", "guarded", "hidden", "files", "collect")}
    made |= {"env": {}, "cwd": None, "network": False, "unix": True, "fork": True, "inherit": False, "tool": ""}
    made |= {"backend": backend, "argv": argv, "limits": limits, **fields}
    whole: Request = made
    return whole


def dump(header: Request, blobs: Sequence[bytes]) -> int:
    """Write a request and the contents of its files to a memory file, and return its descriptor."""
    head = marshal.dumps({"header": dict(header), "sizes": [len(blob) for blob in blobs]})
    return memory_file(len(head).to_bytes(8, "big"), head, *blobs)


def memory_file(*parts: bytes) -> int:
    """Write a memory file, and return its descriptor at the beginning of the file. Nobody can change it any more."""
    descriptor = os.memfd_create("sandbox", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    with os.fdopen(os.dup(descriptor), "wb") as file:
        file.writelines(parts)
    seals = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def load(descriptor: int) -> tuple[Request, list[bytes]]:
    """Read and close what `dump` wrote."""
    with os.fdopen(descriptor, "rb") as file:
        head = marshal.loads(file.read(int.from_bytes(file.read(8), "big")))
        return head["header"], [file.read(size) for size in head["sizes"]]
