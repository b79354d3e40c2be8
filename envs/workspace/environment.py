"""The workspace environment: work in a folder until its verification commands succeed."""

import itertools
import os
import re
import threading
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from langgraph_reflexion.envs.base import Action, Environment, FinishedTrial, Review, Task
from langgraph_reflexion.envs.cache import cache_folder
from langgraph_reflexion.envs.grammar import parse_forms
from langgraph_reflexion.envs.sandbox import Sandbox
from langgraph_reflexion.envs.sandbox.helper import staging
from langgraph_reflexion.envs.workspace.apply import apply_patch
from langgraph_reflexion.envs.workspace.artifacts import TrialFiles
from langgraph_reflexion.envs.workspace.commands import Commands, expect_command
from langgraph_reflexion.envs.workspace.copies import Copy
from langgraph_reflexion.envs.workspace.episode import WorkspaceEpisode
from langgraph_reflexion.envs.workspace.folder import folder_in
from langgraph_reflexion.envs.workspace.generate import generate
from langgraph_reflexion.envs.workspace.repositories import Repository, own_repositories, write_repositories
from langgraph_reflexion.envs.workspace.snapshots import SnapshotRepo
from langgraph_reflexion.envs.workspace.state_checks import Prepared, read_prepared, read_snapshot
from langgraph_reflexion.envs.workspace.tasks import make_tasks, read_data, read_tasks
from langgraph_reflexion.envs.workspace.tree_walk import walk
from langgraph_reflexion.envs.workspace.verification import Grader
from langgraph_reflexion.errors import ConfigurationError, EnvironmentUnavailable

COUNT = 12
"""The number of generated repositories."""
GENERATED = f"generated-{COUNT}"
_OPENED = re.compile(r"(write_file\[.*\]|run_command)[^\S\n]*\n+```[\w+.-]*[^\S\n]*\n")
"""An action with a block of code, up to the line that opens the block and may name its language."""
_HEAD = (
    r"(?:[>*_]*Action(?: \d+)?[*_]*:[ \t*_]*+)?"
    r"(?:(?:write|edit)_file\[[^\n]*\]|run_command(?:\[[^\n]*\])?)[^\S\n]*$"
)
_PART = re.compile(
    rf"^```(?=(?P<language>[^\n`]*))|^(?P<head>{_HEAD})|^[ \t]*+(?P<word>\w++)[ \t]*+$"
    r"|(?P<quotes>\'{3}|\"{3})|(?<!<)<<(?!<)-?[ \t]*+[\\'\"]?(?P<delimiter>\w++)",
    re.MULTILINE,
)
"""What shows where a block of code ends: a fence, or the first line of an action that may have a block.

The other parts begin or end what may hold these: the quotes of a string, the delimiter and last line of a heredoc.
"""
_EDIT = re.compile(
    r"(?P<file>edit_file\[[^\n]*\])[^\S\n]*\n++(?:```[\w+.-]*[^\S\n]*\n++)?"
    # The old text may have such markers, as an edit may remove them.
    r"(?P<change><{7} SEARCH[^\S\n]*\n(?>(?s:.*?)^={7}[^\S\n]*\n)(?P<new>(?s:.*?))^>{7} REPLACE)[^\S\n]*$",
    re.IGNORECASE | re.MULTILINE,
)
"""An edit up to its end, in a block of code or not."""
_SEARCH = re.compile(r"^<{7} SEARCH[^\S\n]*$", re.IGNORECASE | re.MULTILINE)


