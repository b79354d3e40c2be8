"""The files that decide the verdict, and are restored before each verification."""

import itertools
import posixpath
import re
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path

_FILE = Path(__file__).with_name("protected.toml")
PROTECTED = tuple(itertools.chain(*tomllib.loads(_FILE.read_text(encoding="utf-8")).values()))
"""The patterns that are protected unless a task allows them."""

_STARTING = {"env", "exec", "time", "timeout", "nice", "sh", "bash", "dash", "ksh", "zsh", "source", "."} | {
    *("python", "python3", "node", "deno", "bun", "ruby", "perl", "php", "tsx", "ts-node")
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
        self._allowed = _any(allow)
        self._run = set(run)

    def __call__(self, path: str) -> bool:
        return (path in self._run or self._protected(path)) and not self._allowed(path)


def scripts_run(commands: Iterable[str], exists: Callable[[str], bool]) -> list[str]:
    """Return the workspace's files that command lines run, such as `check.sh` in `sh check.sh`.

    Args:
        commands: Command lines.
        exists: Whether a path is a file of the workspace.
    """
    found = []
    for command in commands:
        folder = ""
        for part in re.split(r"&&|\|\|?|;|\n", command):
            bare = [word.strip("\"'") for word in part.split()]
            words = [word for word in bare if not re.match(r"\w+=|-(?!m$)", word)]
            if words[:1] == ["cd"]:
                folder = posixpath.join(folder, *words[1:])
                continue
            # Some take a time or a number first.
            while words and (posixpath.basename(words[0]) in _STARTING or re.fullmatch(r"[\d.]+[smhd]?", words[0])):
                del words[0]
            paths = words[:1]
            if paths == ["-m"]:
                module = "/".join(words[1:2]).replace(".", "/")
                paths = [f"{module}.py", f"{module}/__main__.py", f"{module}/__init__.py"]
            for path in (posixpath.normpath(posixpath.join(folder, path)) for path in paths):
                if path not in found and exists(path):
                    found.append(path)
    return found


def _any(patterns: Iterable[str]) -> Callable[[str], bool]:
    together = "|".join(_regex(pattern) for pattern in patterns)
    matches = re.compile(together or r"(?!)", re.DOTALL).fullmatch
    return lambda path: matches(path) is not None


def _regex(pattern: str) -> str:
    anchored = "/" in pattern.rstrip("/")
    pieces = re.split(r"(\*\*/|\*\*|\*|\?)", pattern.strip("/"))
    meant = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    body = "".join(meant.get(piece, re.escape(piece)) for piece in pieces)
    return f"{'' if anchored else '(?:.*/)?'}{body}(?:/.*)?"
