"""Prompts: templates and few-shot examples, as files.

The templates in this folder define the structure of every prompt; a domain's folder adds `setting.md`, which
describes its world, and examples. A file in the domain's folder replaces the one of the same name here.
"""

import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Self, TypeVar

from jinja2 import BaseLoader, ChoiceLoader, DictLoader, Environment, FileSystemLoader, StrictUndefined
from jinja2.exceptions import TemplateError, TemplateNotFound, TemplateSyntaxError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from langgraph_reflexion.errors import ConfigurationError, checked

_HERE = Path(__file__).parent
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class ExampleStep:
    """A step of a few-shot example."""

    thought: str
    action: str
    observation: str

    def with_action(self, action: str) -> Self:
        return replace(self, action=action)


@dataclass(frozen=True, slots=True)
class Example:
    """A few-shot trajectory that solves its task, with the environment's real observations."""

    kind: str
    """The kind of its task; empty if it fits every kind."""
    observation: str
    """The first observation."""
    steps: tuple[ExampleStep, ...]


@dataclass(frozen=True, slots=True)
class ReflectionExample:
    """A few-shot reflection: a failed trajectory, and the lesson from it."""

    observation: str
    steps: tuple[ExampleStep, ...]
    feedback: str
    """The evaluator's feedback; mostly empty."""
    reflection: str


