import functools
import http.server
import os
import re
import shutil
import subprocess
import sys
import threading
from itertools import product
from pathlib import Path

import pytest

import langgraph_reflexion
from tests.docs.pages import DOCS, PAGES, ROOT

ZENSICAL = shutil.which("zensical", path=str(Path(sys.executable).parent))
pytestmark = pytest.mark.skipif(ZENSICAL is None, reason="needs the dependency group docs")

REPOSITORY = "https://github.com/example/langgraph-reflexion"

VISITED = ("", "concepts/", "architecture/", "environments/webshop/", "reference/api/", "reference/command-line/")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    home = tmp_path_factory.mktemp("site")
    shutil.copytree(DOCS, home / "docs")
    shutil.copy(ROOT / "mkdocs.yml", home)
    address = {
        "SITE_REPOSITORY": REPOSITORY,
        "SITE_EDIT": f"{REPOSITORY}/edit/main/docs/",
        "SITE_VERSION": f"Version {langgraph_reflexion.__version__}",
    }
    done = subprocess.run(
        [str(ZENSICAL), "build", "--strict"],
        cwd=home,
        env={**os.environ, **address},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return home / "build" / "site"


@pytest.fixture(scope="module")
def address(site):
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=site)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def html_of(page):
    """The path of a page of `docs/` in the site."""
    path = Path(page).relative_to("docs").with_suffix("")
    return "index.html" if path.name == "index" else f"{path.as_posix()}/index.html"


def read(site, page):
    return (site / html_of(f"docs/{page}")).read_text(encoding="utf-8")


def test_site_and_its_navigation_have_every_page_and_no_other(site):
    listed = re.findall(r"^ *- [^#\n]*: (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    pages = {page.path.relative_to(DOCS).as_posix() for page in PAGES if page.path.is_relative_to(DOCS)}
    assert pages <= set(listed), "a page is not in the nav of mkdocs.yml"
    html = {html_of(f"docs/{page}") for page in pages} | {"404.html"}
    assert {path.relative_to(site).as_posix() for path in site.rglob("*.html")} == html


def test_links_of_llms_txt_lead_from_the_root_of_the_site_to_pages(site):
    links = re.findall(r"^- \[.+?\]\((\S+)\)", (site / "llms.txt").read_text(encoding="utf-8"), re.MULTILINE)
    assert links
    assert [link for link in links if not (site / link / "index.html").is_file()] == []


def test_pages_name_the_version_and_lead_to_the_repository_and_their_source(site):
    html = read(site, "howto/production.md")
    assert f"Version {langgraph_reflexion.__version__}" in html
    assert f'href="{REPOSITORY}"' in html
    assert f'href="{REPOSITORY}/edit/main/docs/howto/production.md"' in html


def test_pages_load_no_external_resources(site):
    loads = re.compile(r'<(?:script|img|iframe|link)\b[^>]*?\b(?:src|href)="((?:https?:)?//[^"]*)"')
    for file in site.rglob("*.html"):
        for tag in loads.finditer(file.read_text(encoding="utf-8")):
            assert 'rel="canonical"' in tag[0] or 'rel="license"' in tag[0], f"{file.name} loads {tag[1]}"


def test_reference_is_built_from_docstrings(site):
    linked = re.findall(r'href="\.\./(\w+)/#(langgraph_reflexion\.[\w.]+)"', read(site, "reference/python.md"))
    assert ("api", "langgraph_reflexion.create_reflexion") in linked
    for page, anchor in set(linked):
        assert f'id="{anchor}"' in read(site, f"reference/{page}.md"), anchor
    text = read(site, "reference/api.md")
    assert "Build the Reflexion agent" in text
    assert ":::" not in text


@pytest.mark.needs("Chromium")
def test_pages_work_offline_fit_the_screen_and_are_searchable(address):
    from playwright.sync_api import sync_playwright

    asked = []
    with sync_playwright() as playwright:
        # Chromium's sandbox does not work as root, nor in most containers; only our own pages are opened.
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        tab = browser.new_page()
        tab.on("request", lambda request: asked.append(request.url))
        tab.on("pageerror", lambda error: asked.append(str(error)))
        for width, page in product((400, 1400), VISITED):
            tab.set_viewport_size({"width": width, "height": 900})
            tab.goto(address + page, wait_until="networkidle")
            assert tab.evaluate("document.documentElement.scrollWidth") <= width, f"{page} is wider than {width}"
            broken = "[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)"
            assert tab.evaluate(broken) == [], page
        tab.goto(address, wait_until="networkidle")
        tab.keyboard.press("Control+k")
        tab.get_by_placeholder("Search").fill("oracle", timeout=20_000)
        tab.get_by_text("self-reflection (M_sr)").wait_for(timeout=20_000)
        browser.close()
    assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []
