"""Languages as data: the program around a candidate, and the commands that compile and run it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from string import Template

from langgraph_reflexion.envs.programming.values import as_line
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.support.files import own_table

_LONGEST = 500
"""Maximum characters of a compiler's error."""


@dataclass(frozen=True, slots=True)
class Language:
    """A language, as `languages.toml` describes it."""

    name: str
    file: str
    aliases: Sequence[str] = ()
    compile: Sequence[str] = ()
    """The command that compiles, if any."""
    made: Sequence[str] = ()
    """The files that compiling creates and running needs."""
    run: Sequence[str] = ()
    program: str = ""
    """A template of the program around a candidate, with $code, $calls and $count."""
    call: str = ""
    """A template of one call, with $number and $call."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Other files, as templates like `program`."""
    values: str = "json"
    """How a program prints values: `json`, or `debug` for Rust's Debug."""
    error: str = ""
    """A pattern for the compiler's error in its output."""
    memory: int = 1024
    """Memory limit of a candidate in MB. Runtimes reserve more than they use."""
    test: str = ""
    """An example of a self-written test of the function NAME; empty if they are not supported."""
    env: Mapping[str, str] = field(default_factory=dict)
    fix: str = ""
    """How to install the toolchain."""

    def sources(self, code: str, calls: Sequence[str]) -> dict[str, str]:
        """Return the files of a program that makes calls to a candidate and prints their values."""
        call_line = Template(self.call)
        lines = [call_line.substitute(number=number, call=call) for number, call in enumerate(calls)]
        given = {"code": code, "calls": "\n".join(lines), "count": len(calls)}
        sources = {self.file: Template(self.program).substitute(given)}
        for name, text in self.files.items():
            sources[name] = Template(text).substitute(given)
        return sources

    def complaint(self, printed: str) -> str:
        """Return the first error in a compiler's output, in one line."""
        if self.error:
            found = re.search(self.error, printed, re.MULTILINE)
            if found:
                return _shortened(found[0])
        lines = printed.strip().splitlines()
        if not lines:
            return ""
        # Without a known error, the first line says most.
        return _shortened(lines[0])


def _shortened(text: str) -> str:
    return as_line(text)[:_LONGEST]


LANGUAGES = {name: Language(name, **each) for name, each in own_table(__file__, "languages.toml").items()}
"""The languages by name."""


def language_of(name: str) -> str:
    """Return the name of a language given by name or alias (`py`, `rs`), or raise ConfigurationError."""
    for language in LANGUAGES.values():
        if name.lower() == language.name or name.lower() in language.aliases:
            return language.name
    known = ", ".join(LANGUAGES)
    raise ConfigurationError(f"unknown language {name!r}: choose one of {known}")
