"""Small tasks with checks by code: SQL, regular expressions, JSON, forms and units.

`tuning.jsonl` is for trying prompts. `untouched.jsonl` is played once, after the prompts are settled: `UNTOUCHED` is
the digest that it had before any prompt was tried on these tasks.
"""

from pathlib import Path

FOLDER = Path(__file__).parent

TUNING_FILE = FOLDER / "tuning.jsonl"
UNTOUCHED_FILE = FOLDER / "untouched.jsonl"

UNTOUCHED = "f605455f3e087619a3035447f084eb3fde6719994f38c79f6fb1a2ea4e46cb27"
"""The SHA-256 of `untouched.jsonl`."""
