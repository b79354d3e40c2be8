"""The resource limits of a run."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from langgraph_reflexion.errors import checked

MB = 1 << 20
Seconds = Annotated[float, Field(gt=0, le=10**9)]

# Below a limit's minimum no program starts, or 0 would mean no limit to the kernel; above its maximum it overflows.


@checked
@dataclass(frozen=True, slots=True)
class Limits:
    """Resource limits of a run. Exceeding one ends the run, or fails the system call, as each field says.

    A lower limit of the host applies instead.

    Raises:
        ConfigurationError: a value is not a number, or is out of range.
    """

    wall: Seconds | None = 10.0
    """Seconds from the moment the sandbox is ready; then the run is ended (`timeout`). None: no limit."""
    cpu: Seconds = 10.0
    """Seconds of CPU of all processes together; then the run is ended (`cpu`)."""
    memory: Annotated[int, Field(ge=4 * MB, le=1 << 60)] = 1024 * MB
    """Bytes of all processes together; then the run is ended (`memory`). A single process that asks for twice as
    much gets an error instead."""
    processes: Annotated[int, Field(ge=1, le=1 << 30)] = 64
    """Processes and threads; starting another one fails."""
    descriptors: Annotated[int, Field(ge=16, le=1 << 30)] = 256
    """Open files per process; opening another one fails."""
    disk: Annotated[int, Field(ge=4096, le=1 << 60)] = 64 * MB
    """Bytes of all files written, and of the largest one; writing more fails. Shared memory has 64 MB of its own.
    With Landlock, and in writable binds, only the size of each file is limited."""
    files: Annotated[int, Field(ge=16, le=1 << 40)] = 10_000
    """Files created; then the run is ended (`files`). Not enforced with Landlock, nor in writable binds."""
    output: Annotated[int, Field(ge=1, le=1 << 40)] = 64 * 1024
    """Bytes kept of standard output and of standard error, half from the beginning and half from the end. The run is
    ended (`output`) when it has written 256 times as much."""
    result: Annotated[int, Field(ge=0, le=1 << 40)] = MB
    """Bytes on the result descriptor, and 64 times as many of collected files; then the run is ended (`output`)."""
