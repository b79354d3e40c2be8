"""The files that decide the verdict, and are restored before each verification."""

import itertools
import os
import posixpath
import re
import sys
from collections.abc import Callable, Collection, Iterable
from fnmatch import fnmatchcase

from langgraph_reflexion.envs.sandbox.types import below
from langgraph_reflexion.envs.workspace.makefiles import Makefile, Targets, built_in_target, deciding, npm_commands
from langgraph_reflexion.support.files import own_table

_TABLE = dict(own_table(__file__, "protected.toml"))
_IMPORTED = sys.stdlib_module_names | set(_TABLE.pop("imported"))
"""The modules that test programs import."""
PROTECTED = tuple(itertools.chain(*_TABLE.values()))
"""The patterns that are protected unless a task allows them."""

_PYTHON = (".py", ".pyc", ".so", ".pyd")
_MAKE = re.compile(r"(?:.*/)?(?:GNU)?[Mm]akefile|.*\.mk")
_MAKEFILE_OPTION = re.compile(r"(?:^|\s)(?:-f|--file=|--makefile=)\s*([^\s;&|]+)")
_LOADING = re.compile(r"-r|--(?:require|import|loader|experimental-loader)")
"""Options of node whose value is a module that it loads before the program."""
_NODE = re.compile(r"\b(?:node|tsx|ts-node|mocha|bun)\b")

_STARTING = {
    "env",
    "exec",
    "time",
    "timeout",
    "nice",
    "sh",
    "bash",
    "dash",
    "ksh",
    "zsh",
    "source",
    ".",
    "python",
    "python3",
    "node",
    "deno",
    "bun",
    "ruby",
    "perl",
    "php",
    "tsx",
    "ts-node",
}
"""Programs whose next word is the program that they run."""


class Protection:
    """Tells whether a path is protected.

    A pattern without a slash is the name of a file or folder anywhere, one with a slash a path from the workspace's
    root; `*` and `?` match within a name, `**` any folders. A folder matches everything in it.

    Args:
        protect: Patterns besides `PROTECTED`.
        allow: Patterns that the task may change.
        run: Paths that the verification commands run.
    """

    def __init__(self, protect: Iterable[str] = (), allow: Iterable[str] = (), run: Iterable[str] = ()) -> None:
        self._protected = _any([*PROTECTED, *protect])
        self.allowed = _any(allow)
        self._run = set(run)

    def __call__(self, path: str) -> bool:
        if self.allowed(path):
            return False
        return path in self._run or self._protected(path)


class Additions:
    """Tells which paths that a trial has added do not count.

    Args:
        paths: The original files.
        read: Returns the content of one of them.
        commands: The verification commands.
    """

    def __init__(self, paths: Collection[str], read: Callable[[str], str], commands: Iterable[str]) -> None:
        self._paths = frozenset(paths)
        self._folders = {""}.union(*map(_above, paths))
        # Only in a folder without `__init__.py` are modules found by their own names.
        self._packages = {posixpath.dirname(path) for path in paths if posixpath.basename(path) == "__init__.py"}
        self._targets = Targets()
        self.included: set[str] = set()
        """The files that makefiles include."""
        self.run: set[str] = set()
        """The files that makefiles and npm's scripts run, and whose exit status decides."""
        self._exists = self._paths.__contains__
        commands = list(commands)
        made = [command for command in commands if re.search(r"\bg?make\b", command)]
        # Any word may name what is to be made.
        goals: list[str] = []
        for command in made:
            goals += re.findall(r"[\w./-]+", command)
        others = self._named_makefiles(made)
        self.included.update(others)
        for path in others.union(filter(_MAKE.fullmatch, paths)):
            makefile = Makefile(read(path))
            folder = posixpath.dirname(path)
            self._read_targets(makefile, folder)
            self._read_included(makefile, folder)
            if made:
                self._read_recipes(makefile, folder, goals)
        for command in commands:
            self._read_packages(command, read)
        for name in goals:
            self._targets.add("", name)
        # What the original has is not an addition.
        self._targets.discard(self._folders.union(paths))

    def _named_makefiles(self, commands: list[str]) -> set[str]:
        """Return the makefiles that `make -f` names; their folder may be that of another option."""
        ends = []
        for command in commands:
            for name in _MAKEFILE_OPTION.findall(command):
                ends.append(f"/{_bare(name)}")
        return {path for path in self._paths if f"/{path}".endswith(tuple(ends))}

    def _read_recipes(self, makefile: Makefile, folder: str, goals: list[str]) -> None:
        self._add_run(folder, makefile.shell)
        for line in makefile.recipes(goals):
            self._add_run(folder, line)

    def _read_targets(self, makefile: Makefile, folder: str) -> None:
        for name in makefile.targets:
            self._targets.add(folder, name)
            for searched in makefile.searched:
                self._targets.add(posixpath.join(folder, searched), name)
        # Make has rules of its own for the sources beside the makefile.
        for path in self._paths:
            if posixpath.dirname(path) != folder:
                continue
            made = built_in_target(path)
            if made:
                self._targets.add("", made)
                self._targets.add("", f"{made}.o")

    def _read_included(self, makefile: Makefile, folder: str) -> None:
        for path in _joined(folder, makefile.included):
            self.included.add(path)
            if "*" in path:
                matching = [each for each in self._paths if fnmatchcase(each, path)]
                self.included.update(matching)
                # One that is added would be included, too.
                self._targets.add("", path)

    def _read_packages(self, command: str, read: Callable[[str], str]) -> None:
        if not re.search(r"\b(?:npm|pnpm|yarn)\b", command):
            return
        # Of all packages: in which folder npm runs, only the shell knows.
        for path in self._paths:
            folder, name = posixpath.split(path)
            if name != "package.json":
                continue
            for line in npm_commands(command, read(path)):
                self._add_run(folder, line)

    def _add_run(self, folder: str, line: str) -> None:
        for part in deciding(line):
            command = f"cd ./{folder} && {part}"
            self.run.update(scripts_run([command], self._exists))

    def target(self, path: str) -> bool:
        """Whether `make` takes it for a target, which is up to date if it exists."""
        if path in self._targets:
            return True
        # A folder may be a target, too.
        return any(folder in self._targets for folder in _above(path))

    def module(self, path: str) -> bool:
        """Whether a test program imports it, or a type checker reads it, in place of the module of that name."""
        # A type checker reads a stub in place of the module beside it.
        if path.endswith(".pyi") and path[:-1] in self._paths:
            return True
        if not path.endswith(_PYTHON):
            return False
        parts = path.split("/")
        for end, part in enumerate(parts):
            name = part.partition(".")[0]
            folder = "/".join(parts[:end])
            if name in _IMPORTED and folder in self._folders and folder not in self._packages:
                return True
        return False


