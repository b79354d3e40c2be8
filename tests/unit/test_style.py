"""Phrases that the house style avoids, in code and documentation."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
AVOIDED = {
    "of yours": "your own",
    "gone on with": "resumed",
    "goes on with": "continues",
    "held against": "compared with",
    "for want of": "without",
    "passes the verdict": "gives the verdict",
}
"""The phrases, each with a better one."""
PLACES = (
    "src",
    "graph",
    "nodes",
    "envs",
    "notebooks",
    "docs/index.md",
    "docs/studio.md",
    "docs/notebooks.md",
    "*.md",
)


def test_avoided_phrases() -> None:
    phrase = re.compile(rf"\b({'|'.join(AVOIDED)})\b", re.IGNORECASE)
    places = [each for pattern in PLACES for each in ROOT.glob(pattern)]
    files = [path for place in places for path in ([place] if place.is_file() else place.rglob("*"))]
    found = {}
    for path in (path for path in files if path.suffix in (".py", ".md", ".toml", ".ipynb")):
        if hits := phrase.findall(" ".join(path.read_text(encoding="utf-8").split())):
            found[path.relative_to(ROOT).as_posix()] = [f"{hit}: say {AVOIDED[hit.lower()]!r}" for hit in hits]
    assert found == {}
