"""An episode in a workspace: an agent reads and changes files until verification succeeds."""

from collections import Counter
from collections.abc import Callable
from typing import Annotated, Any

from langgraph_reflexion.envs.base import Episode, StepResult, Task, action
from langgraph_reflexion.envs.workspace import safe_paths
from langgraph_reflexion.envs.workspace.commands import Commands
from langgraph_reflexion.envs.workspace.copies import Copy, TooLarge
from langgraph_reflexion.envs.workspace.tree_walk import walk
from langgraph_reflexion.envs.workspace.truncate import truncate
from langgraph_reflexion.envs.workspace.verification import Grader, Verification

LISTED = 200
"""Maximum number of files that are listed."""
FOUND = 100
"""Maximum number of matches that are shown."""
LINES = 200
"""Lines of a file that are shown unless the agent asks for another number."""
_READ = 16_000
"""Characters after which a file is shown no further."""
_LONGEST_LINE = 500
"""Characters of a line that are shown."""
_AROUND = 3
"""Lines that are shown before and after an edit."""
_LONGEST_COMMAND = 100_000
"""Bytes of a command, or of a pattern."""


class WorkspaceEpisode(Episode):
    """A trial in a copy of a workspace, which is closed with the episode.

    `keep` stores the verification of a tree; `passed` is the tree that passed the last one, if it passed.
    """

    def __init__(
        self,
        task: Task,
        copy: Copy,
        commands: Commands,
        grader: Grader,
        keep: Callable[[str, Verification], None],
        *,
        passed: str | None = None,
        submitted: bool = False,
    ) -> None:
        self._data: dict[str, Any] = task["data"]
        self._copy = copy
        self._commands = commands
        self._grader = grader
        self._keep = keep
        self._passed = passed
        self._submitted = submitted
        commands_list = ", ".join(f"`{command}`" for command in self._data["verify"])
        self.observation = (
            f"{task['instruction'].strip()}\n"
            f"It is solved when verification succeeds: {commands_list}. Before it, tests, configuration and lock "
            f"files are put back as they were at the beginning.\n{self._tree('.')}"
        )

    @action("list_files[{folder}]", "list_files[]", "list_files")
    def list_files(self, folder: Annotated[str, "the folder, from the workspace's root"] = ".") -> str:
        """List the files in a folder and below it."""
        return self._answered(lambda: self._tree(self._place(folder)))

    @action("read_file[{path}]", "read_file[{path}] from {first}, {lines} lines", "read_file[{path}] from {first}")
    def read_file(
        self,
        path: Annotated[str, "the file, from the workspace's root"],
        first: Annotated[int, "the first line to show, counted from 1"] = 1,
        lines: Annotated[int, "how many lines to show"] = LINES,
    ) -> str:
        """Show a file with line numbers."""
        return self._answered(lambda: self._numbered(self._place(path), first, lines))

    @action("search_files[{pattern}]", "search_files[{pattern}] in {folder}")
    def search_files(
        self,
        pattern: Annotated[str, "an extended regular expression, as grep -E takes it"],
        folder: Annotated[str, "the folder to look in, from the workspace's root"] = ".",
    ) -> str:
        """Find the lines that match a pattern."""
        return self._answered(lambda: self._matches(pattern, self._place(folder)))

    @action("write_file[{path}]\n```\n{text}\n```")
    def write_file(
        self,
        path: Annotated[str, "the file, from the workspace's root"],
        text: Annotated[str, "its whole content"],
    ) -> StepResult:
        """Write a file; an existing one is overwritten."""

        def write() -> str:
            place = self._place(path)
            ended = _with_line_end(text)
            self._write(place, ended.encode("utf-8", "surrogateescape"))
            lines = ended.count("\n")
            return f"Wrote {place}: {lines} lines.{self._note(place)}"

        return self._done(write)

    @action(
        "edit_file[{path}]\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE",
        "edit_file[{path}]\n<<<<<<< SEARCH\n{old}\n=======\n>>>>>>> REPLACE",
    )
    def edit_file(
        self,
        path: Annotated[str, "the file, from the workspace's root"],
        old: Annotated[str, "text that occurs in the file exactly once, indentation included"],
        new: Annotated[str, "the text that replaces it"] = "",
    ) -> StepResult:
        """Replace text that occurs in a file exactly once."""
        return self._done(lambda: self._edit(self._place(path), old, new))

    @action("run_command[{command}]", "run_command\n```\n{command}\n```")
    def run_command(self, command: Annotated[str, "the command line, for /bin/sh"]) -> StepResult:
        """Run a command in the workspace's root, usually without network. Its background processes end with it."""

        def run() -> str:
            _expect_passable(command)
            done = self._commands.run(command, self._copy)
            parts = []
            output = truncate(done.output)
            if output:
                parts.append(output)
            parts.append(f"[{done.outcome}]")
            try:
                self._copy.refresh()
            except TooLarge as problem:
                self._copy.reset(self._copy.tree)
                parts.append(f"The command's changes to the files were undone: {problem}.")
            return "\n".join(parts)

        return self._done(run)

    @action("verify[]", "verify")
    def verify(self) -> StepResult:
        """Run the verification commands and show what fails."""
        return self._verified()

    @action("submit[]", "submit")
    def submit(self) -> StepResult:
        """Submit the work: it is verified, and the trial ends."""
        result = self._verified()
        self._submitted = True
        return StepResult(result.observation, result.reward, terminated=True)

    def finalize(self) -> StepResult | None:
        return self._verified()

    def step(self, action: Any) -> StepResult:
        if self._submitted:
            return StepResult("The work was already submitted.", self._reward(), terminated=True)
        result: StepResult = super().step(action)
        return result

    def snapshot(self) -> dict[str, Any]:
        return {"tree": self._copy.tree, "passed": self._passed, "submitted": self._submitted}

    def close(self) -> None:
        self._copy.close()

    def _place(self, path: str) -> str:
        place = safe_paths.inside(self._copy.root, path, self._data["path"])
        for folder in self._copy.dependencies:
            if f"{place}/".startswith(f"{folder}/"):
                raise safe_paths.Refused(f"{path}: only commands can read {folder}, and nothing can write to it")
        return place

    def _answered(self, work: Callable[[], str]) -> str:
        """Do work, and return what it says, or why it was refused."""
        try:
            return work()
        except safe_paths.Refused as refused:
            return f"Not done: {refused}."
        except UnicodeEncodeError:
            return "Not done: half a surrogate pair cannot be encoded in UTF-8."

    def _done(self, work: Callable[[], str]) -> StepResult:
        """Do work that may change the files. The reward is 1 while they are those that passed verification."""
        return StepResult(self._answered(work), self._reward())

    def _reward(self) -> float:
        return float(self._passed == self._copy.tree)

    def _verified(self) -> StepResult:
        tree = self._copy.tree
        verification = self._grader.verify(tree)
        self._keep(tree, verification)
        self._passed = None
        if verification.passed:
            self._passed = tree
        return StepResult(verification.render(), self._reward())

    def _write(self, place: str, content: bytes) -> None:
        safe_paths.write_bytes(self._copy.root, place, content)
        self._copy.refresh()

    def _note(self, place: str) -> str:
        if not self._grader.protected(place):
            return ""
        return " This file is protected: it is restored before each verification."

    def _tree(self, place: str) -> str:
        folder = self._copy.root / place
        if not folder.is_dir():
            raise safe_paths.Refused(f"{place} is not a folder")
        # In a copy, dependencies are empty folders, and are listed as such.
        found = walk(folder, dependencies=())
        empty = [f"{name}/" for name in found.empty]
        names = sorted(found.files + empty)
        if not names:
            return "There are no files."
        if len(names) <= LISTED:
            return "\n".join(names)
        return _first(_counted(names), LISTED)

    def _numbered(self, place: str, first: int, lines: int) -> str:
        content = safe_paths.read_bytes(self._copy.root, place)
        if b"\0" in content:
            return f"{place} is not text: {len(content)} bytes."
        if not content:
            return f"{place} is empty."
        text = content.decode(errors="replace").replace("\r\n", "\n")
        # Only line feeds end a line, as for grep and edits.
        all_lines = text.removesuffix("\n").split("\n")
        begin = min(max(first, 1), len(all_lines))
        wanted = all_lines[begin - 1 : begin - 1 + max(lines, 1)]
        rows: list[str] = []
        size = 0
        for number, line in enumerate(wanted, begin):
            row = f"{number:>5}  {_shortened(line)}"
            rows.append(row)
            size += len(row) + 1
            if size > _READ:
                break
        end = begin + len(rows) - 1
        if begin > 1 or end < len(all_lines):
            rows.append(f"[lines {begin} to {end} of {len(all_lines)}]")
        return "\n".join(rows)

    def _matches(self, pattern: str, place: str) -> str:
        _expect_passable(pattern)
        done = self._commands.search(pattern, place, self._copy)
        # grep ends with 1 if nothing matches, and with more after an error.
        has_searched = done.status in ("ok", "failed") and done.exit_code <= 1
        if not has_searched:
            why = truncate(done.output, 500) or done.outcome
            return f"Not done: {why}."
        found = []
        for row in done.output.split("\n"):
            # A match is path:number:text. Where huge output was cut, there are other rows.
            if row.count(":") > 1:
                found.append(row.removeprefix("./"))
        found.sort(key=_place_of_match)
        rows = [row[:_LONGEST_LINE] for row in found]
        return _first(rows, FOUND) or "Nothing matches."

    def _edit(self, place: str, old: str, new: str) -> str:
        if not old:
            return "Not done: give the text to replace."
        content = safe_paths.read_bytes(self._copy.root, place)
        # What is not UTF-8 is written back as it was.
        text = content.decode("utf-8", "surrogateescape")
        # The agent was shown lines without carriage returns.
        if old not in text and "\r\n" in text:
            old = _with_carriage_returns(old)
            new = _with_carriage_returns(new)
        count = text.count(old)
        if count == 0:
            return f"Not done: {place} does not contain the text. Each character has to match."
        if count > 1:
            return f"Not done: {place} contains the text {count} times: include more context."
        begin = text.index(old)
        line_begins = begin == 0 or text[begin - 1] == "\n"
        line_ends = text.startswith("\n", begin + len(old))
        if not new and line_begins and line_ends:
            # Removing whole lines removes their line ends, too.
            old += "\n"
        text = text.replace(old, new)
        self._write(place, text.encode("utf-8", "surrogateescape"))
        shown = ""
        if text:
            line = text.count("\n", 0, begin) + 1
            lines = new.count("\n") + 1 + 2 * _AROUND
            shown = self._numbered(place, max(line - _AROUND, 1), lines)
        return f"Edited {place}.{self._note(place)}\n{shown}".strip()


