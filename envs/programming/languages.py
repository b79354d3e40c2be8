"""Languages as data: how a program is written around a candidate, compiled and run."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from string import Template

from langgraph_reflexion.envs.programming.values import in_a_line
from langgraph_reflexion.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Language:
    """A language, as `languages.toml` describes it."""

    name: str
    file: str
    aliases: Sequence[str] = ()
    compile: Sequence[str] = ()
    """The command that compiles; none where there is nothing to compile."""
    made: Sequence[str] = ()
    """What compiling leaves, and running needs."""
    run: Sequence[str] = ()
    program: str = ""
    call: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    """Further files, written as `program` is."""
    values: str = "json"
    error: str = ""
    """Finds a compiler's complaint in what it prints."""
    memory: int = 1024
    """What a candidate may use, in MB. Runtimes ask for more than they use."""
    test: str = ""
    """How a self-written test is written, of the function NAME; empty where none is read."""
    env: Mapping[str, str] = field(default_factory=dict)
    fix: str = ""
    """What to do where the toolchain is missing."""

    def sources(self, code: str, calls: Sequence[str]) -> dict[str, str]:
        """The files of a program that makes calls of a candidate and tells what they come to.

        Args:
            code: The candidate.
            calls: The calls' source.
        """
        call = Template(self.call)
        lines = [call.substitute(number=number, call=each) for number, each in enumerate(calls)]
        given = {"code": code, "calls": "\n".join(lines), "count": len(calls)}
        templates = {self.file: self.program, **self.files}
        return {name: Template(text).substitute(given) for name, text in templates.items()}

    def complaint(self, printed: str) -> str:
        """The first error that a compiler printed, in one line."""
        found = re.search(self.error, printed, re.MULTILINE) if self.error else None
        lines = printed.strip().splitlines() or [""]
        return in_a_line(found[0] if found else lines[0])[:500]


def _read() -> dict[str, Language]:
    data = tomllib.loads(files(__package__).joinpath("languages.toml").read_text(encoding="utf-8"))
    return {name: Language(name, **each) for name, each in data.items()}


LANGUAGES = _read()
"""The languages by name."""


def language_of(name: str) -> str:
    """The name of a language that may be given by another one (`py`, `rs`).

    Raises:
        ConfigurationError: there is none.
    """
    for language in LANGUAGES.values():
        if name.lower() in (language.name, *language.aliases):
            return language.name
    raise ConfigurationError(f"no language {name!r}: choose one of {', '.join(LANGUAGES)}")
