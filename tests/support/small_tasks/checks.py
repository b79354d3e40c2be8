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

SECONDS = 2.0
"""Longest time that a regular expression may take. One that ends at all takes microseconds for such texts."""

STEPS = 2_000_000
"""Longest run of an SQL query, in steps of SQLite's machine."""

FENCED = re.compile(r"```\w*[ \t]*\n(?P<inside>.*?)(?:```|\Z)", re.DOTALL)
"""A block of code; a reply that was cut off has no end of it."""

ANSWER_LINE = re.compile(r"^[^A-Za-z\n]*(?:final )?answer[^\w\n]{0,4}?:(?P<rest>.*)$", re.IGNORECASE | re.MULTILINE)
"""The line of a number; it may be one of a numbered list, or in bold letters."""

NUMBER = re.compile(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d,])|-?\d*\.?\d+")

Verdict = tuple[bool, str]


class Miss(Exception):
    """What a check wanted, and what it got instead."""

    def __init__(self, wanted: str, got: str) -> None:
        super().__init__(f"wanted: {wanted} / got: {got[:200]}")


def check(result: str, reference: dict[str, Any]) -> Verdict:
    """Check a result.

    Args:
        result: The agent's last words. Of a reply with a block of code, the first block counts, except for numbers,
            where the last line "Answer: NUMBER" of the whole reply does.
        reference: The task's column `answer`.
    """
    kinds: dict[str, Callable[[str, dict[str, Any]], None]] = {
        "sql": check_sql,
        "regex": check_regex,
        "json": check_json,
        "form": check_form,
        "number": check_number,
    }
    answer = result.strip() if reference["kind"] == "number" else answer_in(result)
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


def counted(count: int, name: str) -> str:
    """Return a count with a name in the singular or plural, such as `1 line` or `2 lines`."""
    return f"{count} {name}" if count == 1 else f"{count} {name}s"


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
        raise Miss(f"{counted(width, 'column')} in each row", f"{counted(len(got[0]), 'column')}, such as {got[0]}")
    missing = [row for row in wanted if wanted.count(row) > got.count(row)]
    extra = [row for row in got if got.count(row) > wanted.count(row)]
    for row in [*missing, *extra]:
        if row in wanted and row in got:
            times = counted(got.count(row), "time")
            raise Miss(f"the row {row} {counted(wanted.count(row), 'time')} with the test data", times)
    if missing:
        instead = f"no such row, but {extra[0]}" if extra else f"{counted(len(got), 'row')} without it"
        raise Miss(f"a row {missing[0]} with the test data", instead)
    if extra:
        raise Miss(f"no row {extra[0]} with the test data", f"{counted(len(got), 'row')} with it")
    if ordered and wanted != got:
        place = next(index for index, row in enumerate(wanted) if row != got[index])
        raise Miss(f"{wanted[place]} as row {place + 1}, by the order asked for", str(got[place]))


def rounded(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a row with its numbers rounded to four decimals."""
    return tuple(round(value, 4) if isinstance(value, int | float) else value for value in row)


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
    refuse_wrapping(pattern)
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise Miss("an expression that Python compiles", f"the error: {error}") from None
    receiving, sending = multiprocessing.Pipe(duplex=False)
    texts = [*reference["yes"], *reference["no"]]
    process = multiprocessing.get_context("forkserver").Process(target=send_matches, args=(sending, pattern, texts))
    process.start()
    sending.close()
    # The first word comes once the process has started, which takes seconds of a busy machine.
    receiving.recv()
    matches = receiving.recv() if receiving.poll(SECONDS) else None
    process.kill()
    process.join()
    if matches is None:
        raise Miss("an expression that is done within seconds", "one that is not")
    for text, matched in zip(texts, matches, strict=True):
        if text in reference["yes"] and not matched:
            raise Miss(f"a match for {text!r}", "no match")
        if text in reference["no"] and matched:
            raise Miss(f"no match for {text!r}", "a match")


def refuse_wrapping(pattern: str) -> None:
    """Refuse an expression in quotes, in code or among words. No task's texts hold quotes or backticks."""
    if "\n" in pattern:
        raise Miss(
            "the expression alone, on one line",
            f"{len(pattern.splitlines())} lines, the first {first_line(pattern)!r}",
        )
    if re.match(r"(?:import re\b|(?:\w+ *= *)?re\.\w+\(|\w+ *= *[rR]?['\"])", pattern):
        raise Miss("the expression alone, without code around it", pattern)
    if re.match(r"[rR]?(['\"]).*\1$", pattern):
        raise Miss("the expression alone, without quotes", pattern)
    if re.match(r"/.*/[a-z]*$", pattern):
        raise Miss("the expression alone, without slashes around it", pattern)
    if "`" in pattern:
        raise Miss("the expression alone, without other words", pattern)


def first_line(text: str) -> str:
    """Return the first line of a text."""
    return text.splitlines()[0]


def send_matches(sending: Any, pattern: str, texts: list[str]) -> None:
    """Send a word at the beginning, and then whether the pattern matches each of the texts."""
    sending.send("begun")
    sending.send([re.fullmatch(pattern, text) is not None for text in texts])


# JSON


TYPES = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "a text",
    list: "a list",
    dict: "an object",
    type(None): "null",
}
"""What the words call a value, by its type."""


