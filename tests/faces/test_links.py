"""Links within the documentation lead somewhere, and what sentences name is there."""

import re
from urllib.parse import urlsplit

import pytest

from tests.docs.command_lines import CHECKS, NAME, check
from tests.docs.pages import DOCS, PAGES, ROOT, Page

PATH = re.compile(r"(?:src|docs|envs|graph|nodes|prompts|tests|notebooks)/[\w./-]+")
"""How a sentence names a file of the repository."""


def test_links_resolve() -> None:
    broken = []
    for page in PAGES:
        for link in page.links:
            url = urlsplit(link)
            if url.scheme:
                right = url.scheme in ("http", "https") and bool(url.netloc)
            else:
                target = (page.path.parent / url.path).resolve() if url.path else page.path
                right = target.exists() and (not page.path.is_relative_to(DOCS) or target.is_relative_to(DOCS))
                if right and url.fragment and target.suffix == ".md":
                    right = url.fragment in Page(target).anchors
            if not right:
                broken.append(f"{page.name} -> {link}")
    assert broken == []


def test_named_files_exist() -> None:
    named = {(page.name, name) for page in PAGES for code in page.inline_code for name in PATH.findall(code)}
    files = [(page, name) for page, name in sorted(named) if "..." not in name]
    assert [(page, name) for page, name in files if not list(ROOT.glob(name.rstrip("/.")))] == []


def test_commands_in_sentences_are_valid() -> None:
    for page in PAGES:
        for code in page.inline_code:
            if code.startswith((*CHECKS,)) and "..." not in code:
                assert check(code), f"{page.name}: {code}"


def test_invalid_command_is_detected() -> None:
    for text in (f"{NAME} fly", f"{NAME} report a --wings", "make tea", "pytest tests/nothing.py"):
        with pytest.raises(AssertionError):
            check(text)
