"""What the agent and the helper say to each other.

A request is a memory file, which only the process that carries it out reads; a report is one message back.
"""

import json
import os
import socket
from collections.abc import Sequence
from typing import TypedDict


class LimitValues(TypedDict):
    """The limits of one run, as the helper applies them. Seconds and bytes."""

    wall: float | None
    cpu: float
    memory: int
    processes: int
    descriptors: int
    disk: int
    files: int


class Request(TypedDict):
    """One run."""

    backend: str
    argv: list[str]
    env: dict[str, str]
    visible: list[str]
    """Host paths that are there read-only, each at its own place."""
    binds: list[tuple[str, str, bool]]
    """Source on the host, target inside, writable."""
    cwd: str | None
    files: list[str]
    """Names in the working directory; their contents are the blobs, in this order."""
    collect: list[str]
    limits: LimitValues
    network: bool
    fork: bool
    role: str
    """`program`, `server` (of warm programs, itself trusted), or `attached` (no control connection is watched)."""
    inherit: bool
    """Its standard streams are the caller's own."""
    tool: str
    """The backend's executable on the host, where it has one."""
    image: str


class Report(TypedDict, total=False):
    """How a run ended: `fault` alone, or all of the others."""

    fault: str
    killed: str | None
    exit: int
    seconds: float
    cpu: float
    memory: int


def dump(header: Request, blobs: Sequence[bytes]) -> int:
    """A request with the contents of its files, in a memory file. Returns its descriptor."""
    head = json.dumps({"header": header, "sizes": [len(blob) for blob in blobs]}).encode()
    return memory(len(head).to_bytes(8, "big"), head, *blobs)


def memory(*parts: bytes) -> int:
    """A memory file that holds these parts, to be read from its beginning. Returns its descriptor."""
    descriptor = os.memfd_create("sandbox")
    with os.fdopen(os.dup(descriptor), "wb") as file:
        file.writelines(parts)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def load(descriptor: int) -> tuple[Request, list[bytes]]:
    """Read what `dump` wrote, and close it."""
    with os.fdopen(descriptor, "rb") as file:
        head = json.loads(file.read(int.from_bytes(file.read(8), "big")))
        return head["header"], [file.read(size) for size in head["sizes"]]


def accept(connection: socket.socket, count: int) -> tuple[bytes, list[int]]:
    """Receive a message, empty where the other side has gone, and its descriptors, which no program inherits."""
    message, descriptors, _, _ = socket.recv_fds(connection, 4096, count)
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)
    return message, descriptors


def send(connection: socket.socket, report: Report) -> None:
    """Send a report. Raises OSError where the other side has gone."""
    connection.sendall(json.dumps(report).encode())


def receive(connection: socket.socket) -> Report | None:
    """Receive a report; None where the other side has gone without one."""
    said = connection.recv(1 << 16)
    report: Report | None = json.loads(said) if said else None
    return report
