"""How densely the package is written, and how its folders hang together: a report, which fails nothing.

`python -m tests.support.density` prints it. All figures are read off the files, without importing them:

* **Lines** are those with something on them. **Tokens** are names, numbers, strings and operators, as `tokenize` sees
  them: a docstring is one token; comments, line ends and indentation are none.
* **Conditional expressions** (`a if b else c`), **comprehensions** (of lists, sets, dicts, and generators) and
  **starred unpackings** (`*rest`; not `**options`) are given for 1,000 lines.
* **Comments**: the share of comments in all lines, blank ones included. One behind code counts, too.
* **A room** is a top-level folder or module of the package. An **arrow** leads from a room to another one that it
  imports, anywhere in a file and for whatever purpose; however many files do so, it is one arrow.
* **Floors**: a room stands one floor above the highest room that it imports. Rooms that import each other in a circle
  share a floor, and the arrows of the circle are those that run back up.
* **Complex functions** are above 10 by McCabe's count (ruff's `C901`), those with a `noqa` left out.
"""

import ast
import io
import json
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from tests.test_architecture import FOLDERS, MODULES, ROOT, TOP, ours

PLACES = ("graph", "nodes", "state", "loop", "agents", "actors", "evaluators", "memory", "models")
"""The rooms of the agent, each of which is reported; those that do not exist are left out."""

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

LAYOUT = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
)
"""What `tokenize` reports besides tokens that say something."""

Arrows = Mapping[str, set[str]]
"""The rooms that each room imports."""


@dataclass
class Density:
    """Counts of some source files."""

    all_lines: int = 0
    lines: int = 0
    tokens: int = 0
    comments: int = 0
    conditionals: int = 0
    comprehensions: int = 0
    starred: int = 0

    def add(self, source: str) -> None:
        """Count one more file."""
        for line in source.splitlines():
            self.all_lines += 1
            if line.strip():
                self.lines += 1
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                self.comments += 1
            if token.type not in LAYOUT:
                self.tokens += 1
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.IfExp):
                self.conditionals += 1
            elif isinstance(node, COMPREHENSIONS):
                self.comprehensions += 1
            elif isinstance(node, ast.Starred):
                self.starred += 1

    def row(self, name: str) -> list[str]:
        """Return the cells of the report's first table."""
        thousands = self.lines / 1000
        return [
            name,
            f"{self.lines:,}",
            f"{self.tokens:,}",
            f"{self.tokens / self.lines:.1f}",
            f"{self.conditionals / thousands:.0f}",
            f"{self.comprehensions / thousands:.0f}",
            f"{self.starred / thousands:.0f}",
            f"{self.comments / self.all_lines:.1%}",
        ]


HEADINGS = ["", "lines", "tokens", "tokens/line", "conditionals", "comprehensions", "starred", "comments"]


def room_of(module: str) -> str:
    """Return the top-level folder or module of the package that a module is in."""
    return module.partition(".")[0]


def measured(chosen: Callable[[str], bool]) -> Density:
    """Return the counts of the package's modules that are chosen by their names."""
    total = Counter[str]()
    for module in MODULES:
        if chosen(module):
            total.update(asdict(counts_of(module)))
    return Density(**total)


@cache
def counts_of(module: str) -> Density:
    """Return the counts of one module, which is read once for all rows of the report."""
    density = Density()
    density.add(MODULES[module].read_text(encoding="utf-8"))
    return density


def arrows_between_rooms() -> Arrows:
    """Return the rooms that each room imports. The package itself, which only hands names on, is none."""
    arrows: dict[str, set[str]] = {}
    for module in MODULES:
        if not module:
            continue
        here = room_of(module)
        imported = {room_of(other) for other in ours(module)}
        arrows.setdefault(here, set()).update(imported - {here})
    return arrows


def reachable(start: str, arrows: Arrows) -> set[str]:
    """Return the rooms to which some way leads from a room."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        for room in arrows[waiting.pop()] - found:
            found.add(room)
            waiting.append(room)
    return found


def arrows_up(arrows: Arrows) -> list[tuple[str, str]]:
    """Return the arrows that are part of a circle."""
    below = {room: reachable(room, arrows) for room in arrows}
    return [(room, other) for room in arrows for other in sorted(arrows[room]) if room in below[other]]


def floors(arrows: Arrows) -> dict[str, int]:
    """Return the floor of each room; the ground is 1."""
    up = set(arrows_up(arrows))
    floor = dict.fromkeys(arrows, 1)
    # A way through all rooms has no more arrows than there are rooms: then nothing rises any more.
    for _ in arrows:
        for room, others in arrows.items():
            for other in others:
                rise = 0 if (room, other) in up else 1
                floor[room] = max(floor[room], floor[other] + rise)
    return floor


def entries() -> list[str]:
    """Return what lies in the package's folder in `src/`; the links there are no entries."""
    names = [path.name for path in FOLDERS[""].iterdir()]
    return sorted(name for name in names if name not in TOP and name != "__pycache__")


def complex_functions() -> list[str]:
    """Return the functions above complexity 10: where they are, and what ruff says."""
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select=C901", "--exit-zero", "--no-cache"]
    folders = [str(folder) for folder in FOLDERS.values()]
    done = subprocess.run(
        [*command, "--output-format=json", *folders], capture_output=True, text=True, encoding="utf-8", check=True
    )
    # A set, as ruff may see some files twice, the second time through the links in src/.
    lines = set()
    for found in json.loads(done.stdout):
        path = Path(found["filename"]).resolve().relative_to(ROOT)
        lines.add(f"{path}:{found['location']['row']}: {found['message']}")
    return sorted(lines)


def table(rows: Iterable[list[str]]) -> str:
    """Return rows of cells as lines, the first column to the left and the others to the right."""
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *others in rows:
        cells = [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        lines.append("  ".join([first.ljust(widths[0]), *cells]))
    return "\n".join(lines)


def report() -> str:
    """Return the whole report."""
    rows = [HEADINGS]
    for place in PLACES:
        density = measured(lambda module, place=place: room_of(module) == place)
        if density.lines:
            rows.append(density.row(place))
    rows.append(measured(lambda module: room_of(module) in PLACES).row("these together"))
    rows.append(measured(lambda module: True).row("the package"))

    arrows = arrows_between_rooms()
    up = arrows_up(arrows)
    structure = [
        ["entries of src/langgraph_reflexion/", f"{len(entries())}"],
        ["rooms", f"{len(arrows)}"],
        ["floors", f"{max(floors(arrows).values())}"],
        ["arrows between rooms", f"{sum(map(len, arrows.values()))}"],
        ["arrows that run back up", f"{len(up)}"],
    ]
    complicated = complex_functions()
    structure.append(["functions above complexity 10", f"{len(complicated)}"])
    details = [f"{room} -> {other} runs back up" for room, other in up] + complicated
    return "\n\n".join([table(rows), table(structure), "\n".join(details)]).rstrip()


if __name__ == "__main__":
    print(report())
