"""Small tasks with checks by code: SQL, regular expressions, JSON, forms and units.

`tuning.jsonl` is for trying prompts. `untouched.jsonl` is played once, after the prompts are settled: `UNTOUCHED` is
the digest that it had before any prompt was tried on these tasks. How hard the tasks of both halves are was settled
by plays of the tuning half alone.
"""

from pathlib import Path

FOLDER = Path(__file__).parent

TUNING_FILE = FOLDER / "tuning.jsonl"
UNTOUCHED_FILE = FOLDER / "untouched.jsonl"

UNTOUCHED = "6f899d130f35dab16fdc01fdfecb69df87a9da86e37e23f41189497fd80f8202"
"""The SHA-256 of `untouched.jsonl`."""
