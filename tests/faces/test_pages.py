"""The code blocks of every page run with the output shown; links resolve, and what sentences name exists."""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from langgraph_reflexion.testing import ModelServer
from tests.docs.command_lines import CHECKS, check
from tests.docs.lists import APART, ELSEWHERE, FAILS, FEW, LONG, PACKAGES, PREPARED, SANDBOXED
from tests.docs.pages import DOCS, PAGES, ROOT, Block, Page, commands
from tests.docs.running import EXCERPT, Reader, check_output
from tests.support.tools import need

pytestmark = [
    # langgraph-supervisor imports names that LangGraph has moved.
    pytest.mark.filterwarnings("ignore:create_react_agent has been moved"),
]

DATA = {"toml": tomllib.loads, "json": json.loads}


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
def reader(tmp_path: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    reader = Reader(tmp_path / "reader", server, monkeypatch)
    yield reader
    reader.leave()


QUICK = ("README.md",)
"""The page of the default run."""
SHOWN = [
    pytest.param(page, id=page.name, marks=[] if page.name in QUICK else [pytest.mark.long])
    for page in PAGES
    if page.blocks
]


@pytest.mark.parametrize("page", SHOWN)
def test_page_code_runs(page: Page, reader: Reader) -> None:
    if page.name in SANDBOXED:
        need("bubblewrap")
    if package := PACKAGES.get(page.name):
        pytest.importorskip(package)
    PREPARED.get(page.name, lambda home: None)(reader.home)
    follow(page, reader)


def follow(page: Page, reader: Reader) -> None:
    """Do what a page shows, block by block."""
    said: str | None = None
    for block in page.blocks:
        where = f"{page.name}, line {block.line}"
        match block.language:
            case "python" if block.title:
                compile(block.text, where, "exec")
                reader.write(block)
            case "python":
                run = reader.apart if page.name in APART else reader.python
                said = None if named(page, block) in ELSEWHERE else run(block, page.name)
            case "bash":
                said = done(page, block, reader)
            case "text" if block.title in ("", EXCERPT):
                assert said is not None, f"{where}: an output of nothing that was run"
                check_output(block, said)
            case language if language in DATA:
                DATA[language](block.text)
                if block.title:
                    reader.write(block)
            case language:
                assert block.title, f"{where}: nothing is known of ```{language}"
                if block.title:
                    reader.write(block)


def done(page: Page, block: Block, reader: Reader) -> str | None:
    """Run the commands of a block, and return their output; None if one of them is not run."""
    said: str | None = ""
    for text in commands(block):
        listed = text in ELSEWHERE or "runs/official-" in text
        assert listed or check(text), f"{page.name}: nothing is known of {text!r}"
        if listed or not text.startswith("langgraph-reflexion"):
            said = None
            continue
        status, out, err = reader.command(text + FEW if LONG.match(text) else text)
        assert status == FAILS.get(text, 0), f"{page.name}: {text}\n{out}\n{err}"
        said = None if said is None else said + out
    return said


def named(page: Page, block: Block) -> str:
    """The name of a Python block in the lists: its page and first line."""
    return f"{page.name}: {block.text.splitlines()[0]}"


def test_the_lists_name_existing_blocks() -> None:
    blocks = [(page, block) for page in PAGES for block in page.blocks]
    shown = {text for _, block in blocks if block.language == "bash" for text in commands(block)}
    shown |= {named(page, block) for page, block in blocks if block.language == "python"}
    for listed in (ELSEWHERE, FAILS):
        assert set(listed) <= shown, f"no page shows {sorted(set(listed) - shown)}"
    assert set(PREPARED) | set(PACKAGES) | set(APART) | SANDBOXED <= {page.name for page in PAGES}


def test_pages_can_be_followed_in_one_folder() -> None:
    made: dict[str, dict[str, str]] = {}
    for page in PAGES:
        for block in page.blocks:
            if block.title not in ("", EXCERPT):
                made.setdefault(block.title, {})[block.text] = page.name
            for text in commands(block) if block.language == "bash" else ():
                if run := re.search(r"langgraph-reflexion run .*--out (\S+)", text):
                    made.setdefault(run[1], {})[text] = page.name
                elif experiment := re.match(r"langgraph-reflexion experiment (\w+)\.toml$", text):
                    made.setdefault(f"runs/{experiment[1]}", {})[text] = page.name
    assert {what: [*ways.values()] for what, ways in made.items() if len(ways) > 1} == {}


def test_every_code_block_is_fenced_with_a_language() -> None:
    for page in PAGES:
        assert page.indented == [], f"{page.name}: indented code is not run: use a fence"
        assert all(block.language for block in page.blocks), f"{page.name}: a fence without a language is not run"


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
