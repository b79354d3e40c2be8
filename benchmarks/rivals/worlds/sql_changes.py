"""Changes of a small database: an attempt that changes the wrong rows has changed them.

The agent has one tool, which runs a statement. The check compares all tables with what the right statements make of
them, so an attempt that goes on where a wrong one has ended has to repair it first.
"""

import sqlite3
import tomllib
from contextlib import closing
from pathlib import Path

from benchmarks.rivals.protocol import Half, Move, Task, TaskWorld, Tool, Verdict, World

FILE = Path(__file__).parent / "sql_tasks.toml"

SCHEMA = """
CREATE TABLE books(id INTEGER PRIMARY KEY, title TEXT, year INTEGER, copies INTEGER, shelf TEXT);
CREATE TABLE members(id INTEGER PRIMARY KEY, name TEXT, city TEXT, fee INTEGER, active INTEGER);
CREATE TABLE loans(id INTEGER PRIMARY KEY, book_id INTEGER, member_id INTEGER, day TEXT, returned INTEGER);
INSERT INTO books VALUES
    (1, 'Tides', 1987, 2, 'A'), (2, 'Salt', 2003, 1, 'A'), (3, 'Low Roads', 2015, 4, 'B'), (4, 'Ash', 1999, 0, 'B'),
    (5, 'The Ferry', 2021, 3, 'C'), (6, 'Nine Wells', 1975, 1, 'C'), (7, 'Copper', 2010, 2, 'C');
INSERT INTO members VALUES
    (1, 'Ada', 'Ulm', 30, 1), (2, 'Bo', 'Kiel', 20, 1), (3, 'Cem', 'Ulm', 20, 0), (4, 'Dora', 'Bonn', 30, 1),
    (5, 'Eli', 'Kiel', 10, 0), (6, 'Fay', 'Jena', 30, 1);
INSERT INTO loans VALUES
    (1, 1, 1, '2024-01-09', 1), (2, 3, 1, '2024-02-11', 0), (3, 3, 2, '2024-02-20', 0), (4, 5, 4, '2024-03-02', 1),
    (5, 2, 4, '2024-03-05', 0), (6, 6, 2, '2023-11-30', 0), (7, 1, 3, '2023-12-15', 1), (8, 5, 1, '2024-04-01', 0);
"""

DESCRIPTION = """A library's SQLite database has these tables:
books(id, title, year, copies, shelf)
members(id, name, city, fee, active), where active is 1 or 0
loans(id, book_id, member_id, day, returned), where day is YYYY-MM-DD and returned is 1 or 0

Change it by the tool run_sql, so that this is done, and nothing else is changed: {wish}
When it is done, answer with the word done."""

STEPS = 1_000_000
"""Longest run of a statement, in steps of SQLite's machine."""

MOST_ROWS = 20
"""Rows of a result that the tool shows."""

DENIED = (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH, sqlite3.SQLITE_PRAGMA)
"""What a model's statement must not do: other files, and the settings of the connection."""


class Library(TaskWorld):
    """The database of one task."""

    def __init__(self, task: Task, folder: Path) -> None:
        super().__init__(task, folder)
        self.file = folder / "library.db"
        if not self.file.exists():
            self.reset()

    @property
    def tools(self) -> list[Tool]:
        def run_sql(statement: str) -> str:
            """Run one SQL statement in the library's database, and return its rows or what it changed.

            Args:
                statement: The SQL statement.
            """
            with closing(sqlite3.connect(self.file)) as database:
                return run_guarded(database, statement)

        return [run_sql]

    def reset(self) -> None:
        self.file.unlink(missing_ok=True)
        with closing(sqlite3.connect(self.file)) as database:
            database.executescript(SCHEMA)

    def verdict(self, answer: str) -> Verdict:
        with closing(sqlite3.connect(":memory:")) as right, closing(sqlite3.connect(self.file)) as found:
            right.executescript(SCHEMA)
            right.executescript(self.task.data)
            return compared(right, found)


def run_guarded(database: sqlite3.Connection, statement: str) -> str:
    """Run a statement of a model, and return what it reads of it."""
    left = [STEPS // 1000]

    def count_steps() -> bool:
        left[0] -= 1
        return left[0] < 0

    def authorize(action: int, *_: object) -> int:
        if action in DENIED:
            return sqlite3.SQLITE_DENY
        return sqlite3.SQLITE_OK

    database.set_progress_handler(count_steps, 1000)
    database.set_authorizer(authorize)
    before = database.total_changes
    try:
        cursor = database.execute(statement)
        rows = cursor.fetchmany(MOST_ROWS + 1)
        database.commit()
    except (sqlite3.Error, sqlite3.Warning) as error:
        return f"error: {error}"
    if cursor.description is None:
        changed = database.total_changes - before
        return f"done; rows changed: {changed}"
    lines = [str(row) for row in rows[:MOST_ROWS]]
    if len(rows) > MOST_ROWS:
        lines.append("and more rows")
    return "\n".join(lines) or "no rows"


def compared(right: sqlite3.Connection, found: sqlite3.Connection) -> Verdict:
    """Compare two databases; the words name the first row that differs."""
    tables = tables_of(right)
    if tables_of(found) != tables:
        return Verdict(False, f"wanted: the tables {', '.join(tables)} / got: {', '.join(tables_of(found))}")
    for table in tables:
        wanted = rows_of(right, table)
        got = rows_of(found, table)
        missing = [row for row in wanted if row not in got]
        extra = [row for row in got if row not in wanted]
        if missing:
            instead = "no such row"
            if extra:
                instead = str(extra[0])
            return Verdict(False, f"wanted: {missing[0]} in {table} / got: {instead}")
        if extra:
            return Verdict(False, f"wanted: no row {extra[0]} in {table} / got: that row")
    return Verdict(True, "")


def tables_of(database: sqlite3.Connection) -> list[str]:
    """Return the names of the tables."""
    rows = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    return [name for (name,) in rows]


def rows_of(database: sqlite3.Connection, table: str) -> list[tuple[object, ...]]:
    """Return the rows of a table, whose name is the schema's."""
    return database.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()


class SqlChanges(World):
    """12 tasks to train on, and 24 to be measured on."""

    name = "sql-changes"
    changes = True
    steps = 5
    calls = 10

    def tasks(self, half: Half) -> list[Task]:
        rows = tomllib.loads(FILE.read_text(encoding="utf-8"))[half]
        found = []
        for row in rows:
            found.append(Task(row["name"], DESCRIPTION.format(wish=row["wish"]), row["right"]))
        return found

    def open(self, task: Task, folder: Path) -> TaskWorld:
        return Library(task, folder)

    def script(self, task: Task) -> tuple[Move, Move] | None:
        wrong = Move(tool="run_sql", args={"statement": "DELETE FROM members WHERE id = 6"})
        return wrong, Move(tool="run_sql", args={"statement": task.data})