def _first(rows: list[str], most: int) -> str:
    if len(rows) <= most:
        return "\n".join(rows)
    shown = rows[:most]
    shown.append(f"[{len(rows) - most} more]")
    return "\n".join(shown)


def _counted(names: list[str]) -> list[str]:
    """Return the files at the top, and the folders there with their numbers of files."""
    tops: Counter[str] = Counter()
    for name in names:
        top, slash, _ = name.partition("/")
        tops[top + slash] += 1
    rows = []
    for name, count in tops.items():
        if name.endswith("/"):
            rows.append(f"{name} ({count} files)")
        else:
            rows.append(name)
    return rows


def _with_line_end(text: str) -> str:
    if not text or text.endswith("\n"):
        return text
    return f"{text}\n"


def _with_carriage_returns(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def _shortened(line: str) -> str:
    if len(line) <= _LONGEST_LINE:
        return line
    return f"{line[:_LONGEST_LINE]}…"


def _place_of_match(row: str) -> tuple[str, int]:
    """Return the file and the line number of a row that grep prints."""
    path, number, _ = row.split(":", 2)
    if not number.isdigit():
        return path, 0
    return path, int(number)


def _expect_passable(words: str) -> None:
    """Refuse a command or a pattern that no program can be given."""
    if "\0" in words or len(words.encode()) > _LONGEST_COMMAND:
        raise safe_paths.Refused(
            f"a command has at most {_LONGEST_COMMAND} bytes, and no NUL: write a file, and run it"
        )
