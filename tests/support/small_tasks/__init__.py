"""Small tasks with checks by code: SQL, regular expressions, JSON, forms and units.

`tuning.jsonl` is for trying prompts. `untouched.jsonl` is played once, after the prompts are settled: `UNTOUCHED` is
the digest that it had before any prompt was tried on these tasks.
"""

from pathlib import Path

FOLDER = Path(__file__).parent

TUNING_FILE = FOLDER / "tuning.jsonl"
UNTOUCHED_FILE = FOLDER / "untouched.jsonl"

UNTOUCHED = "7a466c5eb19285140ba94292ca63d57b6fc59838c3acbcf21937cd2dd52f4401"
"""The SHA-256 of `untouched.jsonl`."""
