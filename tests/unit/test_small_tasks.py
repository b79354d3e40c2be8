"""The small tasks: each check accepts the right answer, and names one failing case of a wrong one."""

import hashlib
import json
import re
from collections import Counter
from typing import Any

import pytest

from tests.support.small_tasks import TUNING_FILE, UNTOUCHED, UNTOUCHED_FILE
from tests.support.small_tasks.checks import check

TUNING, UNTOUCHED_ROWS = (
    [json.loads(line) for line in file.read_text().splitlines()] for file in (TUNING_FILE, UNTOUCHED_FILE)
)
ROWS = [*TUNING, *UNTOUCHED_ROWS]


def right_reply(reference: dict[str, Any]) -> str:
    """Return a right reply to a task."""
    return f"Answer: {reference['right']}" if reference["kind"] == "number" else reference["right"]


def wrong_replies(reference: dict[str, Any]) -> list[str]:
    """Return wrong replies to a task that are close to the right one."""
    right = reference["right"]
    match reference["kind"]:
        case "sql":
            return [f"SELECT * FROM ({right}) LIMIT 0", f"SELECT *, 1 FROM ({right})"]
        case "regex":
            return [r"[\s\S]*", r"[^\s\S]", f"r'{right}'"]
        case "json":
            fields = json.loads(right)
            names = list(fields)
            left_out = {name: value for name, value in fields.items() if name != names[0]}
            return [json.dumps(fields | {names[-1]: "wrong"}), json.dumps(left_out), json.dumps(fields | {"more": 1})]
        case "form":
            return reference["wrong"]
        case _:
            return [f"Answer: {float(right) * 1.1}", f"Answer: {float(right) * 0.9}", "Answer: unknown"]


def refused(reply: str, reference: dict[str, Any]) -> str:
    """Return the words about a wrong reply, after looking at their form and that they do not give the answer away."""
    solved, words = check(reply, reference)
    assert not solved
    wanted, _ = words.split(" / got: ", 1)
    assert wanted.startswith("wanted: ")
    assert not re.search(rf"(?<![\w.]){re.escape(reference['right'])}(?![\w.])", wanted)
    return words


def parameter(row: dict[str, Any]) -> Any:
    """Return a task as a parameter; a check of a regex starts a process for each of its replies."""
    if row["answer"]["kind"] == "regex":
        return pytest.param(row, id=row["id"], marks=pytest.mark.slow)
    return pytest.param(row, id=row["id"])


@pytest.mark.parametrize("row", [parameter(row) for row in ROWS])
def test_the_right_answer_is_accepted_and_another_is_not(row: dict[str, Any]) -> None:
    assert check(right_reply(row["answer"]), row["answer"]) == (True, "")

    wrong = wrong_replies(row["answer"])
    assert len(wrong) >= 2
    for reply in ["something else", *wrong]:
        refused(reply, row["answer"])


def test_the_untouched_half_is_the_one_before_any_prompt_was_tried() -> None:
    assert hashlib.sha256(UNTOUCHED_FILE.read_bytes()).hexdigest() == UNTOUCHED


def test_there_are_132_tasks_of_which_none_occurs_twice_and_the_halves_have_as_many_of_each_kind() -> None:
    assert len(ROWS) >= 132
    assert len({row["id"] for row in ROWS}) == len(ROWS)
    assert len({row["task"] for row in ROWS}) == len(ROWS)
    assert kinds_of(TUNING) == kinds_of(UNTOUCHED_ROWS)


def kinds_of(rows: list[dict[str, Any]]) -> Counter[str]:
    """Count the tasks of each kind."""
    return Counter(row["answer"]["kind"] for row in rows)


