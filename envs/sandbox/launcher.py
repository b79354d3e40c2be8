"""The agent's side of the helper: one small process beside the agent, started when it is first needed."""

import atexit
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langgraph_reflexion.envs.sandbox.helper import boot
from langgraph_reflexion.envs.sandbox.helper.wire import LimitValues
from langgraph_reflexion.errors import EnvironmentFault

BOOT = os.path.realpath(boot.__file__)
PACKAGE = Path(BOOT).parent
"""The helper's modules, on the disk."""
SAME_HASHES = {"PYTHONHASHSEED": "0"}
"""With it, a program goes through a set in the same order every time, in every process."""


class Helper:
    """A helper process, or what stands in its place inside a sandbox.

    Args:
        connection: The socket over which runs are asked for.
        process: The process, where it is a child of this one.
    """

    def __init__(self, connection: socket.socket, process: subprocess.Popen[bytes] | None = None) -> None:
        self._connection, self._process = connection, process
        self._lock = threading.Lock()

    @classmethod
    def start(cls, modules: Sequence[str] = (), *, site: bool = False) -> "Helper":
        """Start a helper process.

        Args:
            modules: To be loaded beforehand, for warm programs.
            site: Whether it finds what is installed in the environment.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            process = launch("warm" if modules else "serve", theirs, modules, site=site)
        return cls(ours, process)

    def request(self, limits: LimitValues, streams: Sequence[int]) -> None:
        """Hand over one run.

        Args:
            limits: What a helper that does not read the request has to know.
            streams: Its descriptors, as `Streams` has them.

        Raises:
            EnvironmentFault: the helper has gone.
        """
        try:
            with self._lock:
                socket.send_fds(self._connection, [json.dumps(limits).encode()], list(streams))
        except OSError as error:
            raise EnvironmentFault(f"the sandbox's helper has gone: {error}") from error

    @property
    def lost(self) -> bool:
        """Its process has ended."""
        return self._process is not None and self._process.poll() is not None

    def close(self) -> None:
        """End it. Runs that are under way are not ended by it."""
        self._connection.close()
        if self._process is not None:
            self._process.wait()


def launch(
    how: str, connection: socket.socket, modules: Sequence[str] = (), *, site: bool = False, **options: Any
) -> subprocess.Popen[Any]:
    """Start the helper's program with nothing of this process's but one socket and where temporary files go.

    Args:
        how: `serve`, `warm` or `attach`.
        connection: The socket.
        modules: To be loaded beforehand.
        site: Whether it finds what is installed in the environment.
        **options: For `subprocess.Popen`.
    """
    options.setdefault("stdin", subprocess.DEVNULL)
    options.setdefault("start_new_session", True)
    options.setdefault("cwd", "/")  # the agent's own may be one that a run's user may not enter
    number = connection.fileno()
    return subprocess.Popen(
        [sys.executable, *server_command(how, number, modules, site=site)],
        pass_fds=(number,),
        env={"TMPDIR": tempfile.gettempdir(), **SAME_HASHES},
        **options,
    )


def server_command(how: str, number: int, modules: Sequence[str], *, site: bool) -> list[str]:
    """The interpreter's arguments that start the helper's program."""
    # Where programs run in it, it heeds `SAME_HASHES`: nothing else is in its environment.
    return [*(["-s", "-P"] if site else ["-I", "-S"]), BOOT, how, str(number), *modules]


_shared: tuple[int, Helper] | None = None
_starting = threading.Lock()


def shared() -> Helper:
    """The helper of this process. A forked process gets one of its own."""
    global _shared
    with _starting:
        if _shared is None or _shared[0] != os.getpid():
            _shared = (os.getpid(), Helper.start())
        return _shared[1]


def forget() -> None:
    """Let go of the helper; the next run starts another."""
    global _shared
    with _starting:
        if _shared is not None and _shared[0] == os.getpid():
            _shared[1].close()
        _shared = None


atexit.register(forget)
