"""Small tasks with checks by code: SQL, regular expressions, JSON, forms and units.

`tuning.jsonl` is for trying prompts. `untouched.jsonl` is played once, after the prompts are settled: `UNTOUCHED` is
the digest that it had before any prompt was tried on these tasks.
"""

from pathlib import Path

FOLDER = Path(__file__).parent

TUNING_FILE = FOLDER / "tuning.jsonl"
UNTOUCHED_FILE = FOLDER / "untouched.jsonl"

UNTOUCHED = "fe480def832679e8fb64be06a119d61b4fcd9a0643e31db351bab4d56525af95"
"""The SHA-256 of `untouched.jsonl`."""
