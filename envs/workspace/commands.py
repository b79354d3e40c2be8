"""Sandboxed commands in a copy of the workspace, which is mounted at the path of the original."""

import os
import posixpath
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langgraph_reflexion.envs.sandbox import Bind, Limits, Policy, Sandbox
from langgraph_reflexion.envs.sandbox.exposed_paths import exposed_paths
from langgraph_reflexion.envs.sandbox.limits import MB
from langgraph_reflexion.envs.sandbox.types import RESERVED, below
from langgraph_reflexion.envs.workspace import test_runners
from langgraph_reflexion.envs.workspace.copies import Copy, remove
from langgraph_reflexion.envs.workspace.tree_walk import EXCLUDED, holds_dependencies
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.support.programs import expect_program

_OUTPUT = MB
"""Bytes of output that are kept, half of them from its end."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The result of a command."""

    command: str
    status: str
    """`ok`, `failed`, or the limit that ended it."""
    exit_code: int
    output: str
    """Standard output and error, interleaved; without the middle if it is huge."""
    seconds: float
    lacks_evidence: str = ""
    """Why an exit status of 0 does not count; see `test_evidence`."""
    reported: str = ""
    """What test programs reported apart from their output; see `test_runners`."""

    @property
    def succeeded(self) -> bool:
        return self.status == "ok" and not self.lacks_evidence

    @property
    def outcome(self) -> str:
        if self.lacks_evidence:
            return f"exit status {self.exit_code}, which does not count: {self.lacks_evidence}"
        if self.status in ("ok", "failed"):
            return f"exit status {self.exit_code}"
        reasons = {
            "timeout": "it took too long",
            "memory": "it used too much memory",
            "output": "it printed too much",
        }
        reason = reasons.get(self.status, f"too much {self.status}")
        return f"ended by the sandbox: {reason}"


@dataclass(frozen=True)
class Commands:
    """Runs the commands of a task. They see the original's `dependencies` read-only."""

    sandbox: Sandbox
    data: dict[str, Any]
    dependencies: list[str]

    def run(self, command: str, copy: Copy, env: Mapping[str, str] | None = None) -> CommandResult:
        """Run a command line, for `/bin/sh`, in a copy, which it may change.

        Args:
            command: The command line.
            copy: The copy.
            env: Environment variables besides the task's.

        Raises:
            ConfigurationError: the copy cannot be mounted at the original's path.
            EnvironmentFault: the sandbox did not start.
        """
        original = Path(self.data["path"])
        place = copy.root
        if self._moves and not _is_reserved(str(original)):
            # So that absolute paths in scripts, caches and installed links lead into the copy.
            place = original
        runners = test_runners.FOLDER
        if self._moves:
            runners = test_runners.PLACE
        binds = [Bind(copy.root, place, writable=True, own=True)]
        if self._moves:
            binds += self._dependency_binds(original, copy.root, place)
        binds += [Bind(Path(path)) for path in self.data.get("show", ())]
        # `own`, as it has no sockets that a program could misuse.
        binds.append(Bind(test_runners.FOLDER, runners, own=True))
        variables = {"CI": "true"}
        variables.update(test_runners.environment(runners))
        variables.update(self.data.get("env", {}))
        variables.update(env or {})
        line = test_runners.through_runner(command, runners)
        done = self.sandbox.run(
            ["/bin/sh", "-c", 'exec 2>&1; exec /bin/sh -c "$1"', "sh", line],
            cwd=place,
            limits=self._limits(),
            policy=Policy(network=self.data["network"], binds=binds, env=variables),
        )
        reported = done.result.decode(errors="replace")
        return CommandResult(command, done.status, done.exit_code, done.text, done.seconds, reported=reported)

    @property
    def _moves(self) -> bool:
        """Whether the sandbox can show a folder at another path."""
        return self.sandbox.backend not in ("landlock", "unsafe-bare-host")

    def _dependency_binds(self, original: Path, root: Path, place: Path) -> list[Bind]:
        """Return binds of the original's dependencies in a copy, whose root is seen at `place`."""
        binds = []
        for name in self.dependencies:
            folder = original / name
            if not folder.is_dir():
                continue
            if os.path.realpath(folder) != os.path.join(os.path.realpath(original), name):
                # A link could lead to any folder of the host.
                raise ConfigurationError(
                    f"the dependencies {folder} lie behind a link, and only folders in the workspace are "
                    "shown to commands: begin the task again"
                )
            if not holds_dependencies(folder):
                # Others have what a copy leaves out, such as `.git`.
                raise ConfigurationError(
                    f"{folder} is not a folder of installed dependencies, and the state names it as one: "
                    "begin the task again"
                )
            _make_way(root, name)
            binds.append(Bind(folder, place / name))
        return binds

    def _limits(self) -> Limits:
        wall = float(self.data["timeout"])
        return Limits(
            wall=wall,
            cpu=8 * wall,
            memory=int(self.data["memory"]) * MB,
            processes=512,
            descriptors=4096,
            disk=1024 * MB,
            files=200_000,
            output=_OUTPUT,
        )

    def search(self, pattern: str, folder: str, copy: Copy) -> CommandResult:
        """Search the files in a folder of a copy for an extended regular expression."""
        words = ["grep", "-rnIE"]
        for name in sorted(EXCLUDED):
            words.append(f"--exclude-dir={name}")
        for path in self.dependencies:
            words.append(f"--exclude-dir={posixpath.basename(path)}")
        words += ["-e", pattern, "--", folder]
        return self.run(shlex.join(words), copy)


def expect_command(command: str, data: dict[str, Any], status: int | None = None) -> None:
    """Expect that the sandbox has a command's program; see `expect_program`.

    A task with a PATH of its own may have programs in the workspace, which are not looked for.
    """
    if "PATH" not in data.get("env", {}):
        expect_program(command, exposed_paths().path, status=status)


def _is_reserved(path: str) -> bool:
    """Whether the sandbox has a folder of its own there, below or above."""
    return any(below(path, each) or below(each, path) for each in RESERVED)


def _make_way(root: Path, name: str) -> None:
    """Make a mount point for dependencies, whatever a command has put there."""
    at = root
    for part in Path(name).parts:
        at = at / part
        if at.is_symlink() or not at.is_dir():
            remove(at)
            at.mkdir()
