"""Checks of the small tasks, as an evaluator for the command line.

    langgraph-reflexion run tests/support/small_tasks/agent.py:agent --tasks tests/support/small_tasks/tuning.jsonl \
        --evaluator tests/support/small_tasks/checks.py:check

A failed check names one failing case as `wanted: ... / got: ...`, and never the answer.
"""

import json
import multiprocessing
import re
import sqlite3
from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import Any

SECONDS = 5.0
"""Longest time that a regular expression may take."""

STEPS = 2_000_000
"""Longest run of an SQL query, in steps of SQLite's machine."""

FENCED = re.compile(r"```\w*[ \t]*\n(?P<inside>.*?)```", re.DOTALL)

Verdict = tuple[bool, str]


class Miss(Exception):
    """What a check wanted, and what it got instead."""

    def __init__(self, wanted: str, got: str) -> None:
        super().__init__(f"wanted: {wanted} / got: {got[:200]}")


def check(result: str, reference: dict[str, Any]) -> Verdict:
    """Check a result.

    Args:
        result: The agent's last words. Of a reply with a block of code, the first block counts.
        reference: The task's column `answer`.
    """
    kinds: dict[str, Callable[[str, dict[str, Any]], None]] = {
        "sql": check_sql,
        "regex": check_regex,
        "json": check_json,
        "form": check_form,
        "number": check_number,
    }
    answer = answer_in(result)
    try:
        if not answer:
            raise Miss("an answer", "an empty text")
        kinds[reference["kind"]](answer, reference)
    except Miss as missed:
        return False, str(missed)
    return True, ""


def answer_in(result: str) -> str:
    """Return the first block of code of a reply, or the whole reply if there is none."""
    fenced = FENCED.search(result)
    if fenced:
        return fenced["inside"].strip()
    bare = result.strip()
    if len(bare) > 1 and bare[0] == bare[-1] == "`":
        return bare.strip("`").strip()
    return bare


# SQL


