"""Verification of a trial: its commands, run in a fresh copy with protected files restored."""

import os
import posixpath
from collections.abc import Callable, Collection
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from langgraph_reflexion.envs.workspace import safe_paths
from langgraph_reflexion.envs.workspace.commands import CommandResult, Commands, expect_command
from langgraph_reflexion.envs.workspace.copies import Copy, TooLarge
from langgraph_reflexion.envs.workspace.protection import Additions, Protection, folders_on_path, scripts_run
from langgraph_reflexion.envs.workspace.snapshots import LINK, Change, Entry, SnapshotRepo
from langgraph_reflexion.envs.workspace.test_evidence import lacks_evidence, lost_test, runs_cargo
from langgraph_reflexion.envs.workspace.test_runners import LIST
from langgraph_reflexion.envs.workspace.tree_walk import EXCLUDED
from langgraph_reflexion.envs.workspace.truncate import MAX_CHARS, failed_tests, first_error, linter_errors, truncate

_LISTED = 20


class Reverted(NamedTuple):
    """A change of the trial that was reverted before verification."""

    path: str
    what: str
    """`added`, `removed` or `changed`, and perhaps why."""


@dataclass(frozen=True)
class Verification:
    """The results of the verification commands."""

    runs: tuple[CommandResult, ...]
    reverted: tuple[Reverted, ...] = ()

    @property
    def passed(self) -> bool:
        return all(run.succeeded for run in self.runs)

    @property
    def transcript(self) -> str:
        """The whole output of all commands."""
        parts = []
        for run in self.runs:
            parts.append(f"$ {run.command}\n{run.output.rstrip()}\n[{run.outcome}, {run.seconds:.1f} s]")
        if self.reverted:
            parts.append(self._note())
        return "\n\n".join(parts) + "\n"

    def render(self) -> str:
        """Return what the agent sees: of each failed command, the first errors and the last lines."""
        failed = self._failed
        if failed:
            lines = [f"Verification failed, in {len(failed)} of {len(self.runs)} commands."]
        else:
            commands = ", ".join(f"`{run.command}`" for run in self.runs)
            lines = [f"Verification passed: {commands}."]
        for run in failed:
            output = truncate(run.output, MAX_CHARS // len(failed))
            lines.append(f"$ {run.command}\n{output}\n[{run.outcome}]")
        if self.reverted:
            lines.append(self._note())
        return "\n".join(lines)

    @property
    def error(self) -> str:
        """The first line that describes an error; empty if verification passed."""
        failed = self._failed
        if not failed:
            return ""
        first = failed[0]
        # If the sandbox ended it, its output breaks off anywhere.
        if first.status == "failed" and first.output.strip():
            return first_error(first.output)
        return first.outcome

    @property
    def context(self) -> dict[str, list[str]]:
        """The failed tests and the linters' errors."""
        output = "\n".join(run.output for run in self._failed)
        return {"test_failures": failed_tests(output), "linter_errors": linter_errors(output)}

    @property
    def _failed(self) -> list[CommandResult]:
        return [run for run in self.runs if not run.succeeded]

    def _note(self) -> str:
        named = ", ".join(f"{path} ({what})" for path, what in self.reverted[:_LISTED])
        left = len(self.reverted) - _LISTED
        if left > 0:
            named += f" and {left} more"
        why = "they decide the verdict, are built from others or lead out of the workspace"
        return f"Changes to these files did not count, as {why}: {named}."


class Grader:
    """Verifies states of a task's files.

    Args:
        repo: The states.
        pristine: The original state, whose files decide what verification runs.
        data: The task's `data`.
        commands: Runs the verification commands.
        copy: Makes a copy on disk of a state, in which they run.
    """

    def __init__(
        self,
        repo: SnapshotRepo,
        pristine: str,
        data: dict[str, Any],
        commands: Commands,
        copy: Callable[[str], Copy],
    ) -> None:
        self._repo = repo
        self._pristine = pristine
        self._data = data
        self._path: str = data["path"]
        self._verify: list[str] = data["verify"]
        self._commands = commands
        self._copy = copy
        paths = repo.paths(pristine)
        self._additions = Additions(paths, self._pristine_text, self._verify)
        # The files that decide what verification does: scripts, makefiles, and what makefiles include and run.
        run = set(scripts_run(self._verify, paths.__contains__))
        run |= self._additions.included
        run |= self._additions.run
        protect = list(data["protect"])
        if any("unittest" in command for command in self._verify):
            # unittest finds tests by this pattern.
            protect.append("test*.py")
        protect += folders_on_path(self._path)
        self.protected = Protection(protect, data["allow"], run)

    def verify(self, tree: str) -> Verification:
        """Run the commands on the files of a tree.

        Protected files are restored before each command. The copy holds nothing but these files, so no
        cache of the trial can influence the result.

        Raises:
            EnvironmentFault: the sandbox did not start.
            EnvironmentUnavailable: a command's program is missing.
        """
        verified, reverted = self.with_protected(tree)
        runs: list[CommandResult] = []
        with closing(self._copy(verified)) as copy:
            for command in self._verify:
                # The commands before may have changed what decides.
                if runs:
                    by_command = self._restore(copy, verified)
                    reverted += [each for each in by_command if each not in reverted]
                result = self._commands.run(command, copy)
                expect_command(command, self._data, status=result.exit_code)
                if result.succeeded:
                    reason = self._lacks_evidence(result, copy)
                    result = replace(result, lacks_evidence=reason)
                runs.append(result)
        return Verification(tuple(runs), tuple(reverted))

    def _lacks_evidence(self, result: CommandResult, copy: Copy) -> str:
        """Return why a success of a command does not count; empty if it does."""
        command = result.command
        source = partial(self._source, copy)
        reason = lacks_evidence(command, result.output, source, result.reported)
        if reason:
            return reason
        # Tests among the code, as is usual in Rust, are not protected. A trial may add to them.
        if not runs_cargo(command) or self._data["allow"]:
            return ""
        with closing(self._copy(self._pristine)) as pristine:
            before = self._commands.run(command, pristine, env={LIST: "1"})
        return lost_test(before.reported, result.reported)

    def with_protected(self, tree: str) -> tuple[str, list[Reverted]]:
        """Return the tree with all protected files as they were at the beginning, and the changes it reverts."""
        changes = self._repo.changes(self._pristine, tree)
        paths = [change.path for change in changes]
        # By the rules of the beginning: a trial may change them.
        ignored = self._repo.ignored(self._pristine, paths)
        reverted: list[Reverted] = []
        entries: list[tuple[str, Entry | None]] = []
        for change in changes:
            what = self._reverted(change, ignored)
            if what:
                reverted.append(Reverted(change.path, what))
                entries.append((change.path, change.before))
        # An empty folder may be a target of make, too.
        for path in self._repo.paths(tree, empty=True):
            if self._additions.target(path):
                entries.append((path, None))
        return self._repo.replace(tree, entries), reverted

    def _reverted(self, change: Change, ignored: Collection[str]) -> str:
        """Return why a change does not count; empty if it does."""
        if self._leads_out(change):
            return "a link out of the workspace"
        if self._decides(change):
            return change.word
        if self.protected.allowed(change.path):
            return ""
        if change.before is None and self._additions.target(change.path):
            return "added, a target of make"
        if change.path in ignored:
            return f"{change.word}, ignored by git"
        return ""

    def _decides(self, change: Change) -> bool:
        """Whether a change is one of what decides the verdict."""
        if self.protected(change.path):
            return True
        replaces = change.before is None and self._additions.module(change.path)
        return replaces and not self.protected.allowed(change.path)

    def _pristine_text(self, path: str) -> str:
        content = self._repo.file(self._pristine, path)
        return content.decode(errors="replace")

    def _source(self, copy: Copy, path: str) -> str:
        try:
            place = safe_paths.inside(copy.root, path, self._path)
            content = safe_paths.read_bytes(copy.root, place)
            return content.decode(errors="replace")
        except safe_paths.Refused:
            return ""

    def _leads_out(self, change: Change) -> bool:
        if change.after is None or change.after.mode != LINK:
            return False
        target = os.fsdecode(self._repo.blob(change.after.blob))
        if target.startswith("/"):
            return True
        names = [name for name in target.split("/") if name not in ("", ".")]
        up_first = sorted(names, key=lambda name: name != "..")
        if names != up_first:
            # A name before `..` may be a link itself, so the target of `..` is unknown.
            return True
        folder = posixpath.dirname(change.path)
        inside = posixpath.normpath(posixpath.join(folder, target))
        return inside == ".." or inside.startswith("../")

    def _restore(self, copy: Copy, verified: str) -> list[Reverted]:
        """Restore the protected files that a command has changed, and remove bytecode and caches among them."""
        try:
            changes = self._repo.changes(verified, copy.refresh())
        except TooLarge:
            # Its changes are unknown.
            copy.reset(verified)
            return []
        # They are in no tree, so no change shows them.
        paths = [path for path in copy.excluded if posixpath.basename(path) in EXCLUDED or self.protected(path)]
        reverted = []
        for change in changes:
            if self._decides(change):
                paths.append(change.path)
                reverted.append(Reverted(change.path, f"{change.word} by a command"))
        copy.restore(verified, paths)
        return reverted
