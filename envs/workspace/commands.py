"""Commands in a copy of the workspace: in the sandbox, at the place of the original, which is out of reach."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langgraph_reflexion.envs.sandbox import Bind, Limits, Policy, Sandbox
from langgraph_reflexion.envs.sandbox.checks import RESERVED, below
from langgraph_reflexion.envs.sandbox.contract import MB
from langgraph_reflexion.envs.workspace.copies import Copy, remove

_OUTPUT = MB
"""Bytes of an output that are kept, half from its beginning and half from its end."""
# Says on the result descriptor what still runs when the command itself has ended, which may as well be a lie.
_TELLING = """exec 2>&1
/bin/sh -c "$1" 3>&-
status=$?
for folder in /proc/[0-9]*; do
  number=${folder#/proc/}
  [ "$number" = 1 ] || [ "$number" = $$ ] || echo "$number" >&3
done
exit $status"""
_SILENT = 'exec 2>&1; exec /bin/sh -c "$1"'


@dataclass(frozen=True, slots=True)
class Done:
    """A command that has ended."""

    command: str
    status: str
    """`ok`, `failed`, or the limit that ended it."""
    exit_code: int
    output: str
    """Standard output and standard error as they came; the middle is left out of a huge one."""
    seconds: float
    left_running: bool = False
    """Whether something was still running when it had ended, and was ended with it."""
    unproven: str = ""
    """Why an exit status of 0 does not count; see `proof`."""

    @property
    def succeeded(self) -> bool:
        """Whether it exited with status 0, and nothing speaks against that."""
        return self.status == "ok" and not self.unproven

    @property
    def outcome(self) -> str:
        """How it ended, in words."""
        if self.unproven:
            return f"exit status {self.exit_code}, which does not count: {self.unproven}"
        if self.status in ("ok", "failed"):
            return f"exit status {self.exit_code}"
        words = {"timeout": "it took too long", "memory": "it used too much memory", "output": "it printed too much"}
        return f"ended by the sandbox: {words.get(self.status, f'too much {self.status}')}"


class Commands:
    """Runs a task's commands.

    Args:
        sandbox: Where.
        data: The task's data; see `tasks`.
        dependencies: Folders of the original that commands see, read-only.
    """

    def __init__(self, sandbox: Sandbox, data: dict[str, Any], dependencies: list[str]) -> None:
        self._sandbox = sandbox
        self._data = data
        self._dependencies = dependencies

    def run(self, command: str, copy: Copy, *, telling: bool = False, dependencies: bool = True) -> Done:
        """Run a command line in a copy.

        Args:
            command: The command line, for `/bin/sh`.
            copy: Where it runs, and what it may change.
            telling: Find out whether it left anything running, where it sees no other processes than its own.
            dependencies: Show it the original's installed dependencies.

        Raises:
            ConfigurationError: the copy cannot be shown at the original's place.
            EnvironmentFault: the sandbox did not start.
        """
        original, wall = Path(self._data["path"]), float(self._data["timeout"])
        # At the original's place, so that absolute paths in scripts, caches and installed links lead into the copy.
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
            ["/bin/sh", "-c", _TELLING if telling and moves else _SILENT, "sh", command],
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
        return Done(command, done.status, done.exit_code, done.text, done.seconds, bool(done.result))

    def search(self, pattern: str, folder: str, copy: Copy) -> Done:
        """Look for an extended regular expression in a folder of a copy, line by line."""
        left_out = "--exclude-dir=.git --exclude-dir=__pycache__"
        at = "." if folder == "." else f"./{folder}"
        command = f"grep -rnIE {left_out} -e {shlex.quote(pattern)} -- {shlex.quote(at)}"
        return self.run(command, copy, dependencies=False)

    @staticmethod
    def _make_way(root: Path, name: str) -> None:
        """See to it that a folder of dependencies can be shown where it belongs, whatever a command has put there."""
        at = root
        for part in Path(name).parts:
            at = at / part
            if at.is_symlink() or not at.is_dir():
                remove(at)
                at.mkdir()