def check_sql(answer: str, reference: dict[str, Any]) -> None:
    """Run the query and the right one on three databases, and compare their rows."""
    for seed in range(3):
        database = example_database(reference["database"], seed)
        wanted = database.execute(reference["right"]).fetchall()
        left = [STEPS // 1000]

        def count_steps(left: list[int] = left) -> bool:
            left[0] -= 1
            return left[0] < 0

        database.set_progress_handler(count_steps, 1000)
        try:
            got = database.execute(answer).fetchall()
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise Miss("a query that SQLite runs", f"the error: {error}") from None
        finally:
            database.close()
        compare_rows(wanted, got, reference["ordered"])


def compare_rows(wanted: list[tuple[Any, ...]], got: list[tuple[Any, ...]], ordered: bool) -> None:
    """Compare the rows of two queries, whose order counts only if it was asked for."""
    wanted = [rounded(row) for row in wanted]
    got = [rounded(row) for row in got]
    width = len(wanted[0]) if wanted else None
    if got and width is not None and len(got[0]) != width:
        raise Miss(f"{width} columns in each row", f"{len(got[0])} columns, such as {got[0]}")
    missing = [row for row in wanted if wanted.count(row) > got.count(row)]
    extra = [row for row in got if got.count(row) > wanted.count(row)]
    if missing:
        instead = f"no such row, but {extra[0]}" if extra else f"{len(got)} rows without it"
        raise Miss(f"a row {missing[0]} with the test data", instead)
    if extra:
        raise Miss(f"{len(wanted)} rows with the test data, without {extra[0]}", f"{len(got)} rows with it")
    if ordered and wanted != got:
        place = next(index for index, row in enumerate(wanted) if row != got[index])
        raise Miss(f"{wanted[place]} as row {place + 1}, by the order asked for", str(got[place]))


def rounded(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a row with its numbers as floats of four decimals."""
    values = []
    for value in row:
        if isinstance(value, int | float):
            value = round(float(value), 4)
        values.append(value)
    return tuple(values)


def example_database(name: str, seed: int) -> sqlite3.Connection:
    """Return a small database in memory; another seed has other rows."""
    rng = Random(f"{name} {seed}")
    database = sqlite3.connect(":memory:")
    names = rng.sample(["Ada", "Bo", "Cem", "Dora", "Eli", "Fay", "Gus", "Hana", "Ivo", "Jule"], 8)
    days = [f"202{year}-0{month}-{day}" for year in (3, 4) for month in (1, 2, 3) for day in (11, 27)]
    if name == "shop":
        database.execute("CREATE TABLE customers(id INTEGER, name TEXT, city TEXT)")
        database.execute("CREATE TABLE orders(id INTEGER, customer_id INTEGER, day TEXT, amount REAL)")
        cities = ["Bonn", "Kiel", "Ulm"]
        for index, each in enumerate(names):
            database.execute("INSERT INTO customers VALUES (?,?,?)", (index + 1, each, rng.choice(cities)))
        database.execute("INSERT INTO customers VALUES (9, 'Kai', 'Jena')")
        for number in range(1, 25):
            row = (number, rng.randint(1, 7), rng.choice(days), rng.randint(5, 95))
            database.execute("INSERT INTO orders VALUES (?,?,?,?)", row)
        # The highest amount occurs twice, and one customer ordered in each month.
        for number, day in ((25, "2024-01-11"), (26, "2024-02-11")):
            database.execute("INSERT INTO orders VALUES (?, 1, ?, 99)", (number, day))
    elif name == "school":
        database.execute("CREATE TABLE pupils(id INTEGER, name TEXT, class TEXT, born TEXT)")
        database.execute("CREATE TABLE marks(pupil_id INTEGER, subject TEXT, mark INTEGER)")
        for index, each in enumerate(names):
            born = f"20{rng.randint(10, 12)}-{rng.randint(1, 12):02}-{10 + index}"
            database.execute("INSERT INTO pupils VALUES (?,?,?,?)", (index + 1, each, rng.choice("AB"), born))
        for _ in range(14):
            row = (rng.randint(1, 7), rng.choice(["math", "art", "music"]), rng.choice([1, 2, 2, 3, 5, 6]))
            database.execute("INSERT INTO marks VALUES (?,?,?)", row)
        database.execute("INSERT INTO marks VALUES (1, 'art', 1), (1, 'art', 2), (2, 'music', 5), (2, 'music', 1)")
        # One subject has the largest difference alone.
        database.execute("INSERT INTO marks VALUES (8, 'chess', 1), (8, 'chess', 8)")
    else:
        database.execute("CREATE TABLE vans(id INTEGER, plate TEXT, km INTEGER, depot TEXT)")
        database.execute("CREATE TABLE trips(van_id INTEGER, driver TEXT, km INTEGER, day TEXT)")
        for number in range(1, 8):
            row = (number, f"K-{rng.randint(100, 999)}-{number}", 100 * number + rng.randint(0, 99), rng.choice("NS"))
            database.execute("INSERT INTO vans VALUES (?,?,?,?)", row)
        lengths = rng.sample(range(20, 400), 20)
        for length in lengths:
            row = (rng.randint(1, 6), rng.choice(names[:4]), length, rng.choice(days))
            database.execute("INSERT INTO trips VALUES (?,?,?,?)", row)
    database.commit()
    return database


# Regular expressions


def check_regex(answer: str, reference: dict[str, Any]) -> None:
    """Match the texts that must and must not match, in a process that may be stopped."""
    pattern = answer.strip()
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise Miss("an expression that Python compiles", f"the error: {error}") from None
    receiving, sending = multiprocessing.Pipe(duplex=False)
    texts = [*reference["yes"], *reference["no"]]
    process = multiprocessing.get_context("spawn").Process(target=send_matches, args=(sending, pattern, texts))
    process.start()
    sending.close()
    # Starting takes a second of a busy machine.
    answered = receiving.poll(SECONDS + 10)
    matches = receiving.recv() if answered else None
    process.kill()
    process.join()
    if matches is None:
        raise Miss("an expression that is done within seconds", "one that is not")
    for text, matched in zip(texts, matches, strict=True):
        if text in reference["yes"] and not matched:
            raise Miss(f"a match for {text!r}", "no match")
        if text in reference["no"] and matched:
            raise Miss(f"no match for {text!r}", "a match")


def send_matches(sending: Any, pattern: str, texts: list[str]) -> None:
    """Send whether the pattern matches each of the texts."""
    sending.send([re.fullmatch(pattern, text) is not None for text in texts])


# JSON


def check_json(answer: str, reference: dict[str, Any]) -> None:
    """Compare the fields of an object with the right ones; the words name the first that differs, and its rule."""
    try:
        found = json.loads(answer)
    except (ValueError, RecursionError) as error:
        raise Miss("one JSON object", f"the error: {error}") from None
    if not isinstance(found, dict):
        raise Miss("one JSON object", f"JSON of the type {type(found).__name__}")
    right = json.loads(reference["right"])
    for name, rule in reference["fields"].items():
        if name not in found:
            raise Miss(f"a field {name!r}", f"the fields {', '.join(found)}")
        if found[name] != right[name] or type(found[name]) is bool is not type(right[name]):
            raise Miss(f"{name} is {rule}", json.dumps(found[name], ensure_ascii=False))
    extra = [name for name in found if name not in right]
    if extra:
        raise Miss(f"the fields {', '.join(right)} alone", f"a further field {extra[0]!r}")


# Forms


def check_form(answer: str, reference: dict[str, Any]) -> None:
    """Check the rules one after the other."""
    lines = [line.strip() for line in answer.splitlines() if line.strip()]
    for rule, *values in reference["rules"]:
        FORMS[rule](answer.strip(), lines, *values)


def words_in(text: str) -> list[str]:
    """Return the words of a text; marks that stand alone are none."""
    return [word for word in text.split() if re.search(r"\w", word)]


def want_lines(text: str, lines: list[str], count: int) -> None:
    if len(lines) != count:
        raise Miss(f"{count} lines", f"{len(lines)} lines")


def want_upper(text: str, lines: list[str]) -> None:
    if text != text.upper():
        word = next(word for word in text.split() if word != word.upper())
        raise Miss("capital letters only", repr(word))


def want_descending(text: str, lines: list[str]) -> None:
    for before, after in pairwise(lines):
        if before <= after:
            raise Miss("reverse alphabetical order", f"{before!r} before {after!r}")


def want_words(text: str, lines: list[str], count: int) -> None:
    if len(words_in(text)) != count:
        raise Miss(f"{count} words", f"{len(words_in(text))} words")


def want_words_at_least(text: str, lines: list[str], count: int) -> None:
    if len(words_in(text)) < count:
        raise Miss(f"at least {count} words", f"{len(words_in(text))} words")


def want_without(text: str, lines: list[str], unwanted: str) -> None:
    hit = next((word for word in text.split() if unwanted in word.lower()), None)
    if hit:
        raise Miss(f"no {unwanted!r} in any word", repr(hit))


def want_ends(text: str, lines: list[str], ending: str) -> None:
    if not text.endswith(ending):
        raise Miss(f"{ending!r} at the end", repr(text[-10:]))


def want_line_words(text: str, lines: list[str], counts: list[int]) -> None:
    for number, (line, count) in enumerate(zip(lines, counts, strict=True), 1):
        if len(words_in(line)) != count:
            raise Miss(f"{count} words in line {number}", f"{len(words_in(line))} words: {line!r}")


def want_line_words_between(text: str, lines: list[str], least: int, most: int) -> None:
    for number, line in enumerate(lines, 1):
        if not least <= len(words_in(line)) <= most:
            raise Miss(f"{least} to {most} words in line {number}", f"{len(words_in(line))} words: {line!r}")


def want_no_punctuation(text: str, lines: list[str]) -> None:
    mark = re.search(r"[^\w\s]", text)
    if mark:
        raise Miss("no punctuation", repr(mark[0]))


def want_all_begin(text: str, lines: list[str], letter: str) -> None:
    other = next((word for word in words_in(text) if not word.lower().startswith(letter)), None)
    if other:
        raise Miss(f"words that begin with {letter!r}", repr(other))


def want_line_matches(text: str, lines: list[str], number: int, pattern: str) -> None:
    if not re.fullmatch(pattern, lines[number - 1]):
        raise Miss(f"line {number} in the form asked for", repr(lines[number - 1]))


def want_characters(text: str, lines: list[str], least: int, most: int) -> None:
    if not least <= len(text) <= most:
        raise Miss(f"{least} to {most} characters", f"{len(text)} characters")


def want_contains(text: str, lines: list[str], word: str) -> None:
    if word not in text.lower():
        raise Miss(f"the word {word!r}", repr(text))


def want_contains_one_of(text: str, lines: list[str], choices: list[str]) -> None:
    if not any(choice in text for choice in choices):
        raise Miss("what was to be named", repr(text))


def want_commas(text: str, lines: list[str], count: int) -> None:
    if text.count(",") != count:
        raise Miss(f"{count} comma", f"{text.count(',')} commas")


def want_parts(text: str, lines: list[str], mark: str, count: int) -> None:
    parts = text.split(mark)
    if len(parts) != count or len(set(parts)) != count:
        raise Miss(f"{count} different parts, separated by {mark!r}", f"{len(set(parts))} different parts")


def want_parts_ascending(text: str, lines: list[str], mark: str) -> None:
    parts = text.split(mark)
    for before, after in pairwise(parts):
        if before >= after:
            raise Miss("alphabetical order", f"{before!r} before {after!r}")


def want_initials(text: str, lines: list[str], letters: str) -> None:
    found = "".join(line[0] for line in lines)
    if found != letters:
        raise Miss(f"lines that begin with {', '.join(letters)}", ", ".join(found))


def want_equal(text: str, lines: list[str], rule: str, right: str) -> None:
    if text != right:
        raise Miss(rule, repr(text))


FORMS: dict[str, Callable[..., None]] = {
    "lines": want_lines,
    "upper": want_upper,
    "descending": want_descending,
    "words": want_words,
    "words_at_least": want_words_at_least,
    "without": want_without,
    "ends": want_ends,
    "line_words": want_line_words,
    "line_words_between": want_line_words_between,
    "no_punctuation": want_no_punctuation,
    "all_begin": want_all_begin,
    "line_matches": want_line_matches,
    "characters": want_characters,
    "contains": want_contains,
    "contains_one_of": want_contains_one_of,
    "commas": want_commas,
    "parts": want_parts,
    "parts_ascending": want_parts_ascending,
    "initials": want_initials,
    "equals_rule": want_equal,
}
"""The rules of a form, by name; each is called with the text, its lines, and the rule's values."""


# Numbers


def check_number(answer: str, reference: dict[str, Any]) -> None:
    """Compare a number; the words say whether it is too large, and in which unit it is wanted."""
    unit = reference["unit"]
    try:
        found = float(answer.strip())
    except ValueError:
        raise Miss(f"a bare number ({unit})", repr(answer)) from None
    right = float(reference["right"])
    if abs(found - right) <= 0.001 * abs(right):
        return
    if found < right:
        raise Miss(f"a larger number ({unit})", answer.strip())
    raise Miss(f"a smaller number ({unit})", answer.strip())
