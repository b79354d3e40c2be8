"""Verification of a trial: its commands, run in a fresh copy with protected files restored."""

import os
import posixpath
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from langgraph_reflexion.envs.workspace import safe_paths
from langgraph_reflexion.envs.workspace.commands import CommandResult, Commands
from langgraph_reflexion.envs.workspace.copies import Copy, TooLarge
from langgraph_reflexion.envs.workspace.failure_parser import failed_tests, first_error, linter_errors
from langgraph_reflexion.envs.workspace.protection import Protection, scripts_run
from langgraph_reflexion.envs.workspace.snapshots import LINK, Change, Files, SnapshotRepo
from langgraph_reflexion.envs.workspace.test_evidence import lacks_evidence
from langgraph_reflexion.envs.workspace.tree_walk import EXCLUDED
from langgraph_reflexion.envs.workspace.truncate import MAX_CHARS, truncate

_LISTED = 20


class Reverted(NamedTuple):
    """A change of the trial that was reverted before verification."""

    path: str
    what: str
    """`added`, `removed`, `changed`, or `a link out of the workspace`."""


@dataclass(frozen=True)
class Verification:
    """The results of the verification commands."""

    tree: str
    """The verified files: the trial's, without the reverted changes."""
    runs: tuple[CommandResult, ...]
    reverted: tuple[Reverted, ...] = ()

    @property
    def passed(self) -> bool:
        return all(run.succeeded for run in self.runs)

    @property
    def transcript(self) -> str:
        """The whole output of all commands."""
        parts = [f"$ {run.command}\n{run.output.rstrip()}\n[{run.outcome}, {run.seconds:.1f} s]" for run in self.runs]
        return "\n\n".join([*parts, *self._note()]) + "\n"

    def render(self) -> str:
        """Return what the agent sees: of each failed command, the first errors and the last lines."""
        failed = [run for run in self.runs if not run.succeeded]
        if not failed:
            lines = [f"Verification passed: {', '.join(f'`{run.command}`' for run in self.runs)}."]
        else:
            lines = [f"Verification failed, in {len(failed)} of {len(self.runs)} commands."]
            most = MAX_CHARS // len(failed)
            lines += [f"$ {run.command}\n{truncate(run.output, most)}\n[{run.outcome}]" for run in failed]
        return "\n".join([*lines, *self._note()])

    @property
    def error(self) -> str:
        """The first line that describes an error; empty if verification passed."""
        failed = next((run for run in self.runs if not run.succeeded), None)
        if failed is None:
            return ""
        return first_error(failed.output) if failed.status == "failed" and failed.output.strip() else failed.outcome

    @property
    def context(self) -> dict[str, list[str]]:
        """The failed tests and the linters' errors."""
        output = "\n".join(run.output for run in self.runs if not run.succeeded)
        return {"test_failures": failed_tests(output), "linter_errors": linter_errors(output)}

    def _note(self) -> list[str]:
        if not self.reverted:
            return []
        named = ", ".join(f"{path} ({what})" for path, what in self.reverted[:_LISTED])
        more = f" and {len(self.reverted) - _LISTED} more" if len(self.reverted) > _LISTED else ""
        why = "they decide the verdict or lead out of the workspace"
        return [f"Changes to these files did not count, as {why}: {named}{more}."]


class Grader:
    """Verifies states of a task's files, in copies that `copy` makes."""

    def __init__(
        self,
        repo: SnapshotRepo,
        pristine: Files,
        data: dict[str, Any],
        commands: Commands,
        copy: Callable[[Files], Copy],
    ) -> None:
        self._repo = repo
        self._pristine = pristine
        self._path: str = data["path"]
        self._verify: list[str] = data["verify"]
        self._commands = commands
        self._copy = copy
        scripts = scripts_run(self._verify, repo.paths(pristine.tree).__contains__)
        self.protected = Protection(data["protect"], data["allow"], scripts)

    def verify(self, files: Files) -> Verification:
        """Run the commands on a state of the files.

        Protected files are restored before each command. The copy holds nothing but the files of the state, so no
        cache of the trial can influence the result.

        Raises:
            EnvironmentFault: the sandbox did not start.
        """
        verified, reverted = self.with_protected(files)
        runs: list[CommandResult] = []
        with closing(self._copy(verified)) as copy:
            for command in self._verify:
                if runs:
                    reverted += [each for each in self._restore(copy, verified) if each not in reverted]
                result = self._commands.run(command, copy)
                if result.succeeded:
                    reason = lacks_evidence(command, result.output, partial(self._source, copy))
                    result = replace(result, lacks_evidence=reason)
                runs.append(result)
        return Verification(verified.tree, tuple(runs), tuple(reverted))

    def with_protected(self, files: Files) -> tuple[Files, list[Reverted]]:
        """Return the state with all protected files as they were at the beginning, and the changes it reverts."""
        changes = self._repo.changes(self._pristine.tree, files.tree)
        reverted = [
            (change, "a link out of the workspace" if out else change.word)
            for change in changes
            if (out := self._leads_out(change)) or self.protected(change.path)
        ]
        if reverted:
            files = self._repo.replace(files, [(change.path, change.before) for change, _ in reverted])
        return files, [Reverted(change.path, what) for change, what in reverted]

    def _source(self, copy: Copy, path: str) -> str:
        try:
            place = safe_paths.inside(copy.root, path, self._path)
            return safe_paths.read_bytes(copy.root, place).decode(errors="replace")
        except safe_paths.Refused:
            return ""

    def _leads_out(self, change: Change) -> bool:
        if change.after is None or change.after.mode != LINK:
            return False
        target = os.fsdecode(self._repo.blob(change.after.blob))
        names = [name for name in target.split("/") if name not in ("", ".")]
        if names != sorted(names, key=lambda name: name != ".."):
            # A name before `..` may be a link itself, so the target of `..` is unknown.
            return True
        inside = posixpath.normpath(posixpath.join(posixpath.dirname(change.path), target))
        return target.startswith("/") or inside == ".." or inside.startswith("../")

    def _restore(self, copy: Copy, verified: Files) -> list[Reverted]:
        """Restore the protected files that a command has changed, and remove bytecode and caches among them."""
        try:
            changes = self._repo.changes(verified.tree, copy.refresh().tree)
        except TooLarge:
            # Its changes are unknown.
            copy.reset(verified)
            return []
        reverted = [change for change in changes if self.protected(change.path)]
        hidden = [path for path in copy.excluded if posixpath.basename(path) in EXCLUDED or self.protected(path)]
        copy.restore(verified, [*hidden, *(change.path for change in reverted)])
        return [Reverted(change.path, f"{change.word} by a command") for change in reverted]
