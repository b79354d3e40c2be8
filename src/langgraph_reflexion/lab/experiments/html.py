"""HTML from templates: notebook outputs, readable in light and dark themes, and the page of a report."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from markupsafe import Markup

from langgraph_reflexion.support.text import printable

TEMPLATES = Path(__file__).parent / "templates"


def framed(*parts: Markup) -> str:
    """Return a notebook output with its style: the parts, one below the other."""
    style = (TEMPLATES / "notebook.css").read_text(encoding="utf-8")
    output = Markup('<div class="reflexion"><style>\n{}</style>\n{}\n</div>')
    return str(output.format(Markup(style), Markup("\n").join(parts)))


def fill(name: str, **values: Any) -> Markup:
    """Fill in a template, every value escaped."""
    return Markup("".join(pieces(name, **values)))


def pieces(name: str, **values: Any) -> Iterator[str]:
    """Fill in a template piece by piece, as the whole may be large."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters["printable"] = printable
    return environment.get_template(name).generate(**values)
