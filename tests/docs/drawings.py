"""The drawings: `python -m tests.docs.drawings` draws every `docs/drawings/*.mmd` in headless Chromium.

Mermaid comes from npm. The site shows the pictures, so that its pages load no script.
"""

import hashlib
import re
import shutil
import subprocess
import tempfile
from itertools import pairwise
from pathlib import Path

from tests.docs.pages import DOCS

DRAWINGS = DOCS / "drawings"
MERMAID = "mermaid@11"
"""What draws, as npm knows it."""


def edges(drawing: str) -> set[tuple[str, str]]:
    """The arrows of a flow chart, by the names of what they join."""
    found = set()
    for line in drawing.splitlines():
        ends = re.split(r"\s*(?:-->(?:\|[^|]*\|)?|-\.->(?:\|[^|]*\|)?|-\. [^.]+ \.->|==>)\s*", line.strip())
        names = [re.match(r"\w+", end) for end in ends]
        if len(ends) > 1:
            plain = [name[0].lower().strip("_") for name in names if name]
            found |= set(pairwise(plain))
    return found


def digest(source: str) -> str:
    """What a picture says of the source that it was drawn from."""
    return f"<!-- drawn from {hashlib.sha256(source.encode()).hexdigest()[:16]} -->"


def draw(sources: dict[Path, str]) -> None:
    """Draw pictures beside their sources."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "install", "--silent", "--prefix", folder, MERMAID], check=True)
        script = Path(folder, "node_modules", "mermaid", "dist", "mermaid.min.js").read_text(encoding="utf-8")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            page = browser.new_page()
            page.set_content("<html><body></body></html>")
            page.add_script_tag(content=script)
            page.evaluate(
                "mermaid.initialize({startOnLoad: false, theme: 'neutral', fontFamily: 'sans-serif',"
                " htmlLabels: false, flowchart: {htmlLabels: false, useMaxWidth: false},"
                " sequence: {mirrorActors: false, wrap: true, width: 130, actorMargin: 15, messageFontSize: 15}})"
            )
            for file, source in sources.items():
                name = f"drawing-{file.stem}"
                svg = page.evaluate(
                    "([name, source]) => mermaid.render(name, source).then(r => r.svg)", [name, source]
                )
                # Without a ground of its own it could not be read on the dark pages of the site.
                svg = re.sub(r' style="[^"]*"', "", svg, count=1) if " style=" in svg.partition(">")[0] else svg
                svg = svg.replace("<svg ", '<svg style="background: white" ', 1)
                file.with_suffix(".svg").write_text(f"{svg}\n{digest(source)}\n", encoding="utf-8")
            browser.close()


if __name__ == "__main__":
    draw({file: file.read_text(encoding="utf-8") for file in sorted(DRAWINGS.glob("*.mmd"))})
