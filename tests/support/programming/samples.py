"""A small problem for each language, from `samples.toml`."""

import tomllib
from pathlib import Path

from langgraph_reflexion.envs.programming.problems import Case, Problem

_TABLES = tomllib.loads(Path(__file__).with_name("samples.toml").read_text(encoding="utf-8"))

BROKEN = {language: table.pop("broken") for language, table in _TABLES.items()}
SAMPLES = {
    language: Problem(
        id=f"sample/{language}",
        source="own",
        language=language,
        cases=tuple(Case(*case) for case in table.pop("cases")),
        **table,
    )
    for language, table in _TABLES.items()
}
