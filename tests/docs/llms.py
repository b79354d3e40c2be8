"""`docs/llms.txt`, in the form of llmstxt.org: the pages in the site's navigation, for language models."""

import re
from itertools import pairwise

import yaml

from tests.docs.pages import BY_NAME, DOCS, ROOT

FILE = DOCS / "llms.txt"

FIRST = "Overview"
"""The section of the pages that the navigation lists outside any section."""


def llms_txt():
    """Return the text of the file, with links as the site has them, below its root."""
    # This loader reads everything as text, also what only the builder of the site can resolve, such as `!ENV`.
    site = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), yaml.BaseLoader)
    lines = [f"# {site['site_name']}", "", f"> {site['site_description']}."]
    for section, pages in sections(site["nav"]).items():
        lines += ["", f"## {section}", ""]
        for title, path in pages:
            lines.append(f"- [{title}]({address(path)}): {summary(BY_NAME[f'docs/{path}'])}")
    return "\n".join(lines) + "\n"


def sections(nav):
    """Return the titles and paths of the pages by section; a section within another one has the titles of both."""
    found = {}

    def walk(entries, section):
        for entry in entries:
            [(title, inside)] = entry.items()
            if isinstance(inside, list):
                walk(inside, f"{section}: {title}" if section else title)
            else:
                found.setdefault(section or FIRST, []).append((title, inside))

    walk(nav, "")
    return found


def address(path):
    """Return where the site has a page, as a link from its root."""
    folder = path.removesuffix(".md")
    if folder == "index":
        return "./"
    return folder.removesuffix("/index") + "/"


def summary(page):
    """Return the first sentence of a page, or the titles of its parts where a heading or a list comes first."""
    text = introduction(page)
    if text is None:
        return ", ".join(title for level, title in headings(page) if level == "h2")
    # Neither an abbreviation, as in "et al. 2021", nor a number, as in "3.11", ends a sentence.
    sentence = re.split(r"(?<=[.:?!])\s+(?=[A-Z`])", text)[0]
    return sentence.rstrip(".:") + "."


def introduction(page):
    """Return the first paragraph below the title as plain text, None if there is none."""
    below_title = page.tokens[3:]
    for token, following in pairwise(below_title):
        if token.type == "heading_open":
            return None
        if token.type == "paragraph_open" and token.level == 0:
            text = plain(following)
            # A drawing is a paragraph, too.
            if text:
                return text
    return None


def headings(page):
    """Return the level, such as "h2", and the text of each heading."""
    return [
        (token.tag, plain(following)) for token, following in pairwise(page.tokens) if token.type == "heading_open"
    ]


def plain(inline):
    """Return text without its links, emphasis and pictures."""
    words = []
    for part in inline.children:
        if part.type == "code_inline":
            words.append(f"`{part.content}`")
        elif part.type in ("text", "softbreak"):
            words.append(part.content or " ")
    return "".join(words).strip()