def _bare(name: str) -> str:
    return posixpath.normpath(name.strip("\"'"))


def _above(path: str) -> set[str]:
    parts = path.split("/")
    return {"/".join(parts[:end]) for end in range(1, len(parts))}


def _joined(folder: str, names: Iterable[str]) -> set[str]:
    joined = set()
    for words in names:
        for name in words.split():
            joined.add(posixpath.normpath(posixpath.join(folder, name)))
    return joined


def folders_on_path(root: str) -> list[str]:
    """Return the patterns of a workspace's folders that are on the PATH, where commands find programs."""
    patterns = set()
    for folder in os.get_exec_path():
        if below(folder, root) and folder != root:
            patterns.add(f"/{os.path.relpath(folder, root)}")
    return sorted(patterns)


def scripts_run(commands: Iterable[str], exists: Callable[[str], bool]) -> list[str]:
    """Return the workspace's files that command lines run, such as `check.sh` in `sh check.sh`.

    Args:
        commands: Command lines.
        exists: Whether a path is a file of the workspace.
    """
    found: list[str] = []
    for command in commands:
        folder = ""
        for part in re.split(r"&&|\|\|?|;|\n", command):
            words = [word.strip("\"'") for word in part.split()]
            loaded: list[str] = []
            if _NODE.search(part):
                words, loaded = _without_loaded(words)
            # Without assignments and options, except the one before a module's name.
            words = [word for word in words if not re.match(r"\w+=|-(?!m$)", word)]
            if words[:1] == ["cd"]:
                folder = posixpath.join(folder, *words[1:])
                continue
            for name in _programs(words) + loaded:
                path = posixpath.normpath(posixpath.join(folder, name))
                if path not in found and exists(path):
                    found.append(path)
    return found


def _programs(words: list[str]) -> list[str]:
    """Return the files that may be the program that a command runs."""
    begin = 0
    while begin < len(words) and _starts_another(words[begin]):
        begin += 1
    words = words[begin:]
    if words[:1] != ["-m"]:
        return words[:1]
    module = "/".join(words[1:2]).replace(".", "/")
    return [f"{module}.py", f"{module}/__main__.py", f"{module}/__init__.py"]


def _starts_another(word: str) -> bool:
    if posixpath.basename(word) in _STARTING:
        return True
    # Some of them take a time or a number first.
    return re.fullmatch(r"[\d.]+[smhd]?", word) is not None


def _without_loaded(words: list[str]) -> tuple[list[str], list[str]]:
    """Return the words of a command without the modules that node loads before its program, and these modules."""
    rest: list[str] = []
    loaded: list[str] = []
    waiting = False
    for word in words:
        option, equals, value = word.partition("=")
        if waiting:
            loaded.append(word)
        elif equals and _LOADING.fullmatch(option):
            loaded.append(value)
        else:
            rest.append(word)
        waiting = not waiting and _LOADING.fullmatch(word) is not None
    return rest, loaded


def _any(patterns: Iterable[str]) -> Callable[[str], bool]:
    """Return whether a path matches one of the patterns."""
    # Without a pattern, nothing matches.
    together = "|".join(map(_regex, patterns)) or r"(?!)"
    matches = re.compile(together, re.DOTALL).fullmatch
    return lambda path: matches(path) is not None


def _regex(pattern: str) -> str:
    meant = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    pieces = re.split(r"(\*\*/|\*\*|\*|\?)", pattern.strip("/"))
    body = ""
    for piece in pieces:
        body += meant.get(piece, re.escape(piece))
    if "/" in pattern.rstrip("/"):
        return f"{body}(?:/.*)?"
    # A name is found in any folder.
    return f"(?:.*/)?{body}(?:/.*)?"
