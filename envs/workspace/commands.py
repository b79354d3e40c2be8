"""Sandboxed commands in a copy of the workspace, which is mounted at the path of the original."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langgraph_reflexion.envs.sandbox import Bind, Limits, Policy, Sandbox
from langgraph_reflexion.envs.sandbox.types import MB, RESERVED, below
from langgraph_reflexion.envs.workspace.copies import Copy, remove

_OUTPUT = MB
"""Bytes of output that are kept, half of them from its end."""
# Lists on the result descriptor the processes that outlive the command, which may fake the list.
_REPORTING = """exec 2>&1
/bin/sh -c "$1" 3>&-
status=$?
for folder in /proc/[0-9]*; do
  number=${folder#/proc/}
  [ "$number" = 1 ] || [ "$number" = $$ ] || echo "$number" >&3
done
exit $status"""
_SILENT = 'exec 2>&1; exec /bin/sh -c "$1"'


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
    left_running: bool = False
    """Whether it left processes running, which were then killed."""
    lacks_evidence: str = ""
    """Why an exit status of 0 does not count; see `test_evidence`."""

    @property
    def succeeded(self) -> bool:
        """Whether it exited with status 0, with evidence that its tests ran."""
        return self.status == "ok" and not self.lacks_evidence

    @property
    def outcome(self) -> str:
        """The exit status, or the limit that ended it, in words."""
        if self.lacks_evidence:
            return f"exit status {self.exit_code}, which does not count: {self.lacks_evidence}"
        if self.status in ("ok", "failed"):
            return f"exit status {self.exit_code}"
        words = {"timeout": "it took too long", "memory": "it used too much memory", "output": "it printed too much"}
        return f"ended by the sandbox: {words.get(self.status, f'too much {self.status}')}"


class Commands:
    """Runs a task's commands.

    Args:
        sandbox: The sandbox.
        data: The task's data; see `tasks`.
        dependencies: Folders of the original that commands see read-only.
    """

    def __init__(self, sandbox: Sandbox, data: dict[str, Any], dependencies: list[str]) -> None:
        self._sandbox = sandbox
        self._data = data
        self._dependencies = dependencies

    def run(
        self, command: str, copy: Copy, *, report_leftovers: bool = False, dependencies: bool = True
    ) -> CommandResult:
        """Run a command line in a copy.

        Args:
            command: The command line, for `/bin/sh`.
            copy: The copy, which it may change.
            report_leftovers: Find out whether it left processes running, where it sees its own only.
            dependencies: Whether it sees the original's installed dependencies.

        Raises:
            ConfigurationError: the copy cannot be mounted at the original's path.
            EnvironmentFault: the sandbox did not start.
        """
        original, wall = Path(self._data["path"]), float(self._data["timeout"])
        # At the original's path, so that absolute paths in scripts, caches and installed links lead into the copy.
        moves = self._sandbox.backend not in ("landlock", "unsafe-bare-host")
        taken = any(below(str(original), each) or below(each, str(original)) for each in RESERVED)
        place = original if moves and not taken else copy.root
        binds = [Bind(copy.root, place, writable=True)]
        for name in self._dependencies if moves and dependencies else []:
            if (original / name).is_dir():
                self._make_way(copy.root, name)
                binds.append(Bind(original / name, place / name))
        shown = [Bind(Path(path)) for path in self._data.get("show", ())]
        done = self._sandbox.run(
            ["/bin/sh", "-c", _REPORTING if report_leftovers and moves else _SILENT, "sh", command],
            cwd=place,
            limits=Limits(
                wall=wall,
                cpu=8 * wall,
                memory=int(self._data["memory"]) * MB,
                processes=512,
                descriptors=4096,
                disk=1024 * MB,
                files=200_000,
                output=_OUTPUT,
            ),
            policy=Policy(
                network=self._data["network"], binds=(*binds, *shown), env={"CI": "true", **self._data.get("env", {})}
            ),
        )
        return CommandResult(command, done.status, done.exit_code, done.text, done.seconds, bool(done.result))

    def search(self, pattern: str, folder: str, copy: Copy) -> CommandResult:
        """Search the files in a folder of a copy for an extended regular expression."""
        excluded = "--exclude-dir=.git --exclude-dir=__pycache__"
        at = "." if folder == "." else f"./{folder}"
        command = f"grep -rnIE {excluded} -e {shlex.quote(pattern)} -- {shlex.quote(at)}"
        return self.run(command, copy, dependencies=False)

    @staticmethod
    def _make_way(root: Path, name: str) -> None:
        """Make a mount point for dependencies, whatever a command has put there."""
        at = root
        for part in Path(name).parts:
            at = at / part
            if at.is_symlink() or not at.is_dir():
                remove(at)
                at.mkdir()
