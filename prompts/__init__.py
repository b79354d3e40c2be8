"""Prompts: templates and few-shot examples, as files.

The templates in this folder give every prompt its structure; a domain's folder holds what is its own: `setting.md`,
the words on its world, and examples. A file in the domain's folder takes the place of the one of that name here.
"""

import tomllib
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Self

from jinja2 import Environment, FileSystemLoader, StrictUndefined

_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class ExampleStep:
    """A step of a few-shot example."""

    thought: str
    action: str
    observation: str

    def with_action(self, action: str) -> Self:
        """The step with its action written another way."""
        return replace(self, action=action)


@dataclass(frozen=True, slots=True)
class Example:
    """A few-shot trajectory that solves its task, as its environment really answers."""

    kind: str
    """The kind of task that it shows; empty where a domain has only one."""
    observation: str
    """What the actor sees first."""
    steps: tuple[ExampleStep, ...]


@dataclass(frozen=True, slots=True)
class ReflectionExample:
    """A few-shot reflection: a failed trajectory, and the lesson from it."""

    observation: str
    steps: tuple[ExampleStep, ...]
    reflection: str


class Prompts:
    """The prompts of one domain.

    Args:
        folder: The domain's folder; without one, the general templates alone.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        folders = [folder, _HERE] if folder else [_HERE]
        self._templates = Environment(
            loader=FileSystemLoader(folders),
            undefined=StrictUndefined,
            auto_reload=False,
            trim_blocks=True,
            lstrip_blocks=True,
            autoescape=False,
        )
        self._examples = tuple(
            Example(entry.get("kind", ""), entry["observation"], _steps(entry))
            for entry in self._read("examples.toml")
        )
        self.reflections = tuple(
            ReflectionExample(entry["observation"], _steps(entry), entry["reflection"])
            for entry in self._read("reflections.toml")
        )

    def render(self, name: str, **values: Any) -> str:
        """Fill in a template.

        Args:
            name: The template's file name without `.md`.
            **values: What the template speaks of.

        Raises:
            jinja2.UndefinedError: the template speaks of something that was not given.
        """
        return self._templates.get_template(f"{name}.md").render(**values).strip()

    def examples(self, kind: str | None, count: int) -> list[Example]:
        """The first few-shot trajectories for a kind of task.

        Args:
            kind: The task's kind; None for any.
            count: How many at most.
        """
        return [example for example in self._examples if kind is None or example.kind == kind][:count]

    def _read(self, name: str) -> list[dict[str, Any]]:
        path = self.folder / name if self.folder else None
        if path is None or not path.exists():
            return []
        entries: list[dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))["example"]
        return entries


@cache
def load_prompts(domain: str | Path) -> Prompts:
    """The prompts of a domain.

    Args:
        domain: The name of an environment that ships, or a folder of your own. A name without a folder gets the
            general templates.
    """
    folder = domain if isinstance(domain, Path) else _HERE / domain
    return Prompts(folder if folder.is_dir() else None)


def _steps(entry: dict[str, Any]) -> tuple[ExampleStep, ...]:
    return tuple(ExampleStep(step["thought"], step["action"], step["observation"]) for step in entry["step"])