class Workspace(Environment):
    """Tasks in your folders, each with commands that verify the work.

    The folders are only read. Each trial works in a copy, and each state of that copy is a tree in a snapshot
    repository, so that a trial can be resumed from any of its steps.

    Without your own tasks there are two splits: `own`, three small broken repositories in Python, JavaScript and
    Rust, and `generated-12`, Python repositories generated from a seed.

    Args:
        task: A task file (see `tasks.read_tasks`), or the keys of one in Python: those of a task, or of several.
        store: The folder of snapshot repositories and copies, `langgraph-reflexion/workspaces` in the user's cache
            folder by default. Resuming a run needs it.
        sandbox: The sandbox's backend; the first that works if None.
        allow_degraded: Whether commands may run in Landlock, which is weaker.
        seed: The seed of the generated repositories.

    Raises:
        ConfigurationError: the tasks are invalid or missing.
        EnvironmentUnavailable: `sandbox` is Landlock without `allow_degraded`.
    """

    name = "workspace"
    splits: tuple[str, ...] = ("own", GENERATED)
    episode = WorkspaceEpisode
    reply_tokens = 8192
    own_tasks_only = False
    # A failing command's output is what there is to learn from.
    profile_defaults: ClassVar[Mapping[str, Any]] = {"feedback": "words"}

    def __init__(
        self,
        task: str | os.PathLike[str] | Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        *,
        store: str | os.PathLike[str] | None = None,
        sandbox: str | None = None,
        allow_degraded: bool = False,
        seed: int = 0,
    ) -> None:
        if sandbox == "landlock" and not allow_degraded:
            # Refused here, as otherwise each task of a run would fail when it opens the sandbox.
            raise EnvironmentUnavailable(
                "sandbox='landlock' is too weak for commands that work in a folder of the host: leave it out, so "
                "that bubblewrap is used, or accept it: allow_degraded=True, --allow-degraded"
            )
        self._seed = seed
        self._tasks: list[Task] = []
        if task is not None:
            self.splits = ("tasks",)
            self._tasks = _tasks_of(task)
        self.store = cache_folder() / "workspaces"
        if store:
            self.store = Path(store).expanduser().absolute()
        self._backend = sandbox
        self._allow_degraded = allow_degraded
        # Reentrant: `_site` holds it while it calls `prepare`, which takes it again.
        self._lock = threading.RLock()
        self._sandbox: Sandbox | None = None
        self._repos: dict[Path, SnapshotRepo] = {}
        # By the task's id: what `prepare` returned for tasks that are played without a graph.
        self._prepared: dict[str, dict[str, Any]] = {}
        # By the task's id: the data of the tasks listed so far, for `own_tasks_only`.
        self._own: dict[str, dict[str, Any]] = {}

    def tasks(self, split: str | None = None, limit: int | None = None) -> Sequence[Task]:
        chosen = self.choose_split(split)
        if chosen == "tasks":
            return self._tasks[:limit]
        repositories = list(itertools.islice(self._repositories(chosen), limit))
        written = write_repositories(repositories, cache_folder() / "repositories")
        return make_tasks(written, Path.cwd(), f"the split {chosen}")

    def _repositories(self, split: str) -> Iterable[Repository]:
        """Return the broken repositories of a built-in split."""
        if split == "own":
            return own_repositories()
        # Repositories are numbered, and no two seeds share one.
        first = self._seed * COUNT
        return map(generate, range(first, first + COUNT))

    def expect_programs(self, tasks: Sequence[Task]) -> None:
        for task in tasks:
            data = self._data(task)
            for command in data["verify"]:
                try:
                    expect_command(command, data)
                except EnvironmentUnavailable as error:
                    hint = self._other_split(task)
                    raise EnvironmentUnavailable(f"the task {task['id']}: {error}{hint}") from None

    def _other_split(self, task: Task) -> str:
        """Return a hint at the split that needs the fewest programs; empty unless the task is of the split `own`."""
        if self.splits == ("tasks",):
            return ""
        if task["id"].startswith("generated-"):
            return ""
        return f"; --split {GENERATED} needs pytest alone"

    def prepare(self, task: Task) -> dict[str, Any]:
        """Store the folder's files, from which each trial of the task starts.

        Raises:
            EnvironmentUnavailable: the folder does not exist, or cannot be read.
        """
        path = Path(self._data(task)["path"])
        if not path.is_dir():
            raise EnvironmentUnavailable(f"the task {task['id']}: the folder {path} does not exist any more")
        try:
            found = walk(path)
            tree = self._repo(task).store(path, found)
        except OSError as error:
            raise EnvironmentUnavailable(f"{error.filename or path} cannot be read: {error.strerror}") from None
        # The files of this run's trials go to a folder of this name.
        run = uuid.uuid4().hex[:12]
        return {"tree": tree, "dependencies": found.dependencies, "run": run}

    def start(self, task: Task) -> WorkspaceEpisode:
        site = self._site(task)
        return _episode(task, site, site.pristine)

    def restore(self, task: Task, snapshot: dict[str, Any]) -> WorkspaceEpisode:
        saved = read_snapshot(task, snapshot)
        site = self._site(task)
        return _episode(task, site, saved.tree, passed=saved.passed, submitted=saved.submitted)

    def go_on(self, task: Task, snapshot: dict[str, Any]) -> WorkspaceEpisode:
        """Return an episode with the files as a trial has left them.

        Unlike `restore`, it does not count as submitted, so that it can be submitted again.
        """
        saved = read_snapshot(task, snapshot)
        site = self._site(task)
        return _episode(task, site, saved.tree, passed=saved.passed)

    def review(self, task: Task, trial: FinishedTrial) -> Review:
        """Return the trial's patch, verification and reflection as files for people to read."""
        snapshot = trial["snapshot"]
        if snapshot is None:
            return Review()
        site = self._site(task)
        saved = read_snapshot(task, snapshot)
        before, after = site.trees(saved.tree)
        patch = site.repo.patch(before, after)
        changed = len(site.repo.changes(before, after))
        return site.trials.review(trial, patch, changed)

    def answer(self, task: Task) -> str:
        """Return how the defect of a built-in task is fixed; a folder of your own has no single answer."""
        if self.splits == ("tasks",):
            return ""
        own = {each.id: each for each in own_repositories()}
        repository = own.get(task["id"])
        if repository is None:
            number = int(task["id"].removeprefix("generated-"))
            repository = generate(number)
        defect = repository.defect
        return f"in {defect.path}, write `{defect.right}` instead of `{defect.wrong}`"

    def patch(self, task: Task, snapshot: dict[str, Any]) -> str:
        """Return the changes of a trial, without protected files, as a patch for `git apply`."""
        site = self._site(task)
        saved = read_snapshot(task, snapshot)
        before, after = site.trees(saved.tree)
        return site.repo.patch(before, after)

    def apply(self, task: Task, patch: Path | str) -> str:
        """Apply a patch to the task's folder, all of it or nothing, and return a sentence on the outcome.

        Raises:
            ConfigurationError: the patch does not apply to the folder, or the folder cannot be written.
        """
        folder = Path(self._data(task)["path"])
        return apply_patch(self._repo(task), Path(patch), folder)

    def parse(self, text: str) -> Action | None:
        """Read the first action in a text that begins with it. Its block of code may name its language."""
        written = _first_action(text.strip())
        known = written
        opened = _OPENED.match(written)
        if opened:
            # The text forms know only a block without a language.
            known = f"{opened[1]}\n```\n{written[opened.end() :]}"
        read = parse_forms(self.actions(), known)
        if read is None:
            return None
        return Action(name=read["name"], args=read["args"], text=written)

    def _site(self, task: Task) -> "_Site":
        repo = self._repo(task)
        with self._lock:
            found = task.get("prepared") or self._prepared.get(task["id"]) or {}
            if "tree" not in found:
                # No graph has called `prepare`: the episode is played without one.
                found = self.prepare(task)
                self._prepared[task["id"]] = found
            prepared: Prepared = read_prepared(task, found)
            if self._sandbox is None:
                self._sandbox = Sandbox(self._backend, allow_degraded=self._allow_degraded)
        if not repo.holds(prepared.tree):
            raise EnvironmentUnavailable(
                f"the files of the task {task['id']} are not in {repo.folder}: copy that folder from where the run "
                "began, or start a new run"
            )
        data = self._data(task)
        folder = repo.folder.parent
        commands = Commands(self._sandbox, data, prepared.dependencies)
        # Only the tree is left to give, wherever a copy is made.
        copy = partial(Copy, repo, folder / "work", prepared.dependencies)
        grader = Grader(repo, prepared.tree, data, commands, copy)
        trials = TrialFiles(folder / "trials" / prepared.run, task["id"])
        return _Site(repo, prepared.tree, commands, copy, grader, trials)

    def _data(self, task: Task) -> dict[str, Any]:
        """Return the data of a task, which names folders and commands of the host.

        Raises:
            ConfigurationError: it is not data of a workspace, or `own_tasks_only` refuses it.
        """
        data = read_data(task)
        if self.own_tasks_only and self._own_data(task["id"]) != data:
            raise ConfigurationError(
                f"the task {task['id']!r} is not one of the tasks of {self.name} here, with the same folder, "
                "commands and limits: name one of these (the generated ones depend on the seed). Whoever starts a "
                "server may list others in a task file (docs/studio.md)"
            )
        return data

    def _own_data(self, name: str) -> dict[str, Any] | None:
        """Return the data of the own task of this name; None without one."""
        with self._lock:
            for split in self.splits:
                # No further split is listed once the task is found, as listing one writes its repositories.
                if name in self._own:
                    break
                for task in self.tasks(split):
                    self._own[task["id"]] = read_data(task)
            return self._own.get(name)

    def _repo(self, task: Task) -> SnapshotRepo:
        """Return the repository of a task, in a folder of the store that is the same in each process."""
        folder = folder_in(self.store, Path(self._data(task)["path"]))
        with self._lock:
            if folder not in self._repos:
                self._repos[folder] = SnapshotRepo(folder / "states.git")
                work = folder / "work"
                work.mkdir(exist_ok=True)
                # Remove the copies that killed runs have left.
                staging.sweep(str(work))
            return self._repos[folder]


