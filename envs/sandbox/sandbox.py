"""The sandbox: runs a command with files, limits and a policy, isolated from the host."""

from __future__ import annotations

import os
import shutil
import threading
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated

from pydantic import Field

from langgraph_reflexion.envs.sandbox.backends import BACKENDS, HOST, choose, tool
from langgraph_reflexion.envs.sandbox.client import carry_out
from langgraph_reflexion.envs.sandbox.exposed_paths import exposed_paths
from langgraph_reflexion.envs.sandbox.helper import hooks, protocol
from langgraph_reflexion.envs.sandbox.limits import Limits
from langgraph_reflexion.envs.sandbox.types import (
    MAX_FILES,
    Bind,
    Content,
    Policy,
    Result,
    Word,
    below,
    validate_binds,
    within,
)
from langgraph_reflexion.errors import ConfigurationError, EnvironmentUnavailable, checked, one_of

_warned = threading.Event()


class Sandbox:
    """Runs commands isolated from the host. Thread-safe; holds nothing open.

    Args:
        backend: One of `BACKENDS`; by default bubblewrap, or Landlock if that does not work. A backend given by name
            is used or fails: there is no fallback.
        allow_degraded: Let Landlock, which has no disk quota and the host's process numbers, run commands in folders
            that are bound writable.

    Attributes:
        backend: The name of the backend in use.

    Raises:
        ConfigurationError: there is no such backend.
        EnvironmentUnavailable: the backend does not work here, or none does.
    """

    def __init__(self, backend: str | None = None, *, allow_degraded: bool = False) -> None:
        if backend is not None:
            one_of("backend", backend, BACKENDS)
        self.backend = choose(backend)
        self._allow_degraded = allow_degraded
        # Once for each process.
        if self.backend == "landlock" and not _warned.is_set():
            _warned.set()
            warnings.warn(
                f"the sandbox is Landlock, which is weaker than bubblewrap: it lets through "
                f"{BACKENDS['landlock'].lets_through}. {BACKENDS['bubblewrap'].fix}",
                RuntimeWarning,
                stacklevel=2,
            )

    @checked
    def run(
        self,
        argv: Annotated[Sequence[Word], Field(min_length=1)],
        *,
        files: Mapping[Word, Content] | None = None,
        stdin: Content | int = b"",
        collect: Sequence[Word] = (),
        cwd: Path | str | None = None,
        limits: Limits | None = None,
        policy: Policy | None = None,
        inherit: bool = False,
    ) -> Result:
        """Run one command, and wait until it and all processes that it started are gone.

        Args:
            argv: The program, found on the sandbox's PATH, and its arguments.
            files: The contents of its working directory by relative name, at most 200 files and without `cwd`. All
                are executable.
            stdin: Its standard input, or a descriptor, such as one end of a socket pair.
            collect: Names of files or folders, relative to its working directory, to return as a tar after it has
                ended. Requires that it may start processes.
            cwd: Its working directory, a folder that the policy binds; by default a fresh, empty one.
            limits: Its resource limits.
            policy: What it may see and do.
            inherit: Use this process's standard streams, and keep none of the output.

        Raises:
            ConfigurationError: a name, a bind or a combination is invalid.
            EnvironmentUnavailable: there is no such program.
            EnvironmentFault: the sandbox failed to start.
        """
        limits = limits or Limits()
        policy = policy or Policy()
        # bubblewrap writes files while the host is still reachable, and follows links: only a fresh folder has none.
        if files and (cwd or len(files) > MAX_FILES):
            raise ConfigurationError(f"a run gets at most {MAX_FILES} files, in a fresh folder: give no cwd")
        if collect and not policy.fork:
            raise ConfigurationError("files can be collected only from a run that may start processes")
        contents = _contents(files or {})
        seen = exposed_paths(network=policy.network)
        path = policy.env.get("PATH", seen.path)
        binds = self._binds(policy)
        folder = None
        if cwd is not None:
            folder = str(cwd)
            visible = list(seen.paths)
            visible += [target for _, target, _, _ in binds]
            self._expect_visible(folder, visible)
        self.expect_program(argv[0], path)
        # With either, Unix sockets would reach those of the host.
        unix = not policy.network and all(bind.own for bind in policy.binds)
        request = protocol.Request(
            backend=self.backend,
            argv=list(argv),
            limits=limits,
            env={**policy.env, "PATH": path},
            exposed=seen.paths,
            binds=binds,
            hidden=[os.path.realpath(path) for path in policy.hidden],
            unix=unix,
            cwd=folder,
            files=contents,
            collect=list(map(within, collect)),
            network=policy.network,
            fork=policy.fork,
            inherit=inherit,
            tool=tool(self.backend),
        )
        if isinstance(stdin, int):
            return carry_out(request, stdin)
        return carry_out(request, _bytes(stdin))

    def expect_program(self, program: str, path: str | None = None) -> None:
        """Expect a program on the sandbox's PATH, unless it is named by its path.

        Raises:
            EnvironmentUnavailable: there is no such program.
        """
        path = path or exposed_paths().path
        if "/" not in program and not shutil.which(program, path=path):
            raise EnvironmentUnavailable(f"{program}: no such program on the sandbox's PATH ({path})")

    def _expect_visible(self, folder: str, visible: Sequence[str]) -> None:
        if self.backend == HOST:
            return
        place = os.path.normpath(folder)
        if not any(below(place, each) for each in visible):
            raise ConfigurationError(f"cwd {folder}: not visible inside: add Bind({folder!r}) to the policy's binds")

    def _binds(self, policy: Policy) -> list[protocol.Bound]:
        """Return the binds of a policy, as far as the backend can keep what they promise."""
        binds = [_bound(bind) for bind in policy.binds]
        validate_binds(binds)
        for source, target, writable, guarded in binds:
            if self.backend in ("landlock", HOST) and source != target:
                raise ConfigurationError(f"{self.backend} can bind {source} at its own path only")
            if self.backend != "landlock":
                continue
            if writable and not self._allow_degraded:
                raise EnvironmentUnavailable(
                    f"Landlock is too weak for commands that work in a folder of the host ({source}): it has no disk "
                    f"quota, and the host's process numbers. To fix it, {BACKENDS['bubblewrap'].fix}; or "
                    "accept it: allow_degraded=True, --allow-degraded"
                )
            if not guarded:
                continue
            found = hooks.present(source)
            if found:
                raise EnvironmentUnavailable(
                    f"Landlock cannot keep a program from changing {', '.join(found)} in {source}, which "
                    f"programs of the host run by themselves. To fix it, {BACKENDS['bubblewrap'].fix}; or "
                    "accept it: Bind(own=True), --own"
                )
        return binds


def _contents(files: Mapping[Word, Content]) -> dict[str, bytes]:
    """Return the contents by normalized name."""
    contents = {within(name): _bytes(content) for name, content in files.items()}
    folders = {"."}
    for name in contents:
        folders.update(map(str, PurePosixPath(name).parents))
    both = sorted(folders & contents.keys())
    if both:
        raise ConfigurationError(f"{both[0]!r:.80} cannot be both a file and a folder")
    return contents


def _bound(bind: Bind) -> protocol.Bound:
    try:
        source = os.path.abspath(bind.source)
        target = os.path.abspath(bind.target or bind.source)
    except OSError as error:
        raise ConfigurationError(f"cannot bind {bind.source}, the current folder is gone: {error}") from None
    # What is the run's own may change, also by its hooks.
    guarded = bind.writable and not bind.own and os.path.isdir(source)
    return source, target, bind.writable, guarded


def _bytes(content: Content) -> bytes:
    if isinstance(content, bytes):
        return content
    return content.encode()
