"""Warm Python: an interpreter that waits in a sandbox, and forks a fresh child for each program."""

import os
import socket
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Self

from langgraph_reflexion.envs.sandbox import launcher
from langgraph_reflexion.envs.sandbox.client import carry_out
from langgraph_reflexion.envs.sandbox.exposed_paths import HostView, exposed_paths
from langgraph_reflexion.envs.sandbox.helper import program, protocol
from langgraph_reflexion.envs.sandbox.launcher import Helper
from langgraph_reflexion.envs.sandbox.sandbox import Sandbox
from langgraph_reflexion.envs.sandbox.types import Bind, Limits, Policy, Result, to_bytes, words
from langgraph_reflexion.errors import EnvironmentFault, EnvironmentUnavailable

MAIN = "main.py"


class WarmPython:
    """Runs Python programs as `Sandbox.run(["python", "main.py"])` does, without starting an interpreter for each.

    A program runs in a child forked from an interpreter that has read no other program, with its own limits and
    files, isolated from other programs. It can start threads but no processes, and has no sockets. It is the first
    process of its namespace: it cannot send itself a signal that it does not handle. Thread-safe.

    Args:
        sandbox: The sandbox to run in: bubblewrap or Landlock.
        modules: Modules to preload; a program may import others.

    Raises:
        EnvironmentUnavailable: the sandbox's backend has no warm programs.
    """

    def __init__(self, sandbox: Sandbox, modules: Sequence[str] = program.PRELOADED) -> None:
        if sandbox.backend not in ("bubblewrap", "landlock"):
            raise EnvironmentUnavailable(
                f"warm Python needs bubblewrap or Landlock, and the sandbox is {sandbox.backend}"
            )
        self._sandbox, self._modules = sandbox, tuple(modules)
        self._lock = threading.Lock()
        self._server: _Server | None = None

    def run(
        self,
        source: str | bytes,
        *,
        arguments: Sequence[str] = (),
        files: Mapping[str, str | bytes] | None = None,
        stdin: str | bytes = b"",
        env: Mapping[str, str] | None = None,
        limits: Limits | None = None,
        result: int | None = None,
    ) -> Result:
        """Run one program, and wait until it has ended.

        Args:
            source: The program.
            arguments: Its arguments.
            files: Other files in its working directory.
            stdin: Its standard input.
            env: Environment variables in addition to those of every run.
            limits: Its resource limits.
            result: A descriptor to pass as descriptor 3, such as one end of a socket pair. No results are kept then.

        Raises:
            ConfigurationError: a file's name is invalid.
            EnvironmentFault: the interpreter failed to start, or was lost.
        """
        limits = limits or Limits()
        given = {MAIN: source, **(files or {})}
        policy = Policy(fork=False, env=env or {})
        request = self._sandbox.request([sys.executable], tuple(given), (), None, limits, policy)
        request["argv"] = [MAIN, *words(arguments, "arguments")]
        request["backend"] = f"warm-{self._sandbox.backend}"
        blobs = [to_bytes(content, name) for name, content in given.items()]
        read = to_bytes(stdin, "stdin")
        server = self._running()
        try:
            done = carry_out(server.helper, request, blobs, limits, stdin=read, result=result)
        except EnvironmentFault as error:
            server.wait(1.0)
            self._drop(server)
            raise EnvironmentFault(f"{error} {server.last_words}".strip()) from error
        return replace(done, backend=self._sandbox.backend)

    def close(self) -> None:
        """End the interpreter and the programs that still run in it."""
        with self._lock:
            server, self._server = self._server, None
        if server is not None:
            server.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _running(self) -> "_Server":
        with self._lock:
            if self._server is None or not self._server.alive:
                self._server = _Server(self._sandbox, self._modules)
            return self._server

    def _drop(self, server: "_Server") -> None:
        """Forget the interpreter, if it was what failed."""
        with self._lock:
            if self._server is not server or server.alive:
                return
            self._server = None
        server.close()


class _Server:
    """The waiting interpreter of one process."""

    def __init__(self, sandbox: Sandbox, modules: Sequence[str]) -> None:
        self._owner = os.getpid()
        self.last_words = ""
        self._thread: threading.Thread | None = None
        if sandbox.backend == "landlock":
            # Its children confine themselves.
            self.helper = Helper.start(modules, site=True)
            return
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.helper = Helper(ours)
        command = [sys.executable, *launcher.server_command("pool", 3, modules, site=True)]
        limits = Limits(wall=None, cpu=1e9, memory=1 << 50, processes=1 << 20, descriptors=4096)
        # The helper's folder may be exposed anyway.
        seen = HostView(exposed_paths().paths, (), everything=False).host_path(str(launcher.PACKAGE))
        policy = Policy(binds=() if seen else (Bind(launcher.PACKAGE),), env=launcher.SAME_HASHES)
        request = sandbox.request(command, (), (), None, limits, policy)
        request["role"] = "server"
        self._thread = threading.Thread(target=self._keep, args=(request, limits, theirs), daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        mine = self._owner == os.getpid()
        return mine and (self._thread.is_alive() if self._thread is not None else not self.helper.lost)

    def wait(self, seconds: float) -> None:
        """Let a failing interpreter end, so that `last_words` is set."""
        if self._thread is not None:
            self._thread.join(seconds)

    def close(self) -> None:
        self.helper.close()
        if self._thread is not None and self._owner == os.getpid():
            self._thread.join()

    def _keep(self, request: protocol.Request, limits: Limits, connection: socket.socket) -> None:
        """Wait for the end of the interpreter's sandbox, which ends when the connection is closed."""
        try:
            done = carry_out(launcher.shared(), request, (), limits, result=connection.fileno())
            self.last_words = done.errors.strip()
        except EnvironmentFault as error:
            self.last_words = str(error)
        finally:
            connection.close()
