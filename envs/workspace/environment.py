"""The workspace: work in a folder until its checks pass."""

import hashlib
import inspect
import itertools
import os
import re
import threading
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from langgraph_reflexion.envs.base import Action, Environment, FinishedTrial, Review, Task, choose_split
from langgraph_reflexion.envs.sandbox import Sandbox
from langgraph_reflexion.envs.workspace.applying import apply_patch
from langgraph_reflexion.envs.workspace.commands import Commands
from langgraph_reflexion.envs.workspace.episode import WorkspaceEpisode
from langgraph_reflexion.envs.workspace.generate import generate
from langgraph_reflexion.envs.workspace.layout import TrialFiles
from langgraph_reflexion.envs.workspace.lending import Copies, remove_forgotten
from langgraph_reflexion.envs.workspace.repositories import lay_out, own_repositories
from langgraph_reflexion.envs.workspace.shadow import Shadow
from langgraph_reflexion.envs.workspace.states import Files, take_in
from langgraph_reflexion.envs.workspace.tasks import KNOWN, make_tasks, read_tasks
from langgraph_reflexion.envs.workspace.verification import Judge
from langgraph_reflexion.errors import ConfigurationError, EnvironmentUnavailable, OptionsRefused

COUNT = 12
"""How many repositories are generated."""
GENERATED = f"generated-{COUNT}"
_OPENED = re.compile(r"(write_file\[.*\]|run_command)[^\S\n]*\n+```[\w+.-]*[^\S\n]*\n")


