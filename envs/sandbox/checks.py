"""What a caller gives, looked at before anything runs: what is wrong is said here, and not by a sandbox half made."""

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from langgraph_reflexion.envs.sandbox.archive import Names
from langgraph_reflexion.envs.sandbox.helper.plan import HOME, WORK
from langgraph_reflexion.errors import ConfigurationError

RESERVED = (
    *("/proc", "/dev", "/sys", "/etc", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"),
    *(WORK, HOME),
)
"""Places inside that are the sandbox's own."""
_LONGEST_WORD = (1 << 17) - 1


def to_bytes(content: str | bytes, what: str = "a file") -> bytes:
    """Text as it is written to a file.

    Args:
        content: Text or bytes.
        what: What it is, for the error.

    Raises:
        ConfigurationError: it is neither, or cannot be written as UTF-8.
    """
    if isinstance(content, bytes):
        return content
    if not isinstance(content, str):
        raise ConfigurationError(f"{what}: give text or bytes, and not {type(content).__name__}")
    try:
        return content.encode()
    except UnicodeEncodeError as error:
        raise ConfigurationError(f"{what}: this text cannot be written as UTF-8: {error}") from None


def word(value: object, what: str) -> str:
    """Something that the kernel takes as a string. Raises ConfigurationError where it does not."""
    if not isinstance(value, str):
        raise ConfigurationError(f"{what}: give text, and not {type(value).__name__} ({value!r:.60})")
    try:
        length = len(os.fsencode(value))
    except UnicodeEncodeError:
        raise ConfigurationError(f"{what}: {value!r:.60} cannot be written as UTF-8") from None
    if "\0" in value:
        raise ConfigurationError(f"{what}: {value!r:.60} has a NUL, which no program can be given")
    if length > _LONGEST_WORD:
        raise ConfigurationError(
            f"{what}: {length} bytes, and at most {_LONGEST_WORD} can be given: use stdin or a file"
        )
    return value


def words(values: Sequence[str], what: str) -> list[str]:
    """A list of such strings."""
    if isinstance(values, str | bytes):
        raise ConfigurationError(f"{what}: give a list of words, and not one {type(values).__name__}")
    return [word(value, what) for value in values]


def command(argv: Sequence[str]) -> list[str]:
    """A program and its arguments."""
    given = words(argv, "the command")
    if not given or not given[0]:
        raise ConfigurationError("a sandbox needs a command to run")
    return given


def environment(env: Mapping[str, str]) -> dict[str, str]:
    """Environment variables."""
    for name, value in env.items():
        word(name, "a variable's name")
        if not name or "=" in name:
            raise ConfigurationError(f"{name!r} is no name of an environment variable")
        word(value, f"the variable {name}")
    return dict(env)


def file_names(names: Sequence[str]) -> list[str]:
    """The names of a run's files, as they are there."""
    possible = Names()
    return [_name(name, possible) for name in names]


def collected_names(names: Sequence[str]) -> list[str]:
    """The names of files or folders that are handed back: the working directory itself may be one."""
    given = words(names, "collect")
    for name in given:
        if os.path.normpath(name or "/") != ".":
            _name(name, Names())
    return given


def _name(name: str, possible: Names) -> str:
    given = word(name, "the name of a file")
    # Not that of "a/../b", which may lead elsewhere; and "" would become ".".
    normal = given if not given or ".." in given.split("/") or given[0] == "/" else os.path.normpath(given)
    if wrong := possible.add(normal):
        raise ConfigurationError(f"{given!r:.80} {wrong}")
    return normal


def binds(given: Sequence[tuple[str, str, bool]]) -> None:
    """Refuse binds that hide what the sandbox has for its own, and those that what ran before can lead astray."""
    for source, target, _ in given:
        for name in (source, target):
            word(name, "a bind")
        if not os.path.exists(source):
            raise ConfigurationError(f"cannot bind {source}: it does not exist")
        if any(below(target, each) or below(each, target) for each in RESERVED):
            raise ConfigurationError(
                f"cannot bind at {target}: the sandbox has that place, or one below it, for its own"
            )
        for folder, place, writable in given:
            # In a folder that programs write to, any part of a path may have become a link to anywhere.
            for path, above in ((source, folder), (target, place)):
                if writable and path != above and below(path, above):
                    inside = os.path.join(folder, os.path.relpath(path, above))
                    if os.path.realpath(inside) != os.path.join(
                        os.path.realpath(folder), os.path.relpath(path, above)
                    ):
                        raise ConfigurationError(
                            f"cannot bind {path}: a link leads it out of {above}, which is writable"
                        )


def below(path: str, folder: str) -> bool:
    """Whether a path is a folder, or lies below it."""
    return path == folder or path.startswith(folder if folder.endswith("/") else f"{folder}/")


class Inside:
    """Where on the host that lies which is seen inside.

    Args:
        shown: Paths that are there at their own place.
        given: Source, target and whether it is writable.
        everything: The host is seen as it is.
    """

    def __init__(self, shown: Sequence[str], given: Sequence[tuple[str, str, bool]], *, everything: bool) -> None:
        places = [(path, path) for path in shown] + [(target, source) for source, target, _ in given]
        # What is mounted last, and deepest, is what is seen.
        self._places = sorted(places, key=lambda place: len(place[0]), reverse=True)
        if everything:
            self._places = [("/", "/")]

    def host(self, path: str) -> str | None:
        """The path on the host; None where it is not seen."""
        path = os.path.normpath(path)
        for place, source in self._places:
            if below(path, place):
                return os.path.normpath(os.path.join(source, os.path.relpath(path, place)))
        return None

    def folder(self, cwd: Path) -> str:
        """A folder to begin in. Raises ConfigurationError where there is none inside."""
        path = word(str(cwd), "cwd")
        if not os.path.isabs(path):
            raise ConfigurationError(f"cwd {path!r}: give an absolute path")
        found = self.host(path)
        if found is None:
            raise ConfigurationError(f"cwd {path}: it is not there inside: add Bind({path!r}) to the policy's binds")
        if not os.path.isdir(found):
            raise ConfigurationError(f"cwd {path}: there is no such folder")
        return path

    def program(self, program: str, path: str, cwd: str | None, files: Sequence[str]) -> bool:
        """Whether there is a program.

        Args:
            program: Its name, or its path.
            path: The PATH inside.
            cwd: Where it is started; None for a folder that has the run's files and nothing else.
            files: Those files.
        """
        if "/" not in program:
            places = [os.path.join(folder, program) for folder in path.split(os.pathsep) if os.path.isabs(folder)]
        elif os.path.isabs(program):
            places = [program]
        elif os.path.normpath(program) in files:
            return True
        else:
            places = [os.path.join(cwd, program)] if cwd else []
        own = [os.path.join(cwd, name) for name in files] if cwd else []
        found = (self.host(place) for place in places)
        return any(place in own for place in places) or any(each and shutil.which(each) for each in found)
