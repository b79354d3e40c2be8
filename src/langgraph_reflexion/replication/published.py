"""The papers' numbers, and where paper, code and log disagree: the tables, typed."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

Measure = Literal["solved", "TP", "FN", "FP", "TN"]
"""The share of tasks that are solved; or, as in Table 2 of the NeurIPS version, the share of solutions that are right
(TP) and wrong (FP) where the self-written tests passed, and right (FN) and wrong (TN) where they failed."""

Place = int | Literal["first", "last"]
"""A trial, by its number."""


@dataclass(frozen=True)
class Number:
    """A published number.

    Attributes:
        row: Its row in the table.
        column: Its column.
        published: The number as it is printed.
        unit: `%`, `share` or `tasks`.
        source: Where it is printed.
        run: Which runs it is about: what their settings say.
        measure: What is counted.
        at: After which trial.
        minus: The runs that it is a difference to; None where it is none.
        minus_at: After which of their trials; the same one, or their last if that is earlier, unless given.
    """

    row: str
    column: str
    published: str
    unit: Literal["%", "share", "tasks"]
    source: str
    run: dict[str, str]
    measure: Measure = "solved"
    at: Place = "last"
    minus: dict[str, str] | None = None
    minus_at: Place | None = None

    @property
    def digits(self) -> int:
        """How many decimals it is printed with."""
        return len(self.published.partition(".")[2])


@dataclass(frozen=True)
class PublishedTable:
    """The numbers of a table or figure."""

    title: str
    environment: str
    numbers: list[Number]


class Mismatch(NamedTuple):
    """Where paper, code and log disagree."""

    environment: str
    between: str
    text: str


@cache
def published_tables() -> list[PublishedTable]:
    """The papers' tables and figures, as far as the original's logs are about them."""
    tables = []
    for table in _published()["table"]:
        numbers = [Number(**{"source": table.get("source"), **_about(number, table)}) for number in table["numbers"]]
        tables.append(PublishedTable(table["title"], table["environment"], numbers))
    return tables


@cache
def mismatches() -> list[Mismatch]:
    """Every known mismatch."""
    return [Mismatch(**each) for each in _published()["mismatch"]]


def _about(number: dict[str, Any], table: dict[str, Any]) -> dict[str, Any]:
    """A number whose runs are told apart by the table's environment and model, too."""
    common = {key: table[key] for key in ("environment", "model") if key in table}
    return number | {key: number[key] | common for key in ("run", "minus") if key in number}


@cache
def _published() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("published.toml").read_text(encoding="utf-8"))