class Workspace(Environment):
    """Tasks in folders of yours, each with commands that decide whether it is solved.

    The folders themselves are only read. Every trial works in a copy, and every state of that copy is a tree in a
    shadow git repository, so that a trial can be gone on with from any of its steps.

    Without tasks of yours it has some of its own: `own`, three small broken repositories in Python, JavaScript and
    Rust, and `generated-12`, repositories in Python from a seed.

    Args:
        task: A task file; see `tasks.read_tasks`.
        tasks: Instead, the tasks themselves, each as a task file has it.
        path: Instead, the folder of a single task.
        instruction: What is to be done there.
        verify: The commands that decide.
        store: Where shadow repositories and copies are kept; `langgraph-reflexion/workspaces` in the user's cache
            folder unless given. A run can be gone on with as long as it is there.
        sandbox: The sandbox's backend; the first that works unless given.
        allow_degraded: Let Landlock, which is weaker, run commands.
        seed: Seeds the repositories that are generated.
        **more: What else a task file may say of the single task (`protect`, `allow`, `network`, `timeout`, ...).

    Raises:
        OptionsRefused: there is no such option.
        ConfigurationError: the tasks are wrong, or there are none.
    """

    name = "workspace"
    splits: tuple[str, ...] = ("own", GENERATED)
    episode = WorkspaceEpisode

    def __init__(
        self,
        task: str | os.PathLike[str] | None = None,
        *,
        tasks: Sequence[Mapping[str, Any]] | None = None,
        path: str | os.PathLike[str] | None = None,
        instruction: str | None = None,
        verify: Sequence[str] | str = (),
        store: str | os.PathLike[str] | None = None,
        sandbox: str | None = None,
        allow_degraded: bool = False,
        seed: int = 0,
        **more: Any,
    ) -> None:
        given = [name for name, value in (("task", task), ("tasks", tasks), ("path", path)) if value is not None]
        if len(given) > 1:
            raise ConfigurationError(f"the workspace takes one of {given[0]}= and {given[1]}=, and not both")
        if unknown := sorted(more.keys() - KNOWN):
            taken = sorted({*inspect.signature(Workspace).parameters, *KNOWN} - {"more"})
            said = f"the workspace does not take the option {unknown[0]} (it takes {', '.join(taken)})"
            raise OptionsRefused(said, unknown=unknown, taken=taken)
        if path is None and (instruction is not None or verify or more):
            what = next(iter(more), "instruction" if instruction is not None else "verify")
            raise ConfigurationError(f"{what}= goes with path=, for a single task; a task file says it itself")
        self._seed = seed
        self._tasks: list[Task] = []
        if given:
            self.splits = ("tasks",)
        if task is not None:
            self._tasks = read_tasks(Path(task).expanduser())
        elif given:
            single = {"path": path, "instruction": instruction, "verify": verify, **more}
            self._tasks = make_tasks([single] if tasks is None else tasks, Path.cwd(), "the workspace")
        self.store = Path(store).expanduser().absolute() if store else _cache() / "workspaces"
        self._backend, self._allow_degraded = sandbox, allow_degraded
        self._lock = threading.RLock()
        self._sandbox: Sandbox | None = None
        self._shadows: dict[str, Shadow] = {}
        self._lent: dict[tuple[Path, tuple[str, ...]], Copies] = {}
        self._prepared: dict[str, dict[str, Any]] = {}

    def tasks(self, split: str | None = None, limit: int | None = None) -> Sequence[Task]:
        """The tasks; see `Environment.tasks`."""
        chosen = choose_split(self, split)
        if chosen == "tasks":
            return self._tasks[:limit]
        first = self._seed * COUNT
        made = own_repositories() if chosen == "own" else map(generate, range(first, first + COUNT))
        repositories = list(itertools.islice(made, limit))
        return make_tasks(lay_out(repositories, _cache() / "repositories"), Path.cwd(), f"the split {chosen}")

    def prepare(self, task: Task) -> dict[str, Any]:
        """Keep the folder's files as they are now: every trial of the task starts from them.

        Raises:
            EnvironmentUnavailable: the folder is gone, or cannot be read.
        """
        path = Path(_data(task)["path"])
        if path == self.store or self.store.is_relative_to(path) or path.is_relative_to(self.store):
            raise ConfigurationError(f"{self.store} is to keep states of {path}: give a folder elsewhere as store=")
        if not path.is_dir():
            raise EnvironmentUnavailable(f"the task {task['id']}: there is no folder {path} any more")
        shadow = self._shadow(task)
        try:
            files, dependencies = take_in(shadow, path, self._work(task))
        except OSError as error:
            raise EnvironmentUnavailable(f"{error.filename or path} cannot be read: {error.strerror}") from None
        return {
            "tree": files.tree,
            "empty": files.empty,
            "dependencies": dependencies,
            # Tells this run of the task from others, where its trials are told of.
            "run": uuid.uuid4().hex[:12],
        }

    def start(self, task: Task) -> WorkspaceEpisode:
        """Start a trial, in a pristine copy; see `Environment.start`."""
        return self._episode(task, self._pristine(task))

    def restore(self, task: Task, snapshot: dict[str, Any]) -> WorkspaceEpisode:
        """Bring back a trial with exactly the files that it had; see `Environment.restore`."""
        return self._episode(task, _files(snapshot), passed=snapshot["passed"], submitted=snapshot["submitted"])

    def review(self, task: Task, trial: FinishedTrial) -> Review:
        """What is kept of a trial for people to read: its patch, all output of its verification, its reflection."""
        snapshot = trial["snapshot"]
        if snapshot is None:
            return Review()
        shadow, trees, trials = self._shadow(task), self._trees(task, snapshot), self._trials(task)
        verification = trials.verification(snapshot["tree"])
        return trials.review(trial, shadow.patch(*trees), verification, len(shadow.changes(*trees)))

    def patch(self, task: Task, snapshot: dict[str, Any]) -> str:
        """What a trial has changed, for `git apply` in the folder; without what is protected.

        Args:
            task: The task, as the graph's state has it.
            snapshot: The trial's, as the state's episode has it.
        """
        return self._shadow(task).patch(*self._trees(task, snapshot))

    def apply(self, task: Task, patch: Path | str) -> str:
        """Apply a patch to a task's own folder: all of it, or nothing.

        Args:
            task: The task.
            patch: The file.

        Returns:
            What was done, in words.

        Raises:
            ConfigurationError: the patch does not fit the folder as it is now, or the folder cannot be written.
        """
        return apply_patch(self._shadow(task), Path(patch), Path(_data(task)["path"]))

    def parse(self, text: str) -> Action | None:
        """Read an action written as text; a block of code may say which language it is in."""
        written = text.strip()
        if opened := _OPENED.match(written):
            written = f"{opened[1]}\n```\n{written[opened.end() :]}"
        read = super().parse(written)
        return None if read is None else Action(name=read["name"], args=read["args"], text=text.strip())

    def close(self) -> None:
        """Remove the copies. New trials make new ones."""
        with self._lock:
            lent, self._lent = self._lent, {}
        for copies in lent.values():
            copies.close()

    def _episode(self, task: Task, files: Files, **how: Any) -> WorkspaceEpisode:
        copies, keep = self._copies(task), self._trials(task).keep
        self._need(task, files)
        copy = copies.take(files)
        try:
            return WorkspaceEpisode(task, copy, self._commands(task), self._judge(task), keep, copies.take, **how)
        except BaseException:
            copy.close()
            raise

    def _judge(self, task: Task) -> Judge:
        pristine, commands, copies = self._pristine(task), self._commands(task), self._copies(task)
        self._need(task, pristine)
        return Judge(self._shadow(task), pristine, _data(task), commands, copies)

    def _trees(self, task: Task, snapshot: dict[str, Any]) -> tuple[str, str]:
        """The files that a task began with, and those that a trial came to, without what is protected."""
        judged, _ = self._judge(task).judged(_files(snapshot))
        return self._pristine(task).tree, judged.tree

    def _need(self, task: Task, files: Files) -> None:
        shadow = self._shadow(task)
        if not shadow.holds(files.tree):
            raise EnvironmentUnavailable(
                f"the files of the task {task['id']} are not in {shadow.folder}: a run can be gone on with only "
                "where that folder is, so bring it there, or begin anew"
            )

    def _commands(self, task: Task) -> Commands:
        with self._lock:
            if self._sandbox is None:
                self._sandbox = Sandbox(self._backend, allow_degraded=self._allow_degraded)
            return Commands(self._sandbox, _data(task), self._of(task)["dependencies"])

    def _pristine(self, task: Task) -> Files:
        return _files(self._of(task))

    def _of(self, task: Task) -> dict[str, Any]:
        """What was prepared for a task; where it is played without the graph, it is prepared here."""
        prepared = task.get("prepared")
        if prepared and "tree" in prepared:
            return prepared
        with self._lock:
            if task["id"] not in self._prepared:
                self._prepared[task["id"]] = self.prepare(task)
            return self._prepared[task["id"]]

    def _shadow(self, task: Task) -> Shadow:
        folder = self._folder(task)
        with self._lock:
            if str(folder) not in self._shadows:
                self._shadows[str(folder)] = Shadow(folder / "states.git")
                # Nobody waits for it: a large copy takes a while.
                threading.Thread(target=remove_forgotten, args=[folder / "work"], daemon=True).start()
            return self._shadows[str(folder)]

    def _copies(self, task: Task) -> Copies:
        shadow, work, dependencies = self._shadow(task), self._work(task), tuple(self._of(task)["dependencies"])
        with self._lock:
            return self._lent.setdefault((work, dependencies), Copies(shadow, work, dependencies))

    def _folder(self, task: Task) -> Path:
        """Where the states of a task's folder are kept: the same place for every process."""
        path = _data(task)["path"]
        digest = hashlib.sha256(os.fsencode(path)).hexdigest()[:12]
        return self.store / f"{re.sub(r'[^A-Za-z0-9_.-]+', '-', Path(path).name)[:40]}-{digest}"

    def _work(self, task: Task) -> Path:
        work = self._folder(task) / "work"
        work.mkdir(parents=True, exist_ok=True)
        return work

    def _trials(self, task: Task) -> TrialFiles:
        return TrialFiles(self._folder(task) / "trials" / str(self._of(task)["run"]), task["id"])


def _data(task: Task) -> dict[str, Any]:
    data = task.get("data", {})
    if not {"path", "verify"} <= data.keys():
        raise ConfigurationError(f"the task {task['id']!r} is none of a workspace's")
    return data


def _files(state: dict[str, Any]) -> Files:
    return Files(state["tree"], state["empty"])


def _cache() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(cache) if os.path.isabs(cache) else Path.home() / ".cache"
    return base / "langgraph-reflexion"