NAMES = {"kind": "sql", "database": "shop", "ordered": True, "right": "SELECT name FROM customers ORDER BY name"}
CITIES = {"kind": "sql", "database": "shop", "ordered": False, "right": "SELECT DISTINCT city FROM customers"}
DIGITS = {"kind": "regex", "yes": ["12"], "no": ["x"], "right": r"\d\d"}
PERSON = {
    "kind": "json",
    "fields": {"name": "the first name", "age": "the age in years", "pets": "the pets in order", "tel": "or null"},
    "right": '{"name": "Ida", "age": 41, "pets": [{"kind": "cat", "old": true}], "tel": null}',
}
LENGTH = {"kind": "number", "unit": "metres", "right": "7.5"}


@pytest.mark.parametrize(
    ("reference", "reply", "words"),
    [
        (
            NAMES,
            "SELECT name, city FROM customers",
            "1 column in each row / got: 2 columns, such as ('Dora', 'Kiel')",
        ),
        (NAMES, "SELECT names FROM customers", "a query that SQLite runs / got: the error: no such column: names"),
        (
            NAMES,
            "SELECT name FROM customers ORDER BY name DESC",
            "('Ada',) as row 1, by the order asked for / got: ('Kai',)",
        ),
        (
            CITIES,
            "SELECT city FROM customers UNION SELECT 'Rome'",
            "no row ('Rome',) with the test data / got: 5 rows with it",
        ),
        (CITIES, "SELECT city FROM customers", "the row ('Bonn',) 1 time with the test data / got: 4 times"),
        (DIGITS, "r'\\d\\d'", "the expression alone, without quotes / got: r'\\d\\d'"),
        (DIGITS, '"\\d\\d"', 'the expression alone, without quotes / got: "\\d\\d"'),
        (
            DIGITS,
            "re.compile(r'\\d\\d')",
            "the expression alone, without code around it / got: re.compile(r'\\d\\d')",
        ),
        (DIGITS, "/^\\d\\d$/", "the expression alone, without slashes around it / got: /^\\d\\d$/"),
        (DIGITS, "\\d\\d\nTwo digits.", "the expression alone, on one line / got: 2 lines, the first '\\\\d\\\\d'"),
        (DIGITS, "Use `\\d\\d`.", "the expression alone, without other words / got: Use `\\d\\d`."),
        (DIGITS, "\\d", "a match for '12' / got: no match"),
        (DIGITS, ".+", "no match for 'x' / got: a match"),
        (PERSON, "[1]", "one JSON object / got: a list instead: [1]"),
        (PERSON, '{"name": "Ida"}', "a field 'age' / got: the fields name"),
        (PERSON, '{"name": "Bo"}', 'name: the first name / got: "Bo"'),
        (PERSON, '{"name": "Ida", "age": "41"}', 'age is a number (age: the age in years) / got: a text: "41"'),
        (
            PERSON,
            '{"name": "Ida", "age": 41, "pets": [{"kind": "cat", "old": 1}]}',
            "pets[0].old is true or false (pets: the pets in order) / got: a number: 1",
        ),
        (
            PERSON,
            '{"name": "Ida", "age": 41, "pets": [{"kind": "dog", "old": true}]}',
            'pets: the pets in order / got: pets[0].kind is "dog"',
        ),
        (
            PERSON,
            '{"name": "Ida", "age": 41, "pets": [{"kind": "cat", "old": true}], "tel": "none"}',
            'tel: or null / got: "none"',
        ),
        (LENGTH, "7.5", "a last line 'Answer: NUMBER' / got: no such line, but at the end '7.5'"),
        (
            LENGTH,
            "Answer: 7 m 50 cm",
            "one number in the last line 'Answer: NUMBER' (metres) / got: 2 in 'Answer: 7 m 50 cm'",
        ),
        (LENGTH, "Answer: 7.5\nAnswer: 8", "a smaller number (metres) / got: 'Answer: 8'"),
        (LENGTH, "Answer: -750 cm", "a larger number (metres) / got: 'Answer: -750 cm'"),
    ],
)
def test_the_words_about_a_wrong_answer(reference: dict[str, Any], reply: str, words: str) -> None:
    assert check(reply, reference) == (False, f"wanted: {words}")


