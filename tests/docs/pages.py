"""The pages of the documentation, taken apart: blocks of code, code within sentences, links and headings."""

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


class Block(NamedTuple):
    """A fenced block."""

    language: str
    title: str
    """What `title="..."` says; empty where nothing does."""
    text: str
    line: int
    """Where its first line stands on the page, counted from 1."""


@dataclass(frozen=True)
class Page:
    """A page of Markdown."""

    path: Path

    @property
    def name(self):
        """Its path in the repository."""
        return self.path.relative_to(ROOT).as_posix() if self.path.is_relative_to(ROOT) else self.path.name

    @cached_property
    def text(self):
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tokens(self):
        return MarkdownIt("commonmark").enable("table").parse(self.text)

    @property
    def blocks(self):
        found = []
        for token in self.tokens:
            if token.type == "fence":
                language, _, rest = token.info.strip().partition(" ")
                title = re.fullmatch(r'title="([^"]+)"', rest.strip())
                assert title or not rest, f"{self.name}: ```{token.info} has more than a language and a title"
                found.append(Block(language, title[1] if title else "", token.content, (token.map or [0])[0] + 2))
        return found

    @property
    def indented(self):
        """Blocks of code that are indented and not fenced: nothing would run them."""
        return [token.content for token in self.tokens if token.type == "code_block"]

    @property
    def inline_code(self):
        return [
            child.content for token in self.tokens for child in token.children or [] if child.type == "code_inline"
        ]

    @property
    def links(self):
        """What is linked to, images included."""
        children = [child for token in self.tokens for child in token.children or []]
        return [str(child.attrs.get("href", child.attrs.get("src", ""))) for child in children if child.attrs]

    @property
    def anchors(self):
        """What a link within the page may lead to."""
        headings = [text.content for before, text in pairwise(self.tokens) if before.type == "heading_open"]
        return {slug(heading) for heading in headings} | set(self.docstrings)

    @property
    def docstrings(self):
        """The names whose docstrings the site puts here, under their paths as anchors."""
        return re.findall(r"^::: (\S+)$", self.text, re.MULTILINE)


def slug(heading):
    """The anchor of a heading, where the site and code hosts make the same of it."""
    words = re.sub(r"[^\w\s-]", "", heading.replace("`", "").lower()).strip()
    return re.sub(r"\s", "-", words)


def commands(block):
    """Return the commands of a block, without comments."""
    lines = [line.strip() for line in block.text.replace("\\\n", "").splitlines()]
    return [re.sub(r"\s+# .*", "", line) for line in lines if line and not line.startswith("#")]


# The prompts of an experiment are not pages.
_FILES = [path for path in sorted(DOCS.rglob("*.md")) if path.parents[1].name != "experiments"]
_AT_THE_TOP = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "AGENTS.md")]
PAGES = [Page(path) for path in (*_AT_THE_TOP, *_FILES)]
BY_NAME = {page.name: page for page in PAGES}