class _Site(NamedTuple):
    """The parts that all episodes of a task are made of."""

    repo: SnapshotRepo
    pristine: str
    """The tree from which each trial starts."""
    commands: Commands
    copy: Callable[[str], Copy]
    """Makes a copy of a tree."""
    grader: Grader
    trials: TrialFiles

    def trees(self, tree: str) -> tuple[str, str]:
        """Return the task's initial tree, and the trial's tree with protected files restored."""
        after, _ = self.grader.with_protected(tree)
        return self.pristine, after


def _first_action(text: str) -> str:
    """Return a text that begins with a block of code or an edit without what follows it; any other text as it is."""
    edit = _EDIT.match(text)
    if edit:
        # The end of the change is missing, so that the next one would be written into the file.
        if _SEARCH.search(edit["new"]):
            return ""
        return f"{edit['file']}\n{edit['change']}"
    opened = _OPENED.match(text)
    if opened:
        has_heredocs = opened[1] == "run_command"
        return text[: _end_of_block(text, opened.end(), has_heredocs)]
    return text


def _end_of_block(text: str, begin: int, has_heredocs: bool) -> int:
    """Return where the block of code ends that begins here; the end of the text if nobody can tell.

    A file in Markdown has blocks of its own, some of which name their language, and some do not.
    """
    depth = 1
    end = len(text)
    for part in _fences_and_heads(text, begin, has_heredocs):
        is_action = part["head"] is not None
        opens = not is_action and part["language"].strip() != ""
        is_over = depth == 0 and (is_action or opens or not text[end : part.start()].strip())
        if is_over:
            break
        if is_action:
            continue
        if opens:
            depth += 1
        elif depth == 0:
            # The one before has opened a block within this one.
            depth = 1
            end = len(text)
        else:
            depth -= 1
            if depth == 0:
                end = part.end("language")
    return end


