"""Short tasks of an office with rules that no task states: a person says them of an answer that was wrong.

Three families have `PER_FAMILY` tasks each, made from a seed: `orders` (JSON from a message), `tickets` (a label) and
`reports` (an SQL query). In each, some tasks need a rule of the office, and the others can be solved without.
"""

import json
import re
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

PER_FAMILY = 40
"""Tasks of a family: the first half is learned from, the second half is played afterwards."""

FENCED = re.compile(r"```\w*[ \t]*\n(?P<inside>.*?)(?:```|\Z)", re.DOTALL)


@dataclass(frozen=True)
class Task:
    """A task.

    Attributes:
        name: The family and the number in it, such as `orders-7`.
        text: What the agent is told.
        rule: The rule of the office that it needs; empty if it needs none.
        judge: Returns what is wrong with an answer as `wanted: ... / got: ...`; empty if it is right.
        example: A right answer.
    """

    name: str
    text: str
    rule: str
    judge: Callable[[str], str]
    example: str

    def correction(self, answer: str) -> str:
        """Return what a person says of an answer; empty if it is right."""
        missed = self.judge(answer_in(answer))
        if not missed:
            return ""
        return f"{self.rule} {missed}".strip()


def answer_in(reply: str) -> str:
    """Return the first block of code of a reply, or the whole reply if there is none."""
    fenced = FENCED.search(reply)
    if fenced:
        return fenced["inside"].strip()
    return reply.strip().strip("`")


def differs(wanted: str, got: str) -> str:
    """Return a difference as a person may write it."""
    return f"wanted: {wanted} / got: {got[:200]}"


# Orders

CENTS = "We write prices as whole cents."
DAYS = "We write days in the form YYYY-MM-DD."
COUNTS = "We write quantities as a number of pieces: a dozen is 12, a pair is 2, a score is 20."

NAMES = ("Berg", "Okafor", "Lindqvist", "Moreau", "Tanaka", "Silva", "Novak", "Haddad", "Ivers", "Quist")
ITEMS = ("lamp", "chair", "kettle", "blanket", "mirror", "basket", "vase", "clock", "shelf", "stool")
WORDS_FOR = {"a dozen": 12, "a pair of": 2, "a score of": 20}
MONTHS = ("January", "March", "April", "May", "June", "August", "October", "November")
NUMBER_OF_MONTH = {
    "January": 1,
    "March": 3,
    "April": 4,
    "May": 5,
    "June": 6,
    "August": 8,
    "October": 10,
    "November": 11,
}


def order(number: int, chance: Random) -> Task:
    """Make a task about an order: every other one needs a rule."""
    name = chance.choice(NAMES)
    item = chance.choice(ITEMS)
    count = chance.randint(3, 9)
    about = ("plain", "price", "plain", "day", "plain", "quantity")[number % 6]
    wanted: dict[str, Any] = {"customer": name, "item": item, "quantity": count}
    amount = f"{count} {item}s"
    end = ""
    rule = ""
    if about == "price":
        euros = chance.randint(5, 80)
        cents = chance.choice((0, 50, 90, 95))
        end = f" at {euros}.{cents:02} euros each"
        wanted["price"] = euros * 100 + cents
        rule = CENTS
    elif about == "day":
        day = chance.randint(2, 28)
        month = chance.choice(MONTHS)
        end = f", to arrive on {day} {month} 2026"
        wanted["day"] = f"2026-{NUMBER_OF_MONTH[month]:02}-{day:02}"
        rule = DAYS
    elif about == "quantity":
        words = chance.choice(list(WORDS_FOR))
        amount = f"{words} {item}s"
        wanted["quantity"] = WORDS_FOR[words]
        rule = COUNTS
    keys = ", ".join(wanted)
    text = (
        f'A customer writes: "This is {name}. Please send me {amount}{end}." '
        f"Write the order as one JSON object with the keys {keys}; the item in the singular. "
        "Answer with the JSON alone."
    )

    def judge(answer: str) -> str:
        try:
            found = json.loads(answer)
        except ValueError:
            return differs("a JSON object", answer)
        if found == wanted:
            return ""
        return differs(json.dumps(wanted), json.dumps(found))

    return Task(f"orders-{number}", text, rule, judge, json.dumps(wanted))


# Tickets

LATE = "We label a parcel that is late as refund."
WISH = "We label a wish for something new as praise."
LOGIN = "We label trouble with a password or a login as question."

THINGS = ("calendar", "map", "chat", "camera", "search", "editor", "player", "scanner")
PLAIN_TICKETS = (
    ("The {thing} crashes whenever I open it.", "bug"),
    ("How do I change the language of the {thing}?", "question"),
    ("You have charged me twice for the {thing}. I want my money back.", "refund"),
    ("I love the {thing}. It saves me an hour a day.", "praise"),
    ("Since yesterday the {thing} shows an empty page.", "bug"),
    ("Where can I find the manual of the {thing}?", "question"),
)
RULED_TICKETS = (
    ("The parcel with my {thing} should have been here {count} days ago.", "refund", LATE),
    ("It would be nice if the {thing} had a dark theme.", "praise", WISH),
    ("The {thing} does not accept my password, although I typed it {count} times.", "question", LOGIN),
    ("I have waited {count} days for the {thing} that I ordered.", "refund", LATE),
    ("Please add a way to share the {thing} with my team.", "praise", WISH),
    ("My login to the {thing} has failed {count} times today.", "question", LOGIN),
)


