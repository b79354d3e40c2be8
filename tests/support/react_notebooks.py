"""The recorded episodes in the notebooks of ReAct's repository (github.com/ysymyth/ReAct)."""

import ast
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_STEP = re.compile(
    r"^Thought (?P<number>\d+): (?P<thought>.*?)\nAction (?P=number):\s*(?P<action>.*?)\n"
    r"Observation (?P=number): (?P<seen>.*?)\s*(?=\nohh\.\.\.|\nThought \d+: |\n\{'steps'|\Z)",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Step:
    """A step: what the model wrote, and what it saw."""

    thought: str
    action: str
    seen: str


@dataclass(frozen=True)
class Episode:
    """An episode of FEVER.ipynb, with what the notebook says of its end (`gt_answer`, `em`, ...)."""

    line: int
    claim: str
    steps: tuple[Step, ...]
    end: dict[str, Any]


def printed(notebook: Path) -> list[str]:
    """Return what each cell printed."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return ["".join("".join(each.get("text", ())) for each in cell.get("outputs", ())) for cell in cells]


def fever_episodes(notebook: Path) -> list[Episode]:
    """Return the episodes of FEVER.ipynb."""
    episodes = []
    for part in "".join(printed(notebook)).split("\n-----------\n"):
        if opening := re.search(r"^(\d+) Claim: (.*)\n", part, re.MULTILINE):
            steps = tuple(Step(*each.group("thought", "action", "seen")) for each in _STEP.finditer(part))
            end = re.search(r"^\{'steps'.*\}", part, re.MULTILINE)
            assert end is not None
            episodes.append(Episode(int(opening[1]), opening[2].strip(), steps, ast.literal_eval(end[0])))
    return episodes


def webshop_replies(notebook: Path) -> list[str]:
    """Return the replies of the runs with thoughts in WebShop.ipynb, one line each."""
    runs = [text for text in printed(notebook) if "Action: think[" in text]
    return [reply for text in runs for reply in re.findall(r"^Action: ?(.*)\nObservation:", text, re.MULTILINE)]
