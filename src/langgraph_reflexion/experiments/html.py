"""What a notebook shows of a run, a comparison and a task's trials: readable on a dark ground and on a light one.

The page of a report is filled in like an output of a notebook.
"""

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from langgraph_reflexion.experiments.printable import printable

TEMPLATES = Path(__file__).parent / "templates"


def framed(*parts: Markup) -> str:
    """An output of a notebook, with the style that it needs.

    Args:
        parts: What it shows, one below the other.
    """
    html = Markup("\n").join(parts)
    return str(Markup('<div class="reflexion"><style>\n{}</style>\n{}\n</div>').format(Markup(_style()), html))


def fill(name: str, **values: Any) -> Markup:
    """Fill in a template, everything in it escaped."""
    return Markup(_template(name).render(**values))


@cache
def _style() -> str:
    return (TEMPLATES / "notebook.css").read_text(encoding="utf-8")


@cache
def _template(name: str) -> Template:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters["printable"] = printable
    return environment.get_template(name)