def _fences_and_heads(text: str, begin: int, has_heredocs: bool) -> list[re.Match[str]]:
    """Return the fences and first lines of actions from a place on, without those in strings and heredocs.

    If a string or heredoc has no end, it is none, such as quotes that prose speaks of: then all of them are returned.
    """
    outside = []
    everywhere = []
    awaited = ""
    for part in _PART.finditer(text, begin):
        is_fence_or_head = part["language"] is not None or part["head"] is not None
        if is_fence_or_head:
            everywhere.append(part)
        if awaited:
            if awaited in (part["quotes"], part["word"]):
                awaited = ""
        elif is_fence_or_head:
            outside.append(part)
        elif part["quotes"]:
            awaited = part["quotes"]
        elif part["delimiter"] and has_heredocs:
            awaited = part["delimiter"]
    if awaited:
        return everywhere
    return outside


def _tasks_of(given: str | os.PathLike[str] | Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> list[Task]:
    """Return the tasks of a task file, or of the keys of one."""
    if isinstance(given, str | os.PathLike):
        return read_tasks(Path(given).expanduser())
    if isinstance(given, Mapping):
        given = [given]
    return make_tasks(given, Path.cwd(), "the workspace")


def _episode(task: Task, site: _Site, tree: str, **how: Any) -> WorkspaceEpisode:
    copy = site.copy(tree)
    try:
        # A client may have edited the task's data. The episode gets the data that `_data` has checked.
        checked = task.copy()
        checked["data"] = site.commands.data
        return WorkspaceEpisode(checked, copy, site.commands, site.grader, site.trials.keep, **how)
    except BaseException:
        copy.close()
        raise