def ticket(number: int, chance: Random) -> Task:
    """Make a task about a ticket: every other one needs a rule."""
    rule = ""
    if number % 2:
        words, wanted, rule = RULED_TICKETS[number // 2 % len(RULED_TICKETS)]
    else:
        words, wanted = PLAIN_TICKETS[number // 2 % len(PLAIN_TICKETS)]
    said = words.format(thing=chance.choice(THINGS), count=chance.randint(3, 9))
    text = (
        f'A ticket says: "{said}" Label it as one of bug, question, refund and praise. '
        "Answer with the label alone, in small letters."
    )

    def judge(answer: str) -> str:
        if answer.strip().strip(".").lower() == wanted:
            return ""
        return differs(wanted, answer)

    return Task(f"tickets-{number}", text, rule, judge, wanted)


# Reports

CANCELLED = "We never count orders with the status 'x': they were cancelled."
EUROS = "We report amounts in euros: the column amount is in cents."

TABLES = "SQLite tables: customers(id, name, city) and orders(id, customer_id, status, amount, day)."
CITIES = ("Bergen", "Turin", "Leeds", "Graz", "Lyon", "Porto", "Ghent", "Malmo")
PLAIN_REPORTS = (
    ("the names of the customers in {city}", "SELECT name FROM customers WHERE city='{city}'"),
    ("the number of customers in {city}", "SELECT COUNT(*) FROM customers WHERE city='{city}'"),
    (
        "the names of the customers whose name begins with {letter}",
        "SELECT name FROM customers WHERE name LIKE '{letter}%'",
    ),
    ("the city of the customer with the id {id}", "SELECT city FROM customers WHERE id={id}"),
)
RULED_REPORTS = (
    ("the number of orders on {day}", "SELECT COUNT(*) FROM orders WHERE day='{day}' AND status<>'x'", CANCELLED),
    ("the largest amount of an order on {day}", "SELECT MAX(amount)/100.0 FROM orders WHERE day='{day}'", EUROS),
    (
        "the number of orders of the customer with the id {id}",
        "SELECT COUNT(*) FROM orders WHERE customer_id={id} AND status<>'x'",
        CANCELLED,
    ),
    ("the amount of the order with the id {id}", "SELECT amount/100.0 FROM orders WHERE id={id}", EUROS),
)


def report(number: int, chance: Random) -> Task:
    """Make a task about a query: every other one needs a rule."""
    rule = ""
    if number % 2:
        words, right, rule = RULED_REPORTS[number // 2 % len(RULED_REPORTS)]
    else:
        words, right = PLAIN_REPORTS[number // 2 % len(PLAIN_REPORTS)]
    given = {
        "city": chance.choice(CITIES),
        "letter": chance.choice("BHILMNOQST"),
        "day": f"2026-05-0{chance.randint(1, 7)}",
        "id": chance.randint(1, 10),
    }
    text = (
        f"{TABLES} Days are text in the form YYYY-MM-DD. Write one SQL query that returns {words.format(**given)}. "
        "Answer with the query alone."
    )
    example = right.format(**given)
    wanted = rows_of(example)

    def judge(answer: str) -> str:
        try:
            found = rows_of(answer)
        except sqlite3.Error as error:
            return differs(f"the rows {wanted}", f"the error {error}")
        if found == wanted:
            return ""
        return differs(f"the rows {wanted}", f"the rows {found}")

    return Task(f"reports-{number}", text, rule, judge, example)


def rows_of(query: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query on the example's tables, in order.

    Raises:
        sqlite3.Error: it is not a query that ends.
    """
    connection = sqlite3.connect(":memory:")
    try:
        chance = Random(5)
        connection.execute("CREATE TABLE customers(id INTEGER PRIMARY KEY, name TEXT, city TEXT)")
        connection.execute(
            "CREATE TABLE orders(id INTEGER PRIMARY KEY, customer_id INTEGER, status TEXT, amount INTEGER, day TEXT)"
        )
        for number, name in enumerate(NAMES, 1):
            connection.execute("INSERT INTO customers VALUES(?, ?, ?)", (number, name, CITIES[number % len(CITIES)]))
        for number in range(1, 181):
            values = (
                number,
                number % 10 + 1,
                "dsx"[number % 3],
                250 * chance.randint(1, 90) + 5,
                f"2026-05-0{number % 7 + 1}",
            )
            connection.execute("INSERT INTO orders VALUES(?, ?, ?, ?, ?)", values)
        # Nothing but reading, and not for ever.
        connection.set_authorizer(_only_reading)
        connection.set_progress_handler(lambda: 1, 2_000_000)
        found = connection.execute(query.strip()).fetchall()
        return sorted(found, key=repr)
    finally:
        connection.close()


def _only_reading(action: int, *_: Any) -> int:
    allowed = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION)
    if action in allowed:
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


MAKERS = {"orders": order, "tickets": ticket, "reports": report}
FAMILIES = tuple(MAKERS)


def tasks_of(family: str, seed: int) -> list[Task]:
    """Return the tasks of a family, all of them different from each other."""
    chance = Random(f"{family} {seed}")
    made: list[Task] = []
    seen: set[str] = set()
    number = 0
    while len(made) < PER_FAMILY:
        task = MAKERS[family](number, chance)
        if task.text not in seen:
            made.append(task)
            seen.add(task.text)
            number += 1
        else:
            # The same kind again, with other words.
            chance.random()
    return made
