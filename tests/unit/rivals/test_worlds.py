"""The benchmark's worlds: their tasks can be solved, and what attempts change is judged and undone."""

import sqlite3
from contextlib import closing

import pytest

from benchmarks.rivals.protocol import WORLDS, Task, load_world
from benchmarks.rivals.worlds.pytest_folder import is_plain, words_of
from benchmarks.rivals.worlds.sql_changes import run_guarded

HALVES = ("train", "test")


def sql_tasks():
    world = load_world("sql-changes")
    return [*world.tasks("train"), *world.tasks("test")]


def functions():
    world = load_world("pytest-folder")
    return [task.data for half in HALVES for task in world.tasks(half)]


def opened(name, task, folder):
    world = load_world(name)
    return world.open(task, folder), world.script(task)


@pytest.mark.parametrize("name", WORLDS)
def test_no_task_is_in_both_halves(name):
    world = load_world(name)
    train, test = ({task.text for task in world.tasks(half)} for half in HALVES)
    assert train
    assert test
    assert not train & test


@pytest.mark.parametrize("name", ["sql-changes", "pytest-folder"])
def test_the_names_of_tasks_differ(name):
    world = load_world(name)
    names = [task.name for half in HALVES for task in world.tasks(half)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("task", sql_tasks(), ids=lambda task: task.name)
def test_the_right_statement_of_a_wish_is_accepted_and_nothing_else_is(task, tmp_path):
    library, (_, right) = opened("sql-changes", task, tmp_path)
    [run_sql] = library.tools
    assert not library.verdict("done").accepted, "nothing is changed yet"
    assert run_sql(right.args["statement"]).startswith("done; rows changed: ")
    assert library.verdict("done") == (True, "")


def test_a_wrong_change_stays_until_the_world_is_reset(tmp_path):
    [task, *_] = sql_tasks()
    library, (wrong, right) = opened("sql-changes", task, tmp_path)
    [run_sql] = library.tools
    run_sql(wrong.args["statement"])
    run_sql(right.args["statement"])
    assert "wanted: (6, 'Fay'" in library.verdict("done").words
    library.reset()
    run_sql(right.args["statement"])
    assert library.verdict("done").accepted


def test_a_dropped_table_is_named(tmp_path):
    [task, *_] = sql_tasks()
    library, _ = opened("sql-changes", task, tmp_path)
    [run_sql] = library.tools
    run_sql("DROP TABLE loans")
    assert "got: books, members" in library.verdict("done").words


@pytest.mark.parametrize(
    "statement",
    [
        "ATTACH '{folder}/other.db' AS other",
        "VACUUM INTO '{folder}/other.db'",
        "PRAGMA journal_mode = WAL",
        "SELECT load_extension('{folder}/other.so')",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n",
        "DELETE FROM members; DELETE FROM loans",
        "no statement",
    ],
)
def test_a_statement_reaches_no_other_file_and_ends(statement, tmp_path):
    with closing(sqlite3.connect(tmp_path / "library.db")) as database:
        assert run_guarded(database, statement.format(folder=tmp_path)).startswith("error: ")
    assert {file.name for file in tmp_path.iterdir()} <= {"library.db"}


def test_a_long_result_is_cut(tmp_path):
    with closing(sqlite3.connect(":memory:")) as database:
        said = run_guarded(
            database, "WITH RECURSIVE n(i) AS (VALUES(1) UNION SELECT i + 1 FROM n LIMIT 99) SELECT * FROM n"
        )
    assert said.splitlines()[-1] == "and more rows"
    assert len(said.splitlines()) == 21


@pytest.mark.parametrize("function", functions(), ids=lambda function: function.name)
def test_the_right_version_of_a_function_passes_its_tests(function):
    names = {}
    exec(function.right, names)
    for case in function.cases:
        assert eval(case, names), case


@pytest.mark.parametrize("name", ["../slug.py", "/etc/passwd", "a/b.py", "slug.txt", ".py", "slug", "conf test.py"])
def test_a_path_leads_out_of_no_folder(name, tmp_path):
    assert not is_plain(name)
    world = load_world("pytest-folder")
    folder = world.open(world.tasks("test")[0], tmp_path)
    write_file, read_file = folder.tools
    assert write_file(name, "x = 1").startswith("error: ")
    assert read_file(name).startswith("error: ")


def test_a_folder_is_reset_to_its_tests(tmp_path):
    world = load_world("pytest-folder")
    [task, *_] = world.tasks("test")
    folder = world.open(task, tmp_path)
    write_file, read_file = folder.tools
    assert write_file("slug.py", "x = 1") == "written"
    write_file("test_slug.py", "")
    assert read_file("slug.py") == "x = 1"
    folder.reset()
    assert read_file("test_slug.py") == task.data.tests
    assert read_file("slug.py").endswith("the folder has test_slug.py")


def test_a_missing_module_is_named_without_running_anything(tmp_path):
    world = load_world("pytest-folder")
    folder = world.open(world.tasks("test")[0], tmp_path)
    assert folder.verdict("done") == (False, "wanted: a file slug.py / got: no such file")


def test_of_pytest_s_output_the_failures_are_shown():
    output = "F.\n=== short test summary info ===\nFAILED test_a.py::test_1 - assert 1 == 2\n1 failed in 0.98s"
    assert words_of(output) == "FAILED test_a.py::test_1 - assert 1 == 2"


def test_the_answer_of_a_small_task_is_checked(tmp_path):
    world = load_world("small-tasks")
    task = Task("legs", "How many legs has a horse?", {"kind": "number", "unit": "legs", "right": "4"})
    horse = world.open(task, tmp_path)
    wrong, right = world.script(task)
    assert not horse.verdict(wrong.text).accepted
    assert horse.verdict(right.text).accepted