@checked
class Prompts:
    """The prompts of one domain.

    Args:
        folder: The domain's folder; without one, the general templates only.
        templates: Templates that replace those in files, by name. They may be untrusted: they run sandboxed and can
            reach only their values.

    Raises:
        ConfigurationError: there is no such folder, an example is malformed, or a template has a syntax error.
    """

    def __init__(self, folder: Path | str | None = None, templates: Mapping[str, str] | None = None) -> None:
        folder = None if folder is None else Path(folder).expanduser()
        if folder is not None and not folder.is_dir():
            raise ConfigurationError(f"{folder} is not a folder of prompts")
        self.folder = folder
        loader: BaseLoader = FileSystemLoader([folder, _HERE] if folder else [_HERE])
        self._edited = frozenset(templates or {})
        kind = Environment
        if templates:
            loader = ChoiceLoader([DictLoader({f"{name}.md": text for name, text in templates.items()}), loader])
            kind = ImmutableSandboxedEnvironment
        self._templates = kind(
            loader=loader,
            undefined=StrictUndefined,
            auto_reload=False,
            trim_blocks=True,
            lstrip_blocks=True,
            autoescape=False,
        )
        self._examples = tuple(
            Example(entry.text("kind", ""), entry.text("observation"), _steps(entry))
            for entry in _entries(folder, "examples.toml")
        )
        self.reflections = tuple(
            ReflectionExample(
                entry.text("observation"), _steps(entry), entry.text("feedback", "").strip(), entry.text("reflection")
            )
            for entry in _entries(folder, "reflections.toml")
        )
        for name in self._edited:
            self._checked(name, partial(self._templates.get_template, f"{name}.md"))

    def preload(self) -> None:
        """Read every template now, so that no event loop waits for it later."""
        for name in self._templates.list_templates(filter_func=lambda name: name.endswith(".md") and "/" not in name):
            self._templates.get_template(name)

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
            ConfigurationError: a template fails, and some templates are not files.
        """
        return self._checked(name, lambda: self._templates.get_template(f"{name}.md").render(**values).strip())

    def opening(self, instruction: str, observation: str) -> str:
        """Return the beginning of a task: its first observation, below the instruction unless it contains that."""
        if not instruction.strip() or contains(observation, instruction):
            return observation
        return self.render("opening", instruction=instruction, observation=observation)

    def _checked(self, name: str, make: Callable[[], _T]) -> _T:
        try:
            return make()
        except Exception as error:
            # Templates compute, so they may raise any exception.
            if not self._edited:
                raise
            raise ConfigurationError(f"the template {name!r}{_trouble(error)}") from error

    def examples(self, kind: str | None, count: int) -> list[Example]:
        """Return the first `count` few-shot trajectories for a kind of task; any kind if none fits or for None."""
        fitting = [example for example in self._examples if kind is None or example.kind in ("", kind)]
        return (fitting or list(self._examples))[:count]


def _trouble(error: Exception) -> str:
    match error:
        case TemplateSyntaxError():
            return f", line {error.lineno}: {error.message}"
        case TemplateNotFound():
            return f": there is no template {error.name!r}"
        case TemplateError():
            return f": {error.message}"
    return f": {type(error).__name__}: {error}"


def contains(text: str, words: str) -> bool:
    """Return whether a text contains these words, ignoring case, line breaks and the full stop.

    Only whole words match: "Count to 3." is in neither "Count to 30." nor "Count to 3.50". Scripts without spaces
    between words, such as Chinese or Thai, match anywhere. Empty words match nothing.
    """
    text, words = (" ".join(each.casefold().split()) for each in (text, words))
    words = words.rstrip(".!?:") or words
    if not words:
        return False
    before = "" if re.match(_UNSPACED, words[0]) else _START
    after = "" if re.match(_UNSPACED, words[-1]) else _END
    return re.search(f"{before}{re.escape(words)}{after}", text) is not None


_UNSPACED = r"[\u0e00-\u109f\u1780-\u17ff\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
"""Scripts without spaces between words: Thai to Burmese, Khmer, Japanese and Chinese."""
_WIDE = r"\u3001\u3002\u3008-\u3011\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f"
"""Full stops, commas and brackets of Japanese and Chinese, which need no spaces."""
_START = rf"""(?<![^\s"'`([{{<>\u00ab\u2018\u201c\u201e{_WIDE}])(?<!\w')"""
"""The start of a word: after a space, a quote or a bracket, but not after an apostrophe within a word."""
_END = rf"""(?=[.!?:,;\u2026]*(?:\s|$|['\u2019](?!\w)|["`)\]}}>\u00bb\u201c\u201d{_WIDE}]|</))"""
"""The end of a word: before a space, a quote, a bracket, the end, or a full stop followed by one of them."""


@cache
def load_prompts(domain: str | Path) -> Prompts:
    """Return the prompts of a domain.

    Args:
        domain: The name of a shipped environment, or your own folder as a path or a string with a path separator. A
            name without a folder gets the general templates.

    Raises:
        ConfigurationError: your folder does not exist, or an example in it is malformed.
    """
    if isinstance(domain, Path) or any(separator in domain for separator in (os.sep, os.altsep) if separator):
        return Prompts(Path(domain).expanduser())
    folder = _HERE / domain
    return Prompts(folder if folder.is_dir() else None)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A table in a file of examples, whose errors name the place."""

    place: str
    values: Any

    def text(self, key: str, default: str | None = None) -> str:
        value = self._value(key, default)
        if not isinstance(value, str):
            raise ConfigurationError(f"{self.place}: {key!r} is not text")
        return value

    def tables(self, key: str, what: str) -> list["_Entry"]:
        values = self._value(key, None)
        if not isinstance(values, list):
            raise ConfigurationError(f"{self.place}: {key!r} is not a list of tables")
        return [_Entry(f"{self.place}, {what} {number}", value) for number, value in enumerate(values, 1)]

    def _value(self, key: str, default: str | None) -> Any:
        if not isinstance(self.values, dict):
            raise ConfigurationError(f"{self.place} is not a table")
        value = self.values.get(key, default)
        if value is None:
            raise ConfigurationError(f"{self.place} has no {key!r}")
        return value


def _entries(folder: Path | None, name: str) -> list[_Entry]:
    path = folder / name if folder else None
    if path is None or not path.exists():
        return []
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}") from error
    return _Entry(str(path), content).tables("example", "example")


def _steps(entry: _Entry) -> tuple[ExampleStep, ...]:
    return tuple(
        ExampleStep(step.text("thought"), step.text("action"), step.text("observation"))
        for step in entry.tables("step", "step")
    )
