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
from langgraph_reflexion.envs.workspace.snapshots import LINK, Change, SnapshotRepo
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
        why = "they decide the verdict, are built from others or lead out of the workspace"
        return [f"Changes to these files did not count, as {why}: {named}{more}."]


class Grader:
    """Verifies states of a task's files, in copies that `copy` makes."""

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
        run = {*scripts_run(self._verify, paths.__contains__), *self._additions.included, *self._additions.run}
        # unittest finds tests by this pattern.
        found = ["test*.py"] if any("unittest" in command for command in self._verify) else []
        self.protected = Protection([*data["protect"], *found, *folders_on_path(self._path)], data["allow"], run)

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
                if runs:
                    reverted += [each for each in self._restore(copy, verified) if each not in reverted]
                result = self._commands.run(command, copy)
                expect_command(command, self._data, status=result.exit_code)
                if result.succeeded:
                    result = replace(result, lacks_evidence=self._lacks_evidence(result, copy))
                runs.append(result)
        return Verification(tuple(runs), tuple(reverted))

    def _lacks_evidence(self, result: CommandResult, copy: Copy) -> str:
        """Return why a success of a command does not count; empty if it does."""
        source = partial(self._source, copy)
        reason = lacks_evidence(result.command, result.output, source, result.reported)
        if reason or self._data["allow"] or not runs_cargo(result.command):
            return reason
        # Tests among the code, as is usual in Rust, are not protected. A trial may add to them.
        with closing(self._copy(self._pristine)) as pristine:
            before = self._commands.run(result.command, pristine, env={LIST: "1"})
        return lost_test(before.reported, result.reported)

    def with_protected(self, tree: str) -> tuple[str, list[Reverted]]:
        """Return the tree with all protected files as they were at the beginning, and the changes it reverts."""
        changes = self._repo.changes(self._pristine, tree)
        ignored = self._repo.ignored(self._pristine, [change.path for change in changes])
        reverted = [(change, what) for change in changes if (what := self._reverted(change, ignored))]
        targets = filter(self._additions.target, self._repo.paths(tree, empty=True))
        entries = [*((change.path, change.before) for change, _ in reverted), *((path, None) for path in targets)]
        return self._repo.replace(tree, entries), [Reverted(change.path, what) for change, what in reverted]

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
        return f"{change.word}, ignored by git" if change.path in ignored else ""

    def _decides(self, change: Change) -> bool:
        replaces = change.before is None and self._additions.module(change.path)
        return self.protected(change.path) or (replaces and not self.protected.allowed(change.path))

    def _pristine_text(self, path: str) -> str:
        return self._repo.file(self._pristine, path).decode(errors="replace")

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

    def _restore(self, copy: Copy, verified: str) -> list[Reverted]:
        """Restore the protected files that a command has changed, and remove bytecode and caches among them."""
        try:
            changes = self._repo.changes(verified, copy.refresh())
        except TooLarge:
            # Its changes are unknown.
            copy.reset(verified)
            return []
        reverted = [change for change in changes if self._decides(change)]
        hidden = [path for path in copy.excluded if posixpath.basename(path) in EXCLUDED or self.protected(path)]
        copy.restore(verified, [*hidden, *(change.path for change in reverted)])
        return [Reverted(change.path, f"{change.word} by a command") for change in reverted]
