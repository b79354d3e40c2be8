"""The languages, and the program around a Rust candidate, from `languages.toml`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from string import Template

from langgraph_reflexion.envs.programming.values import one_line
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.files import own_table


@dataclass(frozen=True, slots=True)
class Language:
    """A language, as `languages.toml` describes it."""

    name: str
    file: str
    test: str
    """An example of a self-written test of the function NAME."""
    aliases: Sequence[str] = ()
    compile: Sequence[str] = ()
    """The command that compiles."""
    made: Sequence[str] = ()
    """The files that compiling creates and running needs."""
    run: Sequence[str] = ()
    program: str = ""
    call: str = ""
    error: str = ""
    """A pattern for the compiler's error in its output."""

    def source(self, code: str, calls: Sequence[str]) -> str:
        """Return the program that makes calls to a candidate and prints their values."""
        call = Template(self.call)
        lines = [call.substitute(number=number, call=each) for number, each in enumerate(calls)]
        return Template(self.program).substitute(code=code, calls="\n".join(lines), count=len(calls))

    def complaint(self, printed: str) -> str:
        """Return the first error in a compiler's output, in one line."""
        found = re.search(self.error, printed, re.MULTILINE)
        lines = printed.strip().splitlines() or [""]
        return one_line(found[0] if found else lines[0])[:500]


LANGUAGES = {name: Language(name, **each) for name, each in own_table(__file__, "languages.toml").items()}
"""The languages by name."""
RUST = LANGUAGES["rust"]


def language_of(name: str) -> str:
    """Return the name of a language given by name or alias (`py`, `rs`), or raise ConfigurationError."""
    for language in LANGUAGES.values():
        if name.lower() in (language.name, *language.aliases):
            return language.name
    raise ConfigurationError(f"unknown language {name!r}: choose one of {', '.join(LANGUAGES)}")
