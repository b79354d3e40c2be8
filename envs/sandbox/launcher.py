"""The helper process next to the agent, started when it is first needed."""

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

from langgraph_reflexion.envs.sandbox.helper import bootstrap
from langgraph_reflexion.envs.sandbox.helper.protocol import LimitValues
from langgraph_reflexion.errors import EnvironmentFault

BOOT = os.path.realpath(bootstrap.__file__)
PACKAGE = Path(BOOT).parent
"""The folder of the helper's modules."""
SAME_HASHES = {"PYTHONHASHSEED": "0"}
"""Makes the order of sets the same in every process."""


class Helper:
    """A connection to a helper process, or to a warm interpreter inside a sandbox."""

    def __init__(self, connection: socket.socket, process: subprocess.Popen[bytes] | None = None) -> None:
        self._connection, self._process = connection, process
        self._lock = threading.Lock()

    @classmethod
    def start(cls, modules: Sequence[str] = (), *, site: bool = False) -> "Helper":
        """Start a helper, with modules preloaded for warm programs; `site` makes installed packages importable."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            process = launch("warm" if modules else "serve", theirs, modules, site=site)
        return cls(ours, process)

    def request(self, limits: LimitValues, streams: Sequence[int]) -> None:
        """Send one run: its limits, for a helper that does not read the request, and the descriptors of `Streams`."""
        try:
            with self._lock:
                socket.send_fds(self._connection, [json.dumps(limits).encode()], list(streams))
        except OSError as error:
            raise EnvironmentFault(f"the sandbox's helper has gone: {error}") from error

    @property
    def lost(self) -> bool:
        """Whether its process has ended."""
        return self._process is not None and self._process.poll() is not None

    def close(self) -> None:
        """End the helper, but not the runs in progress."""
        self._connection.close()
        if self._process is not None:
            self._process.wait()


def launch(
    how: str, connection: socket.socket, modules: Sequence[str] = (), *, site: bool = False, **options: Any
) -> subprocess.Popen[Any]:
    """Start the helper's program (`serve`, `warm`, `attach`) with one socket, and TMPDIR in its environment."""
    options.setdefault("stdin", subprocess.DEVNULL)
    options.setdefault("start_new_session", True)
    options.setdefault("cwd", "/")  # a run's user may be unable to enter the agent's own
    number = connection.fileno()
    return subprocess.Popen(
        [sys.executable, *server_command(how, number, modules, site=site)],
        pass_fds=(number,),
        env={"TMPDIR": tempfile.gettempdir(), **SAME_HASHES},
        **options,
    )


def server_command(how: str, number: int, modules: Sequence[str], *, site: bool) -> list[str]:
    """Return the interpreter's arguments that start the helper's program."""
    # With `site`, programs run in this interpreter, so it must respect `SAME_HASHES`.
    return [*(["-s", "-P"] if site else ["-I", "-S"]), BOOT, how, str(number), *modules]


_shared: tuple[int, Helper] | None = None
_starting = threading.Lock()


def shared() -> Helper:
    """Return the helper of this process; a forked process gets its own."""
    global _shared
    with _starting:
        if _shared is None or _shared[0] != os.getpid():
            _shared = (os.getpid(), Helper.start())
        return _shared[1]


def forget() -> None:
    """Close the helper; the next run starts another one."""
    global _shared
    with _starting:
        if _shared is not None and _shared[0] == os.getpid():
            _shared[1].close()
        _shared = None


atexit.register(forget)
