"""Programs of `cheats.toml` that want to pass without knowing the answers, each with an honest twin."""

import tomllib
from pathlib import Path

RIGHT = "return max(numbers) - min(numbers) if numbers else 0"
RUST_RIGHT = "numbers.iter().max().copied().unwrap_or(0) - numbers.iter().min().copied().unwrap_or(0)"

_TABLES = tomllib.loads(Path(__file__).with_name("cheats.toml").read_text(encoding="utf-8"))


def _pairs(table, right):
    found = _TABLES[table].items()
    return {name: (pair["cheat"], pair["honest"].replace("RIGHT", right)) for name, pair in found}


KNOWN, FURTHER, RUST = _pairs("known", RIGHT), _pairs("further", RIGHT), _pairs("rust", RUST_RIGHT)
