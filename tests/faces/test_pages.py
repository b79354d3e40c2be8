"""The pages: code runs with the output shown, links resolve, names exist, generated parts are up to date."""

import importlib
import json
import re
import tomllib
from urllib.parse import urlsplit

import pytest

import langgraph_reflexion
from langgraph_reflexion import create_reflexion, load_environment
from langgraph_reflexion.state import Strategy
from langgraph_reflexion.testing import ScriptedChatModel
from tests.docs import llms
from tests.docs.command_lines import CHECKS, check
from tests.docs.generated import REGION, regenerated, writers
from tests.docs.lists import APART, ELSEWHERE, FAILS, PACKAGES, PREPARED, SANDBOXED, shortened
from tests.docs.pages import BY_NAME, DOCS, PAGES, ROOT, Page, commands
from tests.docs.running import EXCERPT, Reader, check_output
from tests.support.model_server import ModelServer
from tests.support.scripts import SmallModel
from tests.support.tools import need
from tests.support.toys import Counter

DATA = {"toml": tomllib.loads, "json": json.loads}


@pytest.fixture
def reader(tmp_path, monkeypatch):
    with ModelServer(SmallModel()) as server:
        reader = Reader(tmp_path / "reader", server, monkeypatch)
        yield reader
        reader.leave()


def shown(page):
    """The README is followed in the default run."""
    return pytest.param(page, id=page.name, marks=[] if page.name == "README.md" else [pytest.mark.long])


# langgraph-supervisor imports names that LangGraph has moved.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:create_react_agent has been moved")
@pytest.mark.parametrize("page", [shown(page) for page in PAGES if page.blocks])
def test_page_code_runs(page, reader):
    if page.name in SANDBOXED:
        need("bubblewrap")
    if package := PACKAGES.get(page.name):
        pytest.importorskip(package)
    PREPARED.get(page.name, lambda home: None)(reader.home)
    follow(page, reader)


def follow(page, reader):
    """Do what a page shows, block by block."""
    said = None
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
            case language:
                DATA.get(language, lambda text: None)(block.text)
                assert block.title or language in DATA, f"{where}: nothing is known of ```{language}"
                if block.title:
                    reader.write(block)


def done(page, block, reader):
    """Run the commands of a block, and return their output; None if one of them is not run."""
    said = ""
    for text in commands(block):
        listed = text in ELSEWHERE or "runs/official-" in text
        assert listed or check(text), f"{page.name}: nothing is known of {text!r}"
        if listed or not text.startswith("langgraph-reflexion"):
            said = None
            continue
        status, out, err = reader.command(shortened(text), apart=page.name in APART)
        assert status == FAILS.get(text, 0), f"{page.name}: {text}\n{out}\n{err}"
        said = None if said is None else said + out
    return said


def named(page, block):
    """The name of a Python block in the lists: its page and first line."""
    return f"{page.name}: {block.text.splitlines()[0]}"


def test_the_lists_name_existing_blocks():
    blocks = [(page, block) for page in PAGES for block in page.blocks]
    shown = {text for _, block in blocks if block.language == "bash" for text in commands(block)}
    shown |= {named(page, block) for page, block in blocks if block.language == "python"}
    for listed in (ELSEWHERE, FAILS):
        assert set(listed) <= shown, f"no page shows {sorted(set(listed) - shown)}"
    assert set(PREPARED) | set(PACKAGES) | set(APART) | SANDBOXED <= {page.name for page in PAGES}


def test_pages_can_be_followed_in_one_folder():
    made = {}
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


def test_every_code_block_is_fenced_with_a_language():
    for page in PAGES:
        assert page.indented == [], f"{page.name}: indented code is not run: use a fence"
        assert all(block.language for block in page.blocks), f"{page.name}: a fence without a language is not run"


PATH = re.compile(r"(?:src|docs|envs|graph|nodes|prompts|tests|notebooks)/[\w./-]+")
"""How a sentence names a file of the repository."""

OBJECT = re.compile(r"\b(langgraph_reflexion(?:\.\w+)*):(\w+)")
"""How a command names a class or a graph of the package."""


