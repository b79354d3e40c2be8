"""Links within the documentation lead somewhere, and what sentences name is there."""

import re
import shlex
from urllib.parse import urlsplit

import pytest

from tests.docs.command_lines import NAME, NOT_RUN, check, environment_options, options
from tests.docs.pages import DOCS, PAGES, ROOT, Page, commands

PATH = re.compile(r"(?:src|bench|docs|envs|graph|nodes|prompts|tests|notebooks)/[\w./-]+")
"""How a sentence names a file of the repository."""


def test_links_lead_somewhere() -> None:
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
    named = {
        (page.name, name)
        for page in PAGES
        for code in page.inline_code
        for name in PATH.findall(code)
        if "..." not in name
    }
    assert [(page, name) for page, name in sorted(named) if not list(ROOT.glob(name.rstrip("/.")))] == []


def test_commands_are_right() -> None:
    beginnings = (f"{NAME} ", *(f"{beginning} " for beginning in NOT_RUN))
    for page in PAGES:
        for code in page.inline_code:
            if code.startswith(beginnings) and "..." not in code:
                assert check(code), f"{page.name}: {code}"
        for block in page.blocks:
            for command in commands(block) if block.language == "bash" else ():
                if re.match(rf"(?:[A-Z_]+=\S* )*{NAME} ", command.text):
                    assert check(command.text), f"{page.name}: {command.text}"


def test_named_options_exist() -> None:
    known = set().union(environment_options(), *options().values()) | OTHERS
    unknown = [
        (page.name, code)
        for page in PAGES
        for code in page.inline_code
        if code.startswith("--") and not code.startswith("--name")  # `--name value` is any
        for word in shlex.split(code)
        if re.match(r"--\w", word) and word.partition("=")[0] not in known
    ]
    assert unknown == []


OTHERS = {
    *("--attrs", "--test", "--steps"),
    *("--max-retries", "--no-fail-on-error", "--retry-on-error", "--model-role", "--sandbox"),
}
"""Options of other programs: the original's WebShop, node, measurements, and Inspect."""


def test_a_wrong_command_is_found() -> None:
    for text in (f"{NAME} fly", f"{NAME} run alfworld --wings", "make tea", "pytest tests/nothing.py"):
        with pytest.raises(AssertionError):
            check(text)