def check_json(answer: str, reference: dict[str, Any]) -> None:
    """Compare the fields of an object with the right ones; the words name the first that differs, and its rule."""
    try:
        found = json.loads(answer)
    except (ValueError, RecursionError) as error:
        raise Miss("one JSON object", f"the error: {error}") from None
    if not isinstance(found, dict):
        raise Miss("one JSON object", f"{TYPES[type(found)]} instead: {as_json(found)}")
    right = json.loads(reference["right"])
    for name, rule in reference["fields"].items():
        if name not in found:
            raise Miss(f"a field {name!r}", f"the fields {', '.join(found)}" if found else "an empty object")
        compare_values(name, rule, name, right[name], found[name])
    extra = [name for name in found if name not in right]
    if extra:
        raise Miss(f"the fields {', '.join(right)} alone", f"a further field {extra[0]!r}")


def compare_values(name: str, rule: str, path: str, right: Any, found: Any) -> None:
    """Compare a value of a field, or a value inside it, which is at `path`."""
    wanted, got = TYPES[type(right)], TYPES[type(found)]
    if wanted != got and right is not None:
        raise Miss(f"{path} is {wanted} ({name}: {rule})", f"{got}: {as_json(found)}")
    if isinstance(right, dict) and right.keys() == found.keys():
        for key, value in right.items():
            compare_values(name, rule, f"{path}.{key}", value, found[key])
    elif isinstance(right, list) and wanted == got and len(right) == len(found):
        for index, value in enumerate(right):
            compare_values(name, rule, f"{path}[{index}]", value, found[index])
    elif found != right:
        raise Miss(f"{name}: {rule}", as_json(found) if path == name else f"{path} is {as_json(found)}")


def as_json(value: Any) -> str:
    """Return a value as JSON, for the words."""
    return json.dumps(value, ensure_ascii=False)


# Forms


def check_form(answer: str, reference: dict[str, Any]) -> None:
    """Check the rules one after the other."""
    lines = [line.strip() for line in answer.splitlines() if line.strip()]
    for rule, *values in reference["rules"]:
        FORMS[rule](answer.strip(), lines, *values)


def words_in(text: str) -> list[str]:
    """Return the words of a text; a mark that stands alone is not a word."""
    return [word for word in text.split() if re.search(r"\w", word)]


def want_lines(text: str, lines: list[str], count: int) -> None:
    if len(lines) != count:
        raise Miss(counted(count, "line"), counted(len(lines), "line"))


def want_upper(text: str, lines: list[str]) -> None:
    if text != text.upper():
        word = next(word for word in text.split() if word != word.upper())
        raise Miss("capital letters only", repr(word))


def want_lower(text: str, lines: list[str]) -> None:
    if text != text.lower():
        word = next(word for word in text.split() if word != word.lower())
        raise Miss("lower-case letters only", repr(word))


def want_words(text: str, lines: list[str], least: int, most: int) -> None:
    if not least <= len(words_in(text)) <= most:
        raise Miss(between(least, most, "word"), counted(len(words_in(text)), "word"))


def want_line_words(text: str, lines: list[str], least: int, most: int) -> None:
    for number, line in enumerate(lines, 1):
        if not least <= len(words_in(line)) <= most:
            count = counted(len(words_in(line)), "word")
            raise Miss(f"{between(least, most, 'word')} in line {number}", f"{count}: {line!r}")


def want_without(text: str, lines: list[str], unwanted: str) -> None:
    hit = next((word for word in text.split() if unwanted in word.lower()), None)
    if hit:
        raise Miss(f"no {unwanted!r} in any word", repr(hit))


def want_contains(text: str, lines: list[str], word: str) -> None:
    if not re.search(rf"\b{re.escape(word)}\b", text, re.IGNORECASE):
        raise Miss(f"the word {word!r}", f"a text without it: {text!r}")


def want_begins(text: str, lines: list[str], beginning: str) -> None:
    if not text.startswith(beginning):
        raise Miss(f"{beginning!r} at the beginning", repr(text[: len(beginning) + 10]))


def want_ends(text: str, lines: list[str], ending: str) -> None:
    if not text.endswith(ending):
        raise Miss(f"{ending!r} at the end", repr(text[-len(ending) - 10 :]))


