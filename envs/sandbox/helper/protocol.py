"""The protocol between agent and helper: a request as a memory file, a report as one message."""

from __future__ import annotations

import fcntl
import marshal
import os
from types import SimpleNamespace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, TypedDict

    from langgraph_reflexion.envs.sandbox.limits import Limits

    class Report(TypedDict, total=False):
        """How a run ended: `fault` alone, or all other fields."""

        fault: str
        killed: str | None
        exit: int
        seconds: float


Bound = tuple[str, str, bool, bool]
"""Source on the host, target inside, writable, and whether the run must not change its hooks."""


class Request:
    """One run, as values that `marshal` can write."""

    backend: str
    argv: list[str]
    env: dict[str, str]
    limits: Limits
    files: Mapping[str, bytes]
    """Names in the working directory, and contents."""
    exposed: Sequence[str]
    """Host paths that are visible read-only, each at the same path."""
    tool: str
    """The backend's executable on the host, if it has one."""
    binds: Sequence[Bound] = ()
    hidden: Sequence[str] = ()
    """Real paths of folders that are not visible, although those around them are."""
    collect: Sequence[str] = ()
    cwd: str | None = None
    network: bool = False
    unix: bool = True
    """Whether it may have Unix sockets besides pairs."""
    fork: bool = True
    inherit: bool = False
    """Whether it uses the caller's standard streams."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


def dump(request: Request) -> int:
    """Write a request to a memory file, and return its descriptor."""
    fields = dict(vars(request))
    fields["limits"] = {name: getattr(request.limits, name) for name in request.limits.__slots__}
    return memory_file(marshal.dumps(fields))


def load(descriptor: int) -> Request:
    """Read and close what `dump` wrote."""
    with os.fdopen(descriptor, "rb") as file:
        fields = marshal.load(file)
    # The class of the limits would import what the helper does without.
    fields["limits"] = SimpleNamespace(**fields["limits"])
    return Request(**fields)


def memory_file(content: bytes) -> int:
    """Write a memory file, and return its descriptor at the beginning of the file. Nobody can change it any more."""
    descriptor = os.memfd_create("sandbox", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    with os.fdopen(os.dup(descriptor), "wb") as file:
        file.write(content)
    seals = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
