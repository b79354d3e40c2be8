"""Prompts: templates and few-shot examples, as files.

The templates in this folder define the structure of every prompt; a domain's folder adds `setting.md`, which
describes its world, and examples. A file in the domain's folder replaces the one of the same name here.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from traceback import extract_tb
from typing import Annotated, Any, Literal, TypeVar

from jinja2 import BaseLoader, ChoiceLoader, DictLoader, FileSystemLoader, StrictUndefined
from jinja2.exceptions import TemplateSyntaxError, UndefinedError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from pydantic import Field, StringConstraints, TypeAdapter, ValidationError

from langgraph_reflexion.errors import ConfigurationError, checked, did_you_mean, explain
from langgraph_reflexion.support.files import read_toml

_HERE = Path(__file__).parent
DOMAINS = tuple(sorted(path.parent.name for path in _HERE.glob("*/setting.md")))
"""The domains whose prompts ship."""
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class ExampleStep:
    """A step of a few-shot example."""

    thought: str
    action: str
    observation: str


_Steps = Annotated[tuple[ExampleStep, ...], Field(validation_alias="step")]


@dataclass(frozen=True, slots=True)
class Example:
    """A few-shot trajectory that solves its task, with the environment's real observations."""

    observation: str
    """The first observation."""
    steps: _Steps
    kind: str = ""
    """The kind of its task; empty if it fits every kind."""


@dataclass(frozen=True, slots=True)
class ReflectionExample:
    """A few-shot reflection: a failed trajectory, and the lesson from it."""

    observation: str
    steps: _Steps
    reflection: str
    feedback: Annotated[str, StringConstraints(strip_whitespace=True)] = ""
    """The evaluator's feedback; mostly empty."""
    kind: str = ""
    """The kind of its task, such as the programming language; empty if it fits every kind."""


@dataclass(frozen=True, slots=True)
class TestsExample:
    """A worked request for self-written tests: a description, and a reply with tests."""

    __test__ = False  # not a test class of pytest

    observation: str
    """The description."""
    reply: str
    kind: str = ""
    """The programming language; empty if it fits every one."""


@checked
class Prompts:
    """The prompts of one domain.

    Templates may be untrusted, as those of a run folder from somebody else or of a server's client: they run
    sandboxed, and can reach only their values.

    Args:
        folder: The domain's folder; without one, the general templates only.
        templates: Templates that replace those in files, by name.
        base: Has the files that are not in the folder; the general templates unless given.

    Raises:
        ConfigurationError: there is no such folder, an example is malformed, or a template has a syntax error.
    """

    def __init__(
        self,
        folder: Path | str | None = None,
        templates: Mapping[str, str] | None = None,
        base: "Prompts | None" = None,
    ) -> None:
        folder = None if folder is None else Path(folder).expanduser()
        if folder is not None and not folder.is_dir():
            raise ConfigurationError(f"{folder} is not a folder of prompts")
        self.folder = folder
        self._edited = dict(templates or {})
        """Templates that are not files, by name."""
        own = folder.glob("*.md") if folder and folder.parent != _HERE else ()
        self._own = {**{path.stem: str(path) for path in own}, **{name: repr(name) for name in self._edited}}
        """Where the user's templates are, by name."""
        folders = [_HERE]
        if base and base.folder:
            folders.insert(0, base.folder)
        if folder:
            folders.insert(0, folder)
        self._folders = folders
        """Where a file is looked for, in this order."""
        loader: BaseLoader = FileSystemLoader(folders)
        if templates:
            loader = ChoiceLoader([DictLoader({f"{name}.md": text for name, text in templates.items()}), loader])
        self._templates = ImmutableSandboxedEnvironment(
            loader=loader,
            undefined=StrictUndefined,
            auto_reload=False,
            trim_blocks=True,
            lstrip_blocks=True,
            autoescape=False,
        )
        self._templates.filters |= {"quoted": quoted, "continued": continued}
        self._examples = _read(folders, "examples.toml", Example)
        self.reflections = tuple(_read(folders, "reflections.toml", ReflectionExample))
        self._tests = _read(folders, "tests.toml", TestsExample)
        for name in self._own:
            self._checked(name, partial(self._templates.get_template, f"{name}.md"))

    def under(self, prompts: "Prompts | None") -> "Prompts":
        """Return the user's prompts, with these for the files that they do not have."""
        if prompts is None or self.folder in (None, prompts.folder):
            return prompts or self
        return Prompts(prompts.folder, prompts._edited, self)

    def preload(self) -> None:
        """Read every template now, so that no event loop waits for it later."""
        for name in self._templates.list_templates(filter_func=lambda name: name.endswith(".md") and "/" not in name):
            self._templates.get_template(name)

    def files(self) -> dict[str, str]:
        """Return every template and example file by its name, so that a folder of them gives the same prompts."""
        names = self._templates.list_templates(filter_func=lambda name: name.endswith(".md") and "/" not in name)
        found = {name: self.text(name.removesuffix(".md")) for name in names}
        for name in ("examples.toml", "reflections.toml", "tests.toml"):
            # Every folder of prompts has the general ones beneath it.
            path = _first(self._folders[:-1], name)
            if path is not None:
                found[name] = path.read_text(encoding="utf-8")
        return found

    def text(self, name: str) -> str:
        """Return the source of a template, by its file name without `.md`."""
        loader = self._templates.loader
        assert loader is not None
        return loader.get_source(self._templates, f"{name}.md")[0]

    def render(self, name: str, **values: Any) -> str:
        """Render a template.

        Args:
            name: The template's file name without `.md`.
            **values: The template's values.

        Raises:
            jinja2.UndefinedError: a value is missing.
            ConfigurationError: a template fails, and some templates are the user's.
        """
        given = ", ".join(values)
        return self._checked(name, lambda: self._templates.get_template(f"{name}.md").render(**values).strip(), given)

    def opening(self, instruction: str, observation: str) -> str:
        """Return the beginning of a task: its first observation, below the instruction unless it contains that."""
        if not instruction.strip() or contains(observation, instruction):
            return observation
        return self.render("opening", instruction=instruction, observation=observation)

    def _checked(self, name: str, make: Callable[[], _T], given: str = "") -> _T:
        """Return what is made of a template, which is given the values of these names.

        Raises:
            ConfigurationError: a template of the user's fails.
        """
        try:
            return make()
        except Exception as error:
            # Templates compute, so they may raise any exception.
            if not self._own:
                raise
            # The failure may be in an included template.
            at = [frame for frame in extract_tb(error.__traceback__) if frame.filename.endswith(".md")]
            place: Any = error if isinstance(error, TemplateSyntaxError) else at[-1] if at else None
            own = self._own.get(name, repr(name))
            where = f"{place.filename or own}, line {place.lineno}" if place else own
            hint = ""
            if isinstance(error, UndefinedError) and given:
                hint = f": its values are {given}"
            raise ConfigurationError(f"the template {where}: {type(error).__name__}: {error}{hint}") from error

    def examples(self, kind: str | None, count: int) -> list[Example]:
        """Return the first `count` few-shot trajectories for a kind of task; any kind if none fits or for None."""
        fitting = [example for example in self._examples if kind is None or example.kind in ("", kind)]
        return (fitting or self._examples)[:count]

    def reflections_on(self, kind: str | None) -> tuple[ReflectionExample, ...]:
        """Return the few-shot reflections for a kind of task.

        Args:
            kind: The task's kind; None if its environment has only one.

        Returns:
            Those that fit, and all of them for None. Where none fits, those of the first example's kind: a prompt
            never mixes two kinds, such as two programming languages.
        """
        if kind is None or not self.reflections:
            return self.reflections
        fitting = tuple(example for example in self.reflections if example.kind in ("", kind))
        if fitting:
            return fitting
        first = self.reflections[0].kind
        return tuple(example for example in self.reflections if example.kind == first)

    def tests_for(self, kind: str | None) -> TestsExample | None:
        """Return the worked request for self-written tests in a language; None if there is none."""
        fitting = [example for example in self._tests if kind is None or example.kind in ("", kind)]
        return next(iter(fitting), None)