def want_lines_begin(text: str, lines: list[str], beginning: str) -> None:
    for number, line in enumerate(lines, 1):
        if not line.startswith(beginning):
            raise Miss(f"{beginning!r} at the beginning of line {number}", repr(line))


def want_lines_end(text: str, lines: list[str], ending: str) -> None:
    for number, line in enumerate(lines, 1):
        if not line.endswith(ending):
            raise Miss(f"{ending!r} at the end of line {number}", repr(line))


def want_lines_match(text: str, lines: list[str], pattern: str, form: str) -> None:
    for number, line in enumerate(lines, 1):
        if not re.fullmatch(pattern.replace("NUMBER", str(number)), line):
            raise Miss(f"line {number} as {form.replace('NUMBER', str(number))}", repr(line))


def want_different_lines(text: str, lines: list[str]) -> None:
    twice = next((line for index, line in enumerate(lines) if line in lines[:index]), None)
    if twice:
        raise Miss("different lines", f"{twice!r} more than once")


def want_ascending_lines(text: str, lines: list[str]) -> None:
    for before, after in pairwise(lines):
        if before.lower() > after.lower():
            raise Miss("alphabetical order", f"{before!r} before {after!r}")


def want_no_punctuation(text: str, lines: list[str]) -> None:
    mark = re.search(r"[^\w\s]", text)
    if mark:
        raise Miss("no punctuation", repr(mark[0]))


def want_characters(text: str, lines: list[str], least: int, most: int) -> None:
    if not least <= len(text) <= most:
        raise Miss(f"{least} to {most} characters", f"{len(text)} characters")


def want_count(text: str, lines: list[str], mark: str, name: str, count: int) -> None:
    if text.count(mark) != count:
        raise Miss(counted(count, name), counted(text.count(mark), name))


def want_parts(text: str, lines: list[str], mark: str, count: int) -> None:
    parts = text.split(mark)
    if len(parts) != count:
        raise Miss(f"{counted(count, 'part')} with {mark!r} between them", counted(len(parts), "part"))
    for part in parts:
        if part != part.strip() or not part:
            raise Miss(f"{mark!r} between the parts and no other spaces or marks", f"a part {part!r}")
    twice = next((part for index, part in enumerate(parts) if part in parts[:index]), None)
    if twice:
        raise Miss("different parts", f"{twice!r} more than once")


def want_parts_ascending(text: str, lines: list[str], mark: str) -> None:
    for before, after in pairwise(text.split(mark)):
        if before.lower() > after.lower():
            raise Miss("alphabetical order", f"{before!r} before {after!r}")


def want_initials(text: str, lines: list[str], letters: str) -> None:
    found = "".join(line[0] for line in lines)
    if found != letters:
        raise Miss(f"lines that begin with {', '.join(letters)}", f"lines that begin with {', '.join(found)}")


def between(least: int, most: int, name: str) -> str:
    """Return the words for a count between two bounds."""
    return counted(least, name) if least == most else f"{least} to {counted(most, name)}"


FORMS: dict[str, Callable[..., None]] = {
    "lines": want_lines,
    "upper": want_upper,
    "lower": want_lower,
    "words": want_words,
    "line_words": want_line_words,
    "without": want_without,
    "contains": want_contains,
    "begins": want_begins,
    "ends": want_ends,
    "lines_begin": want_lines_begin,
    "lines_end": want_lines_end,
    "lines_match": want_lines_match,
    "different_lines": want_different_lines,
    "ascending_lines": want_ascending_lines,
    "no_punctuation": want_no_punctuation,
    "characters": want_characters,
    "count": want_count,
    "parts": want_parts,
    "parts_ascending": want_parts_ascending,
    "initials": want_initials,
}
"""The rules of a form, by name; each is called with the text, its lines, and the rule's values."""


# Numbers


def check_number(answer: str, reference: dict[str, Any]) -> None:
    """Compare the number of the last line "Answer: NUMBER"; the words say whether it is too large, and its unit."""
    unit = reference["unit"]
    lines = list(ANSWER_LINE.finditer(answer))
    if not lines:
        raise Miss("a last line 'Answer: NUMBER'", f"no such line, but at the end {answer[-60:]!r}")
    line = repr(lines[-1][0].strip())
    # The exponent of a unit, as in m^2 or m2, is not a number of its own.
    rest = re.sub(r"(?<=m)\}?\^?\{?[23]\b", "", lines[-1]["rest"])
    numbers = NUMBER.findall(rest)
    if len(numbers) != 1:
        raise Miss(f"one number in the last line 'Answer: NUMBER' ({unit})", f"{len(numbers) or 'none'} in {line}")
    found = float(numbers[0].replace(",", ""))
    right = float(reference["right"])
    if abs(found - right) <= 0.001 * abs(right):
        return
    wanted = "a larger number" if found < right else "a smaller number"
    raise Miss(f"{wanted} ({unit})", line)
