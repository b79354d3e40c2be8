"""Small writing tasks with criteria in words, each of which code decides from the answer alone.

Fifteen families have five tasks each: the first three are for `JUDGED`, the last two for `SOLVED`. One function makes
a criterion's words and its check, so that they cannot drift apart. Each task has an answer that meets all of its
criteria.
"""

# The words of a criterion, and the text of a task, say what it is.
# ruff: noqa: D103

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any


@dataclass(frozen=True)
class Criterion:
    """A criterion in words, and whether an answer meets it."""

    words: str
    check: Callable[[str], bool]


@dataclass(frozen=True)
class Task:
    """A task.

    Attributes:
        name: The family and the number in it, such as `riddle-2`.
        text: What the agent is told.
        criteria: What its answer has to meet. The text does not state all of them.
        example: An answer that meets all of them.
    """

    name: str
    text: str
    criteria: tuple[Criterion, ...]
    example: str

    def truth(self, answer: str) -> list[bool]:
        """Return whether an answer meets each criterion."""
        return [criterion.check(answer) for criterion in self.criteria]


# The criteria


def at_most_words(count: int) -> Criterion:
    return Criterion(f"The answer has at most {count} words.", lambda text: len(text.split()) <= count)


def contains(part: str) -> Criterion:
    """In capital or small letters."""
    return Criterion(f'The answer contains "{part}".', lambda text: part.lower() in text.lower())


def lacks(part: str) -> Criterion:
    """In capital or small letters."""
    return Criterion(f'The answer does not contain "{part}".', lambda text: part.lower() not in text.lower())


def begins_with(part: str) -> Criterion:
    return Criterion(f'The answer begins with "{part}".', lambda text: text.strip().startswith(part))


def ends_with(part: str) -> Criterion:
    return Criterion(f'The answer ends with "{part}".', lambda text: text.strip().endswith(part))


def has_lines(count: int) -> Criterion:
    """Empty lines do not count."""
    name = "line" if count == 1 else "lines"
    return Criterion(f"The answer has exactly {count} {name}.", lambda text: len(lines_of(text)) == count)


def has_sentences(count: int) -> Criterion:
    def check(text: str) -> bool:
        return len(re.findall(r"[.!?](?=\s|$)", text.strip())) == count

    return Criterion(f"The answer has exactly {count} sentences.", check)


def lines_begin_with(part: str) -> Criterion:
    def check(text: str) -> bool:
        lines = lines_of(text)
        return bool(lines) and all(line.startswith(part) for line in lines)

    return Criterion(f'Every line of the answer begins with "{part}".', check)


def is_in_alphabetical_order() -> Criterion:
    def check(text: str) -> bool:
        lines = [line.lower() for line in lines_of(text)]
        return lines == sorted(lines)

    return Criterion("The lines of the answer are in alphabetical order.", check)


def lines_are_numbered() -> Criterion:
    def check(text: str) -> bool:
        lines = lines_of(text)
        return bool(lines) and all(line.startswith(f"{number}. ") for number, line in enumerate(lines, 1))

    return Criterion('The lines of the answer are numbered "1.", "2." and so on.', check)


def has_short_lines(count: int) -> Criterion:
    def check(text: str) -> bool:
        return all(len(line.split()) <= count for line in lines_of(text))

    return Criterion(f"No line of the answer has more than {count} words, its number included.", check)


def is_in_capitals() -> Criterion:
    return Criterion("The answer is written in capital letters only.", str.isupper)


def has_number(number: str, unit: str) -> Criterion:
    def check(text: str) -> bool:
        without_commas = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)
        return re.search(rf"(?<![\d.]){number}(\.0+)?(?!\.?\d)", without_commas) is not None

    return Criterion(f"The answer gives the right result, {number} {unit}.", check)


def is_only_json() -> Criterion:
    def check(text: str) -> bool:
        try:
            return isinstance(json.loads(text), dict)
        except ValueError:
            return False

    return Criterion("The answer is a JSON object and nothing else, without a block of code around it.", check)