@pytest.mark.slow
def test_no_space_stands_before_a_percent_sign():
    files = sorted((ROOT / "notebooks").glob("*.ipynb"))
    notebooks = [(file.name, file.read_text(encoding="utf-8")) for file in files]
    texts = [*((page.name, page.text) for page in PAGES), *notebooks]
    assert len(notebooks) > 4
    spaced = [f"{name}: {found}" for name, text in texts for found in re.findall(r".*\d[ \u00a0\u202f]%", text)]
    assert spaced == []


@pytest.mark.slow
def test_links_resolve():
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


def test_named_files_exist():
    named = {(page.name, name) for page in PAGES for code in page.inline_code for name in PATH.findall(code)}
    files = [(page, name) for page, name in sorted(named) if "..." not in name]
    assert [(page, name) for page, name in files if not list(ROOT.glob(name.rstrip("/.")))] == []


def test_named_objects_exist():
    """Commands that nothing runs here name them as well."""
    named = {(page.name, *found) for page in PAGES for found in OBJECT.findall(page.text)}
    assert named
    missing = [found for found in sorted(named) if not hasattr(importlib.import_module(found[1]), found[2])]
    assert missing == []


def test_commands_in_sentences_are_valid():
    for page in PAGES:
        for code in page.inline_code:
            if code.startswith((*CHECKS,)) and "..." not in code:
                assert check(code), f"{page.name}: {code}"


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if REGION.search(page.text)], ids=lambda page: page.name)
def test_generated_part_is_up_to_date(page):
    assert regenerated(page.text) == page.text, "rewrite it: python -m tests.docs.generated"


def test_llms_txt_is_up_to_date():
    assert llms.llms_txt() == llms.FILE.read_text(encoding="utf-8"), "rewrite it: python -m tests.docs.generated"


def test_llms_txt_names_every_page_of_the_site():
    pages = {page.path.relative_to(DOCS).as_posix() for page in PAGES if page.path.is_relative_to(DOCS)}
    addresses = re.findall(r"^- \[.+?\]\((\S+)\): .", llms.FILE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(addresses) == sorted(llms.address(page) for page in pages)


def test_every_generated_part_is_on_a_page():
    assert {name for page in PAGES for _, name, _ in REGION.findall(page.text)} == set(writers())


def test_reference_lists_every_public_name():
    in_full = {name for page in PAGES for name in page.docstrings}
    in_short = {link.rpartition("#")[2] for link in BY_NAME["docs/reference/python.md"].links}
    assert set(langgraph_reflexion.__all__) <= {name.rpartition(".")[2] for name in in_full}
    assert in_full == in_short


def test_tokens_in_the_traced_tree_are_those_of_the_run():
    environment = load_environment("hotpotqa")
    final = create_reflexion("demo", environment, max_trials=2).compile().invoke({"task": environment.tasks()[1]})
    first, second = (trial["usage"] for trial in final["trials"])
    spent = [each["input_tokens"] + each["output_tokens"] for each in (first["act"], first["reflect"], second["act"])]
    [tree] = (block.text for block in BY_NAME["docs/howto/serve.md"].blocks if block.title == "tree.txt")
    chains = tree.split("\n  chain ")[1:]
    assert [sum(map(int, re.findall(r"(\d+) tokens", chain))) for chain in chains] == spent


def test_graph_diagram_matches_the_compiled_graph():
    """For all strategies together."""
    compiled = set()
    for strategy in Strategy:
        if strategy.continues:
            # Needs a world that goes on, and has the edges of `feedback`.
            continue
        graph = create_reflexion(ScriptedChatModel(replies=[]), Counter(), strategy=strategy).compile().get_graph()
        compiled |= {f"{edge.source.strip('_')}_{edge.target.strip('_')}" for edge in graph.edges}
    drawn = (DOCS / "drawings" / "graph.svg").read_text(encoding="utf-8").lower()
    assert set(re.findall(r'data-id="l_(\w+)_0"', drawn)) == compiled