@pytest.mark.parametrize(
    "reply",
    [
        "Answer: 1500",
        "Answer: 1500 \\text{m}^{2}",
        "1. I take 3 x 500.\n2. Answer: 1500.",
        "3 x 500 = 1500\n\n**Answer:** 1,500 m^2",
        "Answer: 3\nI missed something.\nFinal answer: 1500.0 square metres.",
        "```\n3 x 500\n```\nAnswer: \\(1500\\)",
    ],
)
def test_a_number_is_read_from_the_last_line_for_it(reply: str) -> None:
    assert check(reply, {"kind": "number", "unit": "square metres", "right": "1500"}) == (True, "")


@pytest.mark.parametrize(
    ("rules", "reply", "words"),
    [
        ([["lines", 1]], "a\nb", "1 line / got: 2 lines"),
        ([["upper"]], "A b", "capital letters only / got: 'b'"),
        ([["lower"]], "a B", "lower-case letters only / got: 'B'"),
        ([["words", 2, 2]], "one - word less", "2 words / got: 3 words"),
        ([["words", 2, 3]], "one", "2 to 3 words / got: 1 word"),
        ([["line_words", 1, 2]], "a b\na b c", "1 to 2 words in line 2 / got: 3 words: 'a b c'"),
        ([["without", "z"]], "a Zoo", "no 'z' in any word / got: 'Zoo'"),
        ([["contains", "cat"]], "a catalogue", "the word 'cat' / got: a text without it: 'a catalogue'"),
        ([["begins", "In "]], "Into the wild", "'In ' at the beginning / got: 'Into the wild'"),
        ([["ends", "?"]], "Why not.", "'?' at the end / got: 'Why not.'"),
        ([["lines_begin", "- "]], "- a\n* b", "'- ' at the beginning of line 2 / got: '* b'"),
        ([["lines_end", "."]], "a.\nb", "'.' at the end of line 2 / got: 'b'"),
        ([["lines_match", r"NUMBER\) \w+", "'NUMBER) word'"]], "1) a\n3) b", "line 2 as '2) word' / got: '3) b'"),
        ([["different_lines"]], "a\nb\na", "different lines / got: 'a' more than once"),
        ([["ascending_lines"]], "a\nC\nb", "alphabetical order / got: 'C' before 'b'"),
        ([["no_punctuation"]], "a, b", "no punctuation / got: ','"),
        ([["characters", 2, 3]], "abcd", "2 to 3 characters / got: 4 characters"),
        ([["count", ",", "comma", 1]], "a, b, c", "1 comma / got: 2 commas"),
        ([["parts", ";", 2]], "a;b;c", "2 parts with ';' between them / got: 3 parts"),
        ([["parts", ";", 2]], "a; b", "';' between the parts and no other spaces or marks / got: a part ' b'"),
        ([["parts", ";", 2]], "a;a", "different parts / got: 'a' more than once"),
        ([["parts_ascending", "-"]], "b-a", "alphabetical order / got: 'b' before 'a'"),
        ([["initials", "SUN"]], "So\nNo\nUp", "lines that begin with S, U, N / got: lines that begin with S, N, U"),
    ],
)
def test_the_words_about_a_wrong_form(rules: list[Any], reply: str, words: str) -> None:
    assert check(reply, {"kind": "form", "rules": rules, "right": "-"}) == (False, f"wanted: {words}")


def test_of_a_query_that_misses_a_row_the_row_is_named() -> None:
    row = {"kind": "sql", "database": "shop", "ordered": False, "right": "SELECT name FROM customers"}
    solved, words = check("```sql\nSELECT name FROM customers WHERE city <> 'Jena'\n```", row)
    assert not solved
    assert words == "wanted: a row ('Kai',) with the test data / got: 8 rows without it"


@pytest.mark.slow
def test_an_expression_that_never_ends_is_stopped() -> None:
    row = {"kind": "regex", "yes": ["a" * 60 + "b"], "no": ["a" * 60 + "!"], "right": "a*b"}
    solved, words = check("(a+)+b", row)
    assert not solved
    assert words == "wanted: an expression that is done within seconds / got: one that is not"
