"""What makefiles and npm's scripts name: targets that are up to date if they exist, and programs that decide."""

import json
import posixpath
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import NamedTuple

_ASSIGNED = re.compile(r"(?:export |override )*(?P<name>[\w.-]+)[ \t]*(?P<sign>[:?+!]{0,3}=)(?P<value>.*)")
_REFERENCE = re.compile(r"\$[({]([\w.-]+)(?::([^=(){}]*)=([^(){}]*))?[)}]")
"""A reference to a variable: `$(NAME)`, or `$(NAME:.c=.o)`."""
_FUNCTION = re.compile(r"\$[({](patsubst|addsuffix|addprefix|wildcard) ([^(){}$]*)[)}]")
"""A call of a function of make, without references or other calls in its arguments."""
_INCLUDED = re.compile(r"[-s]?include[ \t]+(.+)")
_SEARCHED = re.compile(r"vpath[ \t]+\S+[ \t]+(.+)")
_BUILT_IN = (".c", ".cc", ".cpp", ".C", ".s", ".S", ".f", ".p", ".r", ".sh")
"""Files from which make itself knows how to make the file of that name without the ending."""
_LONGEST = 10_000
"""Characters that are read of a line or a value."""
_ROUNDS = 10
"""How deep references in values of variables are followed."""
_NPM = re.compile(r"\b(?:npm|pnpm|yarn)(?: -\S+)* (?:(run|run-script) (?:-\S+ )*)?([\w:.-]+)")
_OUTPUT_USED = re.compile(r"[0-9]?>>?(?!&| ?/dev/null)|<\(|`|\$\(")
"""Output of a command that goes on, to a file or into another command: `>`, `<(...)`, `` `...` `` and `$(...)`."""


class _Rule(NamedTuple):
    names: list[str]
    needed: list[str]
    recipe: list[str]


class Makefile:
    """The assignments, targets and recipes of a makefile, with simple variables replaced.

    Args:
        text: Its source.
    """

    def __init__(self, text: str) -> None:
        self._values: dict[str, str] = {}
        self.targets: list[str] = []
        """Names of files that its rules make; `*` stands for any characters within a name."""
        self.included: list[str] = []
        """The files that it includes; `*` stands for any characters within a name."""
        self.searched: list[str] = []
        """The folders in which it looks for targets, too."""
        self._rules: list[_Rule] = []
        # A backslash at its end continues a line.
        for line in text.replace("\\\n", " ").split("\n"):
            self._read(line[:_LONGEST])

    def _read(self, line: str) -> None:
        if line.startswith("\t"):
            if self._rules:
                self._rules[-1].recipe.append(_command(self._expanded(line)))
            return
        bare = line.partition("#")[0].strip()
        assigned = _ASSIGNED.fullmatch(bare)
        if assigned:
            adds = assigned["sign"].endswith("+=")
            self._assign(assigned["name"], assigned["value"].strip(), adds=adds)
            return
        expanded = self._expanded(bare)
        included = _INCLUDED.fullmatch(expanded)
        if included:
            self.included += included[1].split()
            return
        searched = _SEARCHED.fullmatch(expanded)
        if searched:
            self._search(searched[1])
            return
        self._read_rule(expanded)

    def _assign(self, name: str, value: str, *, adds: bool) -> None:
        if adds:
            value = f"{self._values.get(name, '')} {value}"
        self._values[name] = value[:_LONGEST]
        if name == "VPATH":
            self._search(self._expanded(value))

    def _read_rule(self, line: str) -> None:
        named, colon, rest = line.partition(":")
        # With `:=`, it is an assignment whose name is computed.
        if not colon or rest.startswith("="):
            return
        needed, semicolon, recipe = rest.partition(";")
        rule = _Rule(named.split(), re.split(r"[\s:|]+", needed), [])
        if semicolon:
            rule.recipe.append(_command(recipe))
        self._rules.append(rule)
        for name in rule.names:
            self._add(name)

    def _search(self, folders: str) -> None:
        self.searched += filter(None, re.split(r"[\s:]+", folders))

    @property
    def shell(self) -> str:
        """The command that runs each line of its recipes."""
        shell = self._values.get("SHELL", "sh")
        flags = self._values.get(".SHELLFLAGS", "-c")
        return self._expanded(f"{shell} {flags}")

    def recipes(self, goals: Iterable[str]) -> list[str]:
        """Return the command lines with which targets are made; the first target if none is among the goals.

        Args:
            goals: Words that may name targets.
        """
        by_name: dict[str, list[_Rule]] = {}
        for rule in self._rules:
            for name in rule.names:
                by_name.setdefault(name, []).append(rule)
        waiting = [goal for goal in goals if goal in by_name]
        if not waiting:
            ordinary = [name for name in by_name if not name.startswith(".")]
            waiting = ordinary[:1]
        # Only make knows which files a pattern makes, so every pattern may be needed.
        waiting += [name for name in by_name if "%" in name]
        reached = set(waiting)
        # Only the keys count: each line once, in the order in which they are found.
        found: dict[str, None] = {}
        while waiting:
            for rule in by_name[waiting.pop()]:
                found.update(dict.fromkeys(rule.recipe))
                for name in _named_by(rule):
                    if name in by_name and name not in reached:
                        waiting.append(name)
                        reached.add(name)
        return list(found)

    def _add(self, name: str) -> None:
        # An old form of a pattern, such as `.c.o` for `%.o: %.c`.
        suffixes = re.fullmatch(r"\.\w+(\.\w+)", name)
        if suffixes:
            self.targets.append(f"*{suffixes[1]}")
            return
        # What this variable stands for, only make knows.
        if "$" in name:
            return
        # Special targets such as `.PHONY` are not files, and a bare `%` would be any file.
        if re.fullmatch(r"\.[A-Z_]+|[%*/.]*", name):
            return
        self.targets.append(name.replace("%", "*"))

    def _expanded(self, text: str) -> str:
        for _ in range(_ROUNDS):
            replaced = _REFERENCE.sub(self._value, text)
            replaced = _FUNCTION.sub(_applied, replaced)
            # A variable that holds itself twice would grow without end.
            replaced = replaced[:_LONGEST]
            if replaced == text:
                break
            text = replaced
        return text

    def _value(self, match: re.Match[str]) -> str:
        """Return what stands for a reference such as `$(NAME)` or `$(NAME:.c=.o)`."""
        name, old, new = match.groups()
        if name not in self._values:
            return match[0]
        value = self._values[name]
        if old is None:
            return value
        # Without `%`, they are the ends of words.
        if "%" not in old:
            old, new = f"%{old}", f"%{new}"
        return _substituted(old, new, value)


