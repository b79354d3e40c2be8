"""The drawings: their sources as Mermaid, and how they become pictures.

`python -m tests.docs.drawings` writes the sources that come out of the code, and draws every `docs/drawings/*.mmd`
anew in headless Chromium, with Mermaid from npm. The site shows the pictures, so that its pages load no script.
"""

import hashlib
import re
import shutil
import subprocess
import tempfile
from itertools import pairwise
from pathlib import Path

from tests.docs.pages import DOCS, ROOT
from tests.test_architecture import FOLDERS, MODULES, PACKAGE, ours

DRAWINGS = DOCS / "drawings"
MERMAID = "mermaid@11"
"""What draws, as npm knows it."""

BOXES = {
    "cli": ["cli", "__main__"],
    "adapters": ["adapters"],
    "studio": ["studio"],
    "replication": ["replication"],
    "experiments": ["experiments"],
    "testing": ["testing"],
    "settings": ["settings"],
    "graph": ["graph"],
    "agents": ["agents"],
    "nodes": ["nodes"],
    "evaluators": ["evaluators"],
    "actors": ["actors"],
    "memory": ["memory", "context"],
    "rules": ["profiles", "budgets", "heuristic"],
    "state": ["state"],
    "protocols": ["envs.base", "envs.actions", "envs.pool"],
    "environments": ["envs"],
    "models": ["models"],
    "demo": ["demo"],
    "prompts": ["prompts"],
}
"""What is drawn as one box: modules by how their names begin, the first that fits."""

LABELS = {
    "cli": "cli: the command line",
    "adapters": "adapters: Inspect AI, the sandbox elsewhere",
    "studio": "studio: graphs to serve",
    "replication": "replication: the original's logs",
    "experiments": "experiments: runs, reports",
    "testing": "testing: test doubles",
    "settings": "settings",
    "graph": "graph: how the nodes are connected",
    "agents": "agents: whole agents as actors",
    "nodes": "nodes",
    "evaluators": "evaluators",
    "actors": "actors",
    "memory": "memory, context",
    "rules": "profiles, budgets, heuristic",
    "state": "state",
    "protocols": "envs: protocols and pool",
    "environments": "envs: environments, sandbox",
    "models": "models: chat models",
    "demo": "demo: the demo model",
    "prompts": "prompts",
}


def under(module: str, *prefixes: str) -> bool:
    """Whether a module is one of these, or in one of them."""
    return any(f"{module}.".startswith(f"{prefix}.") for prefix in prefixes)


def box_of(module: str) -> str:
    """The box that a module is drawn in; empty for the public names, the errors and what stands alone."""
    return next((box for box, prefixes in BOXES.items() if under(module, *prefixes)), "")


def allowed_imports() -> dict[str, list[str]]:
    """Which box imports which, read off the files."""
    found: dict[str, set[str]] = {box: set() for box in BOXES}
    for module in MODULES:
        if box_of(module):
            found[box_of(module)].update(map(box_of, ours(module)))
    return {box: sorted(others - {box, ""}) for box, others in found.items()}


def reached(box: str, arrows: dict[str, list[str]]) -> set[str]:
    """What a box imports, and what that imports, and so on."""
    return {box}.union(*(reached(other, arrows) for other in arrows[box]))


def imports_drawing() -> str:
    """The boxes and the directions of imports, without the arrows that follow from others."""
    arrows = allowed_imports()
    lines = ["graph TD", *(f'    {box}_["{LABELS[box]}"]' for box in BOXES)]
    for box, others in arrows.items():
        followed = {other for other in others if any(other in reached(o, arrows) for o in set(others) - {other})}
        # With a line below, as `graph` is a word of Mermaid's.
        lines += [f"    {box}_ --> {other}_" for other in others if other not in followed]
    return "\n".join(lines) + "\n"


def folders_drawing() -> str:
    """The folders of the repository, and the packages in them."""
    lines = ["graph LR", f'    {PACKAGE}_["import {PACKAGE}"]']
    for prefix, folder in FOLDERS.items():
        lines.append(f'    {PACKAGE}_ --> {prefix or "src"}_["{folder.relative_to(ROOT).as_posix()}/"]')
        inner = sorted(path.parent for path in folder.glob("*/__init__.py") if not path.parent.is_symlink())
        lines += [f'    {prefix or "src"}_ --> {prefix or "src"}_{path.name}_["{path.name}/"]' for path in inner]
    return "\n".join(lines) + "\n"


GENERATED = {"imports": imports_drawing, "folders": folders_drawing}
"""The drawings whose sources come out of the code."""


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
    """Draw pictures beside their sources.

    Args:
        sources: The sources by their files.
    """
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
    for name, source_of in GENERATED.items():
        (DRAWINGS / f"{name}.mmd").write_text(source_of(), encoding="utf-8")
    draw({file: file.read_text(encoding="utf-8") for file in sorted(DRAWINGS.glob("*.mmd"))})