def has_value(key: str, value: str | int) -> Criterion:
    shown = json.dumps(value)
    kind = "text" if isinstance(value, str) else "number"

    def check(text: str) -> bool:
        found = json_in(text).get(key)
        return type(found) is type(value) and found == value

    return Criterion(f'The JSON object has the key "{key}" with the {kind} {shown}.', check)


def has_columns(count: int) -> Criterion:
    def check(text: str) -> bool:
        lines = lines_of(text)
        return bool(lines) and all(line.count(";") == count - 1 for line in lines)

    return Criterion(f"Every line of the answer has exactly {count} values, separated by semicolons.", check)


def lines_of(text: str) -> list[str]:
    """Return the lines that are not empty."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def json_in(text: str) -> dict[str, Any]:
    """Return the JSON object in a text, from the first brace to the last; an empty one if there is none."""
    found = re.search(r"\{.*\}", text, re.DOTALL)
    if not found:
        return {}
    try:
        read = json.loads(found[0])
    except ValueError:
        return {}
    return dict(read)


# The families


def delay(order: str, thing: str, day: str) -> tuple[str, list[Criterion], str]:
    text = f"Write a short reply to a customer: order {order} ({thing}) is late and arrives on {day}. Be brief."
    criteria = [contains(order), contains(day), at_most_words(35), lacks("unfortunately")]
    return text, criteria, f"We are sorry: your order {order} ({thing}) is late. It will arrive on {day}."


def product(thing: str, feature: str, maker: str) -> tuple[str, list[Criterion], str]:
    text = f"Write a product text of at most 20 words for a {thing} by {maker}. Say that it is {feature}."
    criteria = [at_most_words(20), contains(feature), contains(maker), lacks("perfect")]
    return text, criteria, f"The {thing} by {maker} is {feature}, and easy to like."


def person(name: str, age: int, city: str) -> tuple[str, list[Criterion], str]:
    text = (
        f'"{name} turned {age - 1} a year ago today and has lived in {city} ever since." '
        "Write name, age (a number) and city of this person today as a JSON object."
    )
    criteria = [is_only_json(), has_value("name", name), has_value("age", age), has_value("city", city)]
    return text, criteria, json.dumps({"name": name, "age": age, "city": city})


def shopping(count: int, place: str, thing: str) -> tuple[str, list[Criterion], str]:
    text = f"Write a list of {count} things to buy at a {place}, one a line, in alphabetical order. One is: {thing}."
    criteria = [has_lines(count), lines_begin_with("- "), is_in_alphabetical_order(), contains(thing)]
    more = ["Zinc cream", "Zip bags", "Zips", "Zither strings", "Zoo tickets", "Zucchini"]
    bought = [thing]
    bought.extend(more[: count - 1])
    return text, criteria, "\n".join(f"- {each}" for each in bought)


def convert(given: str, wanted: str, result: str) -> tuple[str, list[Criterion], str]:
    text = f"How many {wanted} are {given}? Answer in one short sentence."
    criteria = [has_number(result, wanted), contains(wanted), at_most_words(12)]
    return text, criteria, f"{given} are {result} {wanted}.".capitalize()


def query(table: str, columns: str, condition: str, order: str) -> tuple[str, list[Criterion], str]:
    text = (
        f"Write an SQL query: {columns} from the table {table} where {condition}, the largest {order} first. "
        "Answer with the query alone."
    )
    criteria = [begins_with("SELECT"), contains("WHERE"), contains(f"ORDER BY {order} DESC"), ends_with(";")]
    return text, criteria, f"SELECT {columns} FROM {table} WHERE {condition} ORDER BY {order} DESC;"


def subject(event: str, day: str, most: int) -> tuple[str, list[Criterion], str]:
    text = f"Write the subject line of a mail that reminds colleagues of the {event} on {day}. At most {most} words."
    criteria = [begins_with("Reminder:"), contains(day), at_most_words(most), lacks("!")]
    return text, criteria, f"Reminder: {event} on {day}"


def steps(count: int, goal: str, tool: str) -> tuple[str, list[Criterion], str]:
    text = f"Explain how to {goal} in {count} numbered steps, one a line, of at most 8 words each. Use a {tool}."
    criteria = [has_lines(count), lines_are_numbered(), has_short_lines(9), contains(tool)]
    lines = [f"{number}. Use the {tool} with care." for number in range(1, count + 1)]
    return text, criteria, "\n".join(lines)


def iso(day: date) -> tuple[str, list[Criterion], str]:
    american = f"{day:%B} {day.day}, {day.year}"
    text = f"The hearing was on {american}, and the appeal ended on the next day. When, in the form YYYY-MM-DD?"
    after = date.fromordinal(day.toordinal() + 1).isoformat()
    criteria = [contains(after), lacks(day.isoformat()), at_most_words(8)]
    return text, criteria, after


def explain(thing: str, needed: str, avoided: str) -> tuple[str, list[Criterion], str]:
    text = f'Explain to a child in two sentences what a {thing} is. Use the word "{needed}".'
    criteria = [has_sentences(2), contains(needed), lacks(avoided)]
    return text, criteria, f"It is something great. Think of the word {needed}."


def letter(name: str, invoice: str, amount: str) -> tuple[str, list[Criterion], str]:
    text = f"Write to {name} in two or three sentences that {amount} of invoice {invoice} are still to be paid."
    criteria = [begins_with(f"Dear {name},"), contains(invoice), contains(amount), ends_with("Kind regards")]
    return text, criteria, f"Dear {name},\n\n{amount} of invoice {invoice} are still to be paid.\n\nKind regards"


def slogan(thing: str, word: str, most: int) -> tuple[str, list[Criterion], str]:
    text = f'Write a slogan for a {thing} with the word "{word}", in capital letters, of at most {most} words.'
    criteria = [is_in_capitals(), contains(word), at_most_words(most), lacks("!")]
    return text, criteria, f"{word} FOR ALL".upper()


def row(thing: str, price: str, count: int, shop: str) -> tuple[str, list[Criterion], str]:
    text = (
        f'"{shop} ordered {count} {thing} at {price} euros each." Write this as a row of a table, with the values '
        "shop; thing; count; price, separated by semicolons. Write the row alone."
    )
    criteria = [has_lines(1), has_columns(4), begins_with(shop), contains(f"{price}0")]
    return text, criteria, f"{shop}; {thing}; {count}; {price}0"


def question(person: str, thing: str, day: str) -> tuple[str, list[Criterion], str]:
    text = f"Ask {person} politely, in one sentence of at most 15 words, to send the {thing} by {day}."
    criteria = [ends_with("?"), contains(person), contains(day), at_most_words(15)]
    return text, criteria, f"{person}, could you please send the {thing} by {day}?"


def riddle(thing: str, hint: str) -> tuple[str, list[Criterion], str]:
    text = f'Write a riddle of three lines about a {thing}, without naming it. Use the word "{hint}".'
    criteria = [has_lines(3), lacks(thing), contains(hint), ends_with("What am I?")]
    return text, criteria, f"You know my {hint}.\nYou see me often.\nWhat am I?"


FAMILIES: dict[str, list[tuple[str, list[Criterion], str]]] = {
    "delay": [
        delay("4711", "a lamp", "12 May"),
        delay("A-208", "two chairs", "3 June"),
        delay("90-17", "a kettle", "Friday"),
        delay("5520", "a rug", "21 July"),
        delay("B-77", "a desk", "Monday"),
    ],
    "product": [
        product("backpack", "waterproof", "Norrby"),
        product("mug", "dishwasher safe", "Kessel & Co"),
        product("torch", "rechargeable", "Lumo"),
        product("tent", "windproof", "Halden"),
        product("pan", "light", "Ferrum"),
    ],
    "person": [
        person("Ines", 34, "Porto"),
        person("Tom Reed", 51, "Leeds"),
        person("Aiko", 28, "Osaka"),
        person("Lars", 43, "Bergen"),
        person("Mia Wolf", 19, "Graz"),
    ],
    "shopping": [
        shopping(4, "bakery", "bread"),
        shopping(5, "garden centre", "soil"),
        shopping(6, "stationer", "ink"),
        shopping(5, "supermarket", "milk"),
        shopping(4, "pharmacy", "plasters"),
    ],
    "convert": [
        convert("2.5 kilometres", "metres", "2500"),
        convert("three and a half hours", "minutes", "210"),
        convert("1.2 tonnes", "kilograms", "1200"),
        convert("14 weeks", "days", "98"),
        convert("0.75 litres", "millilitres", "750"),
    ],
    "query": [
        query("staff", "name, salary", "city = 'Ulm'", "salary"),
        query("parts", "code, weight", "stock > 0", "weight"),
        query("films", "title, year", "genre = 'noir'", "year"),
        query("rooms", "number, size", "floor = 2", "size"),
        query("goals", "player, minute", "club = 'Ajax'", "minute"),
    ],
    "subject": [
        subject("budget meeting", "4 April", 7),
        subject("fire drill", "Tuesday", 6),
        subject("summer party", "19 July", 8),
        subject("system update", "Sunday", 6),
        subject("blood donation", "2 May", 7),
    ],
    "steps": [
        steps(3, "repair a bicycle tyre", "pump"),
        steps(4, "make a cup of tea", "kettle"),
        steps(5, "plant a tree", "spade"),
        steps(4, "hang a picture", "hammer"),
        steps(3, "clean a window", "cloth"),
    ],
    "iso": [
        iso(date(2025, 3, 7)),
        iso(date(2024, 2, 28)),
        iso(date(2023, 11, 30)),
        iso(date(2022, 8, 15)),
        iso(date(2026, 4, 30)),
    ],
    "explain": [
        explain("volcano", "mountain", "magma"),
        explain("library", "borrow", "building"),
        explain("battery", "energy", "chemical"),
        explain("magnet", "metal", "field"),
        explain("bank", "money", "account"),
    ],
    "letter": [
        letter("Ms Okafor", "R-1034", "80 euros"),
        letter("Mr Lind", "2025/88", "120 pounds"),
        letter("Dr Sato", "INV-7", "45 dollars"),
        letter("Ms Weber", "F-552", "310 euros"),
        letter("Mr Costa", "0091", "60 euros"),
    ],
    "slogan": [
        slogan("bookshop", "pages", 5),
        slogan("bakery", "crust", 4),
        slogan("bicycle shop", "wheels", 6),
        slogan("florist", "petals", 5),
        slogan("gym", "strength", 4),
    ],
    "row": [
        row("pens", "1.5", 40, "Alba"),
        row("chairs", "59.9", 6, "Bistro Nord"),
        row("cables", "7.2", 15, "Volta"),
        row("plates", "3.4", 24, "Casa Lima"),
        row("helmets", "48.5", 10, "Velo"),
    ],
    "question": [
        question("Priya", "slides", "Thursday"),
        question("Mr Hale", "signed contract", "9 March"),
        question("the printer", "proofs", "noon"),
        question("Jonas", "guest list", "Friday"),
        question("Dr Amari", "lab report", "1 June"),
    ],
    "riddle": [
        riddle("clock", "hands"),
        riddle("candle", "light"),
        riddle("river", "bed"),
        riddle("mirror", "face"),
        riddle("shadow", "sun"),
    ],
}

JUDGED_OF_FAMILY = 3
"""The number of tasks of a family whose answers are judged; the others are solved."""


def tasks_of(first: int, last: int | None) -> list[Task]:
    """Return the tasks of all families from one number to another, counted from 0."""
    found = []
    for family, members in FAMILIES.items():
        for number, (text, criteria, example) in list(enumerate(members, 1))[first:last]:
            found.append(Task(f"{family}-{number}", text, tuple(criteria), example))
    return found


JUDGED = tasks_of(0, JUDGED_OF_FAMILY)
SOLVED = tasks_of(JUDGED_OF_FAMILY, None)
