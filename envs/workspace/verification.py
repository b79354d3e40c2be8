"""Verification: the commands that decide, in a fresh copy, with what decides as it was when the task began."""

import json
import os
import posixpath
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from langgraph_reflexion.envs.workspace import places
from langgraph_reflexion.envs.workspace.commands import Commands, Done
from langgraph_reflexion.envs.workspace.copies import Copy, TooMuch
from langgraph_reflexion.envs.workspace.findings import failed_tests, first_error, linter_errors
from langgraph_reflexion.envs.workspace.lending import Copies
from langgraph_reflexion.envs.workspace.proof import unproven
from langgraph_reflexion.envs.workspace.protection import Protection, run_by
from langgraph_reflexion.envs.workspace.shadow import LINK, Change, Shadow
from langgraph_reflexion.envs.workspace.shortening import MOST, shortened
from langgraph_reflexion.envs.workspace.states import Files
from langgraph_reflexion.envs.workspace.walking import NEVER

_NAMED = 20


class PutBack(NamedTuple):
    """A file that was as it had been while the commands ran, and not as the trial had left it."""

    path: str
    what: str
    """`added`, `removed`, `changed`, or `a link out of the workspace`."""


@dataclass(frozen=True)
class Verification:
    """What came of it."""

    tree: str
    """The files that were verified: the trial's, with what was put back."""
    runs: tuple[Done, ...]
    put_back: tuple[PutBack, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether all commands succeeded."""
        return all(run.succeeded for run in self.runs)

    @property
    def output(self) -> str:
        """All output of the commands that failed."""
        return "\n".join(run.output for run in self.runs if not run.succeeded)

    @property
    def whole(self) -> str:
        """All that was printed, for the record."""
        parts = [f"$ {run.command}\n{run.output.rstrip()}\n[{run.outcome}, {run.seconds:.1f} s]" for run in self.runs]
        return "\n\n".join([*parts, *([self.told_back] if self.put_back else [])]) + "\n"

    @property
    def told_back(self) -> str:
        """What was put back, in words; empty where nothing was."""
        if not self.put_back:
            return ""
        named = [f"{path} ({what})" for path, what in self.put_back[:_NAMED]]
        more = len(self.put_back) - len(named)
        return (
            "What was done to these files did not count, as they decide the verdict or lead out of the workspace: "
            f"{', '.join(named)}{f' and {more} more' if more else ''}."
        )

    @property
    def told(self) -> str:
        """It in words, as the agent is told it: of what failed, the first errors and the last lines."""
        failed = [run for run in self.runs if not run.succeeded]
        if not failed:
            said = [f"Verification passed: {', '.join(f'`{run.command}`' for run in self.runs)}."]
        else:
            said = [f"Verification failed, in {len(failed)} of {len(self.runs)} commands."]
            said += [_shown(run, MOST // len(failed)) for run in failed]
        return "\n".join([*said, *([self.told_back] if self.put_back else [])])

    @property
    def error(self) -> str:
        """The first line that says what went wrong; empty where nothing did."""
        failed = next((run for run in self.runs if not run.succeeded), None)
        if failed is None:
            return ""
        return first_error(failed.output) if failed.status == "failed" and failed.output.strip() else failed.outcome

    @property
    def context(self) -> dict[str, list[str]]:
        """The tests and the linters' complaints that failed."""
        return {"test_failures": failed_tests(self.output), "linter_errors": linter_errors(self.output)}

    def to_json(self) -> str:
        """As JSON, to be read again by `from_json`."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Verification":
        """What `to_json` has written."""
        read: dict[str, Any] = json.loads(text)
        runs = tuple(Done(**run) for run in read["runs"])
        return cls(read["tree"], runs, tuple(PutBack(*each) for each in read["put_back"]))


class Judge:
    """Verifies states of a task's files.

    Args:
        shadow: Where they are kept.
        pristine: The state that the task began with.
        data: The task's data; see `tasks`.
        commands: Runs them.
        copies: Where they are run.
    """

    def __init__(
        self,
        shadow: Shadow,
        pristine: Files,
        data: dict[str, Any],
        commands: Commands,
        copies: Copies,
    ) -> None:
        self._shadow = shadow
        self._pristine = pristine
        self._path: str = data["path"]
        self._verify: list[str] = data["verify"]
        self._commands = commands
        self._copies = copies
        there = shadow.entries(pristine.tree)
        self.protected = Protection(data["protect"], data["allow"], run_by(self._verify, there.__contains__))

    def verify(self, files: Files) -> Verification:
        """Run the commands on a state of the files.

        Protected files are as they were when the task began, before the first command and before every further one.
        Nothing else is there than the files of the state, so that no cache of the trial's tells them anything.

        Raises:
            EnvironmentFault: the sandbox did not start.
        """
        judged, put_back = self.judged(files)
        runs: list[Done] = []
        copy = self._copies.take(judged)
        try:
            for number, command in enumerate(self._verify):
                done = self._commands.run(command, copy)
                if done.succeeded:
                    done = replace(done, unproven=unproven(command, done.output, partial(self._source, copy)))
                runs.append(done)
                if number + 1 < len(self._verify):
                    try:
                        put_back += [each for each in self._restore(copy, judged) if each not in put_back]
                    except TooMuch:
                        # What it has done cannot be told, so the next one begins anew.
                        copy.close()
                        copy = self._copies.take(judged)
        finally:
            copy.close()
        return Verification(judged.tree, tuple(runs), tuple(put_back))

    def judged(self, files: Files) -> tuple[Files, list[PutBack]]:
        """The state that is verified: this one, with what is protected as it was when the task began.

        Returns:
            The state, and what was put back.
        """
        reverted = [
            (change, "a link out of the workspace" if out else change.word)
            for change in self._shadow.changes(self._pristine.tree, files.tree)
            if (out := self._leads_out(change)) or self.protected(change.path)
        ]
        if not reverted:
            return files, []
        index = self._copies.folder / f"judged-{os.urandom(6).hex()}"
        try:
            self._shadow.read_tree(files.tree, index)
            tree = self._shadow.write_tree(index, [(change.path, change.before) for change, _ in reverted])
        finally:
            index.unlink(missing_ok=True)
        return Files(tree, files.empty), [PutBack(change.path, what) for change, what in reverted]

    def _source(self, copy: Copy, path: str) -> str:
        try:
            place = places.inside(copy.root, path, self._path)
            return places.read_bytes(copy.root, place).decode(errors="replace")
        except places.Refused:
            return ""

    def _leads_out(self, change: Change) -> bool:
        if change.after is None or change.after.mode != LINK:
            return False
        target = os.fsdecode(self._shadow.blob(change.after.blob))
        names = [name for name in target.split("/") if name not in ("", ".")]
        if names != sorted(names, key=lambda name: name != ".."):
            # What comes before `..` may be a link itself, so nobody knows where it goes up from.
            return True
        inside = posixpath.normpath(posixpath.join(posixpath.dirname(change.path), target))
        return target.startswith("/") or inside == ".." or inside.startswith("../")

    def _restore(self, copy: Copy, judged: Files) -> list[PutBack]:
        """Put back what a command has changed of the protected files, and remove bytecode and caches among them."""
        changes = self._shadow.changes(judged.tree, copy.look().tree)
        reverted = [change for change in changes if self.protected(change.path)]
        hidden = [path for path in copy.left_out if posixpath.basename(path) in NEVER or self.protected(path)]
        copy.put_back(judged, [*hidden, *(change.path for change in reverted)])
        return [PutBack(change.path, f"{change.word} by a command") for change in reverted]


def _shown(run: Done, most: int) -> str:
    return f"$ {run.command}\n{shortened(run.output, most)}\n[{run.outcome}]"
