"""The small tasks: each check accepts the right answer, and names one failing case of a wrong one."""

import hashlib
import json

import pytest

from tests.support.small_tasks import TUNING_FILE, UNTOUCHED, UNTOUCHED_FILE
from tests.support.small_tasks.checks import check

ROWS = [json.loads(line) for file in (TUNING_FILE, UNTOUCHED_FILE) for line in file.read_text().splitlines()]


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_the_right_answer_is_accepted_and_another_is_not(row: dict) -> None:
    right = row["answer"]["right"]
    assert check(right, row["answer"]) == (True, "")

    solved, words = check("something else", row["answer"])
    assert not solved
    assert words.startswith("wanted: ")
    assert " / got: " in words
    assert right not in words


def test_the_untouched_half_is_the_one_before_any_prompt_was_tried() -> None:
    assert hashlib.sha256(UNTOUCHED_FILE.read_bytes()).hexdigest() == UNTOUCHED


def test_there_are_120_tasks_and_none_occurs_twice() -> None:
    assert len(ROWS) >= 120
    assert len({row["id"] for row in ROWS}) == len(ROWS)
    assert len({row["task"] for row in ROWS}) == len(ROWS)


def test_of_a_query_that_misses_a_row_the_row_is_named() -> None:
    row = {"kind": "sql", "database": "shop", "ordered": False, "right": "SELECT name FROM customers"}
    solved, words = check("```sql\nSELECT name FROM customers WHERE city <> 'Jena'\n```", row)
    assert not solved
    assert words == "wanted: a row ('Kai',) with the test data / got: 8 rows without it"


def test_an_expression_that_never_ends_is_stopped() -> None:
    row = {"kind": "regex", "yes": ["a" * 60 + "b"], "no": ["a" * 60 + "!"], "right": "a*b"}
    solved, words = check("(a+)+b", row)
    assert not solved
    assert words == "wanted: an expression that is done within seconds / got: one that is not"