def quoted(text: str) -> str:
    """Return a text as a quotation: every line begins with "|", so that none can be read as a part of the prompt.

    In templates, it is the filter `quoted`. A page, a tool or a program may say "Action: ..." or "Status: SOLVED".
    """
    # Also at the other characters that end a line for some readers, such as U+2028.
    return "\n".join(map(_quoted_line, text.splitlines()))


def continued(text: str) -> str:
    """Return a text that follows a label such as "Observation:": every line but the first is `quoted`."""
    first, *rest = text.splitlines() or [""]
    return "\n".join([first, *map(_quoted_line, rest)])


def _quoted_line(line: str) -> str:
    return f"| {line}".rstrip()


def contains(text: str, words: str) -> bool:
    """Return whether a text contains these words, ignoring case, line breaks and the full stop.

    Only whole words match: "Count to 3." is in neither "Count to 30." nor "Count to 3.50". Empty words match nothing.
    """
    text, words = (" ".join(each.casefold().split()) for each in (text, words))
    words = words.rstrip(".!?:") or words
    return bool(words) and re.search(f"{_START}{re.escape(words)}{_END}", text) is not None


_START = r"""(?<![^\s"`(\[{<>\u00ab\u201c\u201e])"""
_END = r"""(?=[.!?:,;\u2026]*(?:\s|$|['\u2019"`)\]}<\u00bb\u201d](?!\w)))"""


@cache
def load_prompts(domain: str | Path | None = None) -> Prompts:
    """Return the prompts of a domain; without one, the general templates.

    Args:
        domain: The name of a built-in environment, or your own folder as a path or a string with a path separator.

    Raises:
        ConfigurationError: there is no such domain or folder, or an example in the folder is malformed.
    """
    if domain is None or isinstance(domain, Path) or os.sep in domain:
        return Prompts(domain)
    if domain not in DOMAINS:
        known = f"choose one of {', '.join(DOMAINS)}, or give a folder as ./{domain}{did_you_mean(domain, DOMAINS)}"
        raise ConfigurationError(f"no prompts ship under the name {domain!r}: {known}")
    return Prompts(_HERE / domain)


def ships(folder: Path) -> bool:
    """Return whether a folder of prompts is one of this package's."""
    return folder.resolve().is_relative_to(_HERE.resolve())


def _first(folders: Sequence[Path], name: str) -> Path | None:
    """Return the file of this name in the first folder that has one."""
    for folder in folders:
        if (folder / name).exists():
            return folder / name
    return None


def _read(folders: Sequence[Path], name: str, kind: type[_T]) -> list[_T]:
    path = _first(folders, name)
    if path is None:
        return []
    try:
        content = read_toml(path)
        return TypeAdapter(dict[Literal["example"], list[kind]]).validate_python(content)["example"]  # type: ignore[valid-type]
    except ValidationError as error:
        raise ConfigurationError(f"{path}: {explain(error)}") from error
    except KeyError as error:
        raise ConfigurationError(f"{path} cannot be read: {error}") from error
