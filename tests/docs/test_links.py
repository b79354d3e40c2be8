"""Links within the documentation lead somewhere, and what sentences name is there."""

import re
import shlex
from urllib.parse import urlsplit

import pytest

from tests.docs.command_lines import NAME, NOT_RUN, check, environment_options, options
from tests.docs.pages import DOCS, PAGES, ROOT, Page, commands

PATH = re.compile(r"(?:src|bench|docs|envs|graph|nodes|prompts|tests|notebooks)/[\w./-]+")
"""How a sentence names a file of the repository."""

ours = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


@ours
def test_every_link_leads_somewhere(page: Page) -> None:
    for link in page.links:
        url = urlsplit(link)
        if url.scheme:
            assert url.scheme in ("http", "https"), link
            assert url.netloc, link
            continue
        target = (page.path.parent / url.path).resolve() if url.path else page.path
        assert target.exists(), f"{page.name} links to {link}"
        assert not page.path.is_relative_to(DOCS) or target.is_relative_to(DOCS), f"{link} is not in the site"
        if url.fragment and target.suffix == ".md":
            assert url.fragment in Page(target).anchors, f"{page.name} links to {link}"


@ours
def test_every_file_that_is_named_is_there(page: Page) -> None:
    named = {name for code in page.inline_code for name in PATH.findall(code) if "..." not in name}
    assert {name for name in named if not list(ROOT.glob(name.rstrip("/.")))} == set()


@ours
def test_every_command_in_a_sentence_is_right(page: Page) -> None:
    for code in page.inline_code:
        if code.startswith((f"{NAME} ", *(f"{beginning} " for beginning in NOT_RUN))) and "..." not in code:
            assert check(code), code


@ours
def test_every_command_in_a_block_is_right_also_where_it_is_not_run(page: Page) -> None:
    for block in page.blocks:
        for command in commands(block) if block.language == "bash" else ():
            if re.match(rf"(?:[A-Z_]+=\S* )*{NAME} ", command.text):
                assert check(command.text), command.text


@ours
def test_every_option_in_a_sentence_is_one(page: Page) -> None:
    known = set().union(environment_options(), *options().values()) | OTHERS
    for code in page.inline_code:
        if code.startswith("--") and not code.startswith("--name"):  # `--name value` is any
            given = {word.partition("=")[0] for word in shlex.split(code) if re.match(r"--\w", word)}
            assert given <= known, f"{page.name}: {code}"


OTHERS = {
    *("--attrs", "--test", "--seconds", "--postgres", "--repeats", "--steps"),
    *("--max-retries", "--no-fail-on-error", "--retry-on-error", "--model-role", "--sandbox"),
}
"""Options of other programs: the original's WebShop, node, measurements, and Inspect."""


@pytest.mark.parametrize(
    "text", [f"{NAME} fly", f"{NAME} run alfworld --wings", "make tea", "pytest tests/nothing.py"]
)
def test_a_command_that_is_wrong_is_found(text: str) -> None:
    with pytest.raises(AssertionError):
        check(text)
