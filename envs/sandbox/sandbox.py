"""The sandbox: run a command with files, limits and a policy, where it can do no harm."""

import asyncio
import contextlib
import os
import shutil
import socket
import subprocess
import threading
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from langgraph_reflexion.envs.sandbox import checks
from langgraph_reflexion.envs.sandbox.backends import BACKENDS, HOST, IMAGE, choose, limit_values
from langgraph_reflexion.envs.sandbox.checks import to_bytes
from langgraph_reflexion.envs.sandbox.contract import Limits, Policy, Result
from langgraph_reflexion.envs.sandbox.exchange import carry_out
from langgraph_reflexion.envs.sandbox.helper import wire
from langgraph_reflexion.envs.sandbox.launcher import Helper, forget, launch, shared
from langgraph_reflexion.envs.sandbox.visible import visible
from langgraph_reflexion.errors import ConfigurationError, EnvironmentFault, EnvironmentUnavailable

_FEW = 200
"""So many files bubblewrap itself can write."""


class Sandbox:
    """Runs commands where they can do no harm. May be used by many threads at once, and holds nothing open.

    Args:
        backend: One of `BACKENDS`; bubblewrap, or where it does not work Landlock, unless given. What is given by
            name is used or fails: nothing weaker is fallen back to.
        path: The PATH whose programs can be run; this process's unless given.
        image: The image that containers are made from.
        allow_degraded: Let Landlock, which has no disk quota and the host's process numbers, run commands in folders
            that are bound writable.

    Attributes:
        backend: The name of the backend in use.

    Raises:
        ConfigurationError: there is no such backend.
        EnvironmentUnavailable: it does not work here, or none does.
    """

    def __init__(
        self,
        backend: str | None = None,
        *,
        path: str | None = None,
        image: str = IMAGE,
        allow_degraded: bool = False,
    ) -> None:
        if backend is not None and backend not in BACKENDS:
            raise ConfigurationError(f"no sandbox {backend!r}: choose one of {', '.join(BACKENDS)}")
        self._backend = choose(backend, image)
        self.backend = self._backend.name
        self._path, self._image, self._allow_degraded = path, image, allow_degraded
        if self.backend == "landlock":
            _warn_once(
                f"the sandbox is Landlock, which is weaker than bubblewrap: it lets through "
                f"{self._backend.lets_through}. {BACKENDS['bubblewrap'].fix}"
            )
        self._tool = shutil.which(self._backend.tool) or ""

    def run(
        self,
        argv: Sequence[str],
        *,
        files: Mapping[str, str | bytes] | None = None,
        stdin: str | bytes = b"",
        collect: Sequence[str] = (),
        cwd: Path | None = None,
        limits: Limits | None = None,
        policy: Policy | None = None,
        inherit: bool = False,
    ) -> Result:
        """Run one command, and wait until it and all that it has started are gone.

        Args:
            argv: The program, found on the sandbox's PATH, and its arguments.
            files: What its working directory holds, by relative name. All of it can be executed.
            stdin: What it reads.
            collect: Files or folders, by name relative to where it begins, that are handed back when it has ended.
                It has to be allowed to start processes.
            cwd: Where it begins: a folder that the policy binds. An empty one of its own unless given.
            limits: What it may use.
            policy: What it may see and do.
            inherit: It uses this process's standard streams, and neither is its output kept.

        Raises:
            ConfigurationError: a name, a bind or a combination is wrong.
            EnvironmentUnavailable: there is no such program.
            EnvironmentFault: the sandbox did not start.
        """
        return self._run(argv, files, stdin, collect, cwd, limits, policy, inherit)

    async def arun(self, argv: Sequence[str], **options: Any) -> Result:
        """The same as `run`, in a thread. Where the task is cancelled, the run is ended."""
        waking, cancelling = os.pipe()

        def work() -> Result:
            try:
                return self._run(argv, cancelled=waking, **options)
            finally:
                os.close(waking)

        running = asyncio.get_running_loop().run_in_executor(None, work)
        # Nobody may be left to ask how it ended, and that is no reason for a warning.
        running.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            with contextlib.suppress(OSError):  # it may just have ended by itself
                os.write(cancelling, b"x")
            await asyncio.wait([running])
            raise
        finally:
            os.close(cancelling)

    def attach(
        self,
        argv: Sequence[str],
        *,
        cwd: Path | None = None,
        limits: Limits | None = None,
        policy: Policy | None = None,
        **options: Any,
    ) -> subprocess.Popen[Any]:
        """Start a command and leave its streams to the caller. It ends when the process that is returned is killed.

        Its exit status is the command's; 125 with a line on standard error if the sandbox did not start.

        Args:
            argv: The program, found on the sandbox's PATH, and its arguments.
            cwd: Where it begins: a folder that the policy binds.
            limits: What it may use. There is no wall time unless one is given.
            policy: What it may see and do.
            **options: For `subprocess.Popen`: `stdin`, `stdout`, `stderr`, `text` and the like.

        Raises:
            ConfigurationError: a bind is wrong.
            EnvironmentUnavailable: there is no such program.
        """
        limits = limits or Limits(wall=None)
        request = self.request(argv, (), (), cwd, limits, policy or Policy())
        request["role"] = "attached"
        ours, theirs = socket.socketpair()
        with ours, theirs:
            content = wire.dump(request, [])
            socket.send_fds(ours, [b"r"], [content])
            os.close(content)
            return launch("attach", theirs, **{"start_new_session": False, **options})

    def request(
        self,
        argv: Sequence[str],
        files: Sequence[str],
        collect: Sequence[str],
        cwd: Path | None,
        limits: Limits,
        policy: Policy,
    ) -> wire.Request:
        """What the helper is asked to do. Raises as `run` does."""
        argv, names, collect = checks.command(argv), checks.file_names(files), checks.collected_names(collect)
        env = checks.environment(policy.env)
        if collect and not policy.fork:
            raise ConfigurationError("files can be collected only from a run that may start processes")
        shown = visible(None if self._path is None else checks.word(self._path, "path"), network=policy.network)
        container = self.backend in ("docker", "podman")
        path = env.get("PATH", shown.path)
        binds = self._binds(policy)
        inside = checks.Inside(shown.paths, binds, everything=self.backend == HOST)
        folder = None
        if cwd is not None:
            folder = checks.word(str(cwd), "cwd") if container else inside.folder(cwd)
        if not container and not inside.program(argv[0], path, folder, names):
            where = "inside" if "/" in argv[0] else f"on the sandbox's PATH ({path})"
            raise EnvironmentUnavailable(f"{argv[0]}: no such program {where}")
        return wire.Request(
            backend=self.backend,
            argv=argv,
            env={**env, "PATH": path},
            visible=list(shown.paths),
            binds=binds,
            cwd=folder,
            files=names,
            collect=collect,
            limits=limit_values(limits),
            network=policy.network,
            fork=policy.fork,
            role="program",
            inherit=False,
            tool=self._tool,
            image=self._image,
        )

    def _run(
        self,
        argv: Sequence[str],
        files: Mapping[str, str | bytes] | None = None,
        stdin: str | bytes = b"",
        collect: Sequence[str] = (),
        cwd: Path | None = None,
        limits: Limits | None = None,
        policy: Policy | None = None,
        inherit: bool = False,
        cancelled: int | None = None,
    ) -> Result:
        limits = limits or Limits()
        request = self.request(argv, tuple(files or ()), collect, cwd, limits, policy or Policy())
        request["inherit"] = inherit
        if self.backend == "bubblewrap" and not request["fork"] and (len(request["files"]) > _FEW or (files and cwd)):
            raise ConfigurationError(
                f"a run that may not start processes is given at most {_FEW} files, in a folder of its own (no cwd): "
                "a process has to write them"
            )
        blobs = [to_bytes(content, name) for name, content in (files or {}).items()]
        read = to_bytes(stdin, "stdin")
        try:
            return carry_out(shared(), request, blobs, limits, stdin=read, cancelled=cancelled)
        except EnvironmentFault:
            _forget_if_lost(shared())
            raise

    def _binds(self, policy: Policy) -> list[tuple[str, str, bool]]:
        try:
            binds = [
                (os.path.abspath(bind.source), os.path.abspath(bind.target or bind.source), bind.writable)
                for bind in policy.binds
            ]
        except OSError as error:
            raise ConfigurationError(f"cannot bind by relative paths where there is no folder: {error}") from None
        checks.binds(binds)
        for source, target, writable in binds:
            if self.backend in ("landlock", HOST) and source != target:
                raise ConfigurationError(f"{self.backend} shows {source} at its own path and nowhere else")
            if self.backend == "landlock" and writable and not self._allow_degraded:
                raise EnvironmentUnavailable(
                    f"Landlock is too weak for commands that work in a folder of the host ({source}): it has no disk "
                    f"quota, and the host's process numbers. To fix it, {BACKENDS['bubblewrap'].fix}; or say that it "
                    "will do: allow_degraded=True, --allow-degraded"
                )
        return binds


def with_wall(limits: Limits, wall: float | None) -> Limits:
    """The same limits with another wall time, in seconds; the CPU time follows it upwards."""
    return limits if wall is None else replace(limits, wall=wall, cpu=max(limits.cpu, wall))


_warned = threading.Event()


def _warn_once(message: str) -> None:
    if not _warned.is_set():
        _warned.set()
        warnings.warn(message, RuntimeWarning, stacklevel=3)


def _forget_if_lost(helper: Helper) -> None:
    if helper.lost:
        forget()