def _named_by(rule: _Rule) -> list[str]:
    """Return what may be the names of other targets that a rule makes before or by its recipe."""
    named = list(rule.needed)
    for line in rule.recipe:
        if "make" in line.lower():
            named += line.split()
    return named


def _command(line: str) -> str:
    """Return a line of a recipe without the signs that tell make how to run it."""
    return line.strip().lstrip("@-+ ")


def _applied(match: re.Match[str]) -> str:
    """Return what a function of make gives, or "" if the number of its arguments is wrong.

    Which files a `wildcard` finds, only make knows: its pattern stays.
    """
    function = match[1]
    given = match[2]
    parts = [part.strip() for part in given.split(",")]
    if function == "wildcard":
        return given
    if function == "patsubst" and len(parts) == 3:
        return _substituted(*parts)
    if function == "addsuffix" and len(parts) == 2:
        return " ".join(f"{word}{parts[0]}" for word in parts[1].split())
    if function == "addprefix" and len(parts) == 2:
        return " ".join(f"{parts[0]}{word}" for word in parts[1].split())
    return ""


def _substituted(old: str, new: str, words: str) -> str:
    """Return words, with the pattern `old` in each replaced by `new`, as make's `patsubst` does; `%` is any text."""
    start, _, end = old.partition("%")
    shortest = len(start) + len(end)
    replaced = []
    for word in words.split():
        if len(word) >= shortest and word.startswith(start) and word.endswith(end):
            stem = word.removeprefix(start).removesuffix(end)
            word = new.replace("%", stem)
        replaced.append(word)
    return " ".join(replaced)


class Targets:
    """Tells whether a path is a target of makefiles."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._patterns: set[str] = set()

    def add(self, folder: str, name: str) -> None:
        """Add a target of a makefile in a folder."""
        path = posixpath.normpath(posixpath.join(folder, name))
        if "*" in path:
            self._patterns.add(path)
        else:
            self._names.add(path)

    def discard(self, paths: set[str]) -> None:
        """Remove files and folders that the workspace had before the agent changed it: they are not additions."""
        self._names -= paths

    def __contains__(self, path: str) -> bool:
        if path in self._names:
            return True
        return any(fnmatchcase(path, pattern) for pattern in self._patterns)


def built_in_target(path: str) -> str:
    """Return the file that make knows how to make from a file without any rule, or ""."""
    stem, ending = posixpath.splitext(path)
    if ending not in _BUILT_IN:
        return ""
    return stem


def npm_commands(command: str, package: str) -> list[str]:
    """Return the command lines that `npm test` and `npm run` in a command run, with those that they run in turn.

    Args:
        command: The command line.
        package: The text of package.json.
    """
    try:
        scripts = json.loads(package).get("scripts")
    except (ValueError, RecursionError, AttributeError):
        return []
    if not isinstance(scripts, dict):
        return []
    found: list[str] = []
    waiting = list(_scripts_named(command))
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        for each in (f"pre{name}", name, f"post{name}"):
            if each in seen:
                continue
            seen.add(each)
            script = scripts.get(each)
            if isinstance(script, str):
                line = script[:_LONGEST]
                found.append(line)
                waiting += _scripts_named(line)
    return found


def _scripts_named(command: str) -> Iterator[str]:
    for match in _NPM.finditer(command):
        run, name = match.groups()
        # Only without `run` are these short for it.
        if not run and name in ("t", "tst"):
            name = "test"
        yield name


def deciding(line: str) -> list[str]:
    """Return those commands of a line whose exit status decides, as that of a pipe's last command.

    Commands whose output goes on are left out. They are often the code under test, as in `./prog | diff - expected`,
    `./prog > out` or `test "$(./prog)" = 1`.
    """
    found = []
    for part in re.split(r"&&|\|\||;|\n", line[:_LONGEST]):
        last = part.split("|")[-1]
        # This redirection is to no file.
        without_stderr = last.replace("2>&1", "")
        if not _OUTPUT_USED.search(without_stderr):
            found.append(last)
    return found
