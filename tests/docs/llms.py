"""`docs/llms.txt`, in the form of llmstxt.org: the pages in the site's navigation, for language models."""

import re
from itertools import pairwise

import yaml

from tests.docs.pages import BY_NAME, DOCS, ROOT

FILE = DOCS / "llms.txt"

FIRST = "Start"
"""The section of the pages that the navigation lists outside any section."""


def llms_txt():
    """Return the text of the file, with links as the site has them, below its root."""
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    lines = [f"# {site['site_name']}", "", f"> {site['site_description']}."]
    for section, pages in sections(site["nav"]).items():
        lines += ["", f"## {section}", ""]
        for title, path in pages:
            lines.append(f"- [{title}]({address(path)}): {first_sentence(BY_NAME[f'docs/{path}'])}")
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


def first_sentence(page):
    """Return the first sentence of a page as plain text. Where a heading or a list comes first, return the title."""
    children = introduction(page)
    words = []
    for part in children:
        if part.type == "code_inline":
            words.append(f"`{part.content}`")
        elif part.type in ("text", "softbreak"):
            words.append(part.content or " ")
    text = "".join(words)
    # Neither an abbreviation, as in "et al. 2021", nor a number, as in "3.11", ends a sentence.
    sentence = re.split(r"(?<=[.:?!])\s+(?=[A-Z`])", text)[0]
    return sentence.rstrip(".:") + "."


def introduction(page):
    """Return the parts of the first paragraph below the title, or of the title itself if there is none."""
    title = page.tokens[1]
    for token, following in pairwise(page.tokens[3:]):
        if token.type == "heading_open":
            break
        if token.type == "paragraph_open" and token.level == 0:
            return following.children
    return title.children
