"""The chat service that is killed again and again: each claim about it can fail."""

import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from tests.support.chat_service import Sample, faults, strangers_on_threads

LIMIT = 20
FOUND = {
    "answered": 100,
    "users": 9,
    "kills": 2,
    "sent again": 5,
    "wrong answers": 0,
    "lessons of other users in prompts": 0,
    "namespaces with other users' words": 0,
    "threads with other users' words": 0,
    "users whose trials are counted wrongly": 0,
    "solved at once, first quarter": 0.1,
    "solved at once, last quarter": 0.6,
}
EARLY = Sample(requests=50, kills=1, megabytes=90.0, recall=0.004, lessons=19, records=60)
LATER = Sample(requests=80, kills=2, megabytes=100.0, recall=0.005, lessons=20, records=90)
LAST = Sample(requests=100, kills=2, megabytes=101.0, recall=0.005, lessons=20, records=70)


def faults_of(found=FOUND, samples=(EARLY, LATER, LAST)):
    return faults(found, samples, users=9, requests=100, kills=2, limit=LIMIT)


def test_nothing_is_wrong_with_a_good_run():
    assert faults_of() == []


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("answered", 99),
        ("users", 8),
        ("kills", 1),
        ("wrong answers", 1),
        ("lessons of other users in prompts", 1),
        ("namespaces with other users' words", 1),
        ("threads with other users' words", 1),
        ("users whose trials are counted wrongly", 1),
    ],
)
def test_a_wrong_number_is_named(name, number):
    [fault] = faults_of({**FOUND, name: number})
    assert fault.startswith(f"{name}: {number}")


def test_a_kill_that_cuts_off_nothing_shows_nothing():
    assert faults_of({**FOUND, "sent again": 1}) == ["a kill cut off no request"]


def test_a_service_that_learns_nothing_is_named():
    assert faults_of({**FOUND, "solved at once, last quarter": 0.1}) == ["nothing was learnt"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"megabytes": 120.0}, "memory has grown from 100 to 120 MB"),
        ({"recall": 0.08}, "a recall needs 80 ms"),
        ({"records": 300}, "a recall reads 300 records, and 60"),
        ({"lessons": 21}, "21 lessons of a user are kept, and not 20"),
    ],
)
def test_what_grows_is_named(change, says):
    [fault] = faults_of(samples=(EARLY, LATER, replace(LAST, **change)))
    assert fault.startswith(says)


def test_memory_before_the_last_kill_is_that_of_another_process():
    [fault] = faults_of(samples=(EARLY, LAST))
    assert "not measured twice" in fault


def test_a_store_that_is_never_full_says_nothing_about_recalls():
    samples = [replace(sample, lessons=10) for sample in (EARLY, LATER, LAST)]
    [fault] = faults_of(samples=samples)
    assert "a full store was not looked at twice" in fault


@pytest.mark.parametrize("place", ["checkpoint", "metadata", "write"])
def test_a_lesson_of_another_user_is_found_on_a_thread(tmp_path, place):
    own = b"\xa5parcel 1 of user1 lies in depot 7"
    saved = dict.fromkeys(("checkpoint", "metadata", "write"), own)
    saved[place] = b"\xa6parcel 2 of user10 lies in depot 8"
    with closing(sqlite3.connect(tmp_path / "threads.db")) as threads, threads:
        threads.execute("CREATE TABLE checkpoints (thread_id, checkpoint, metadata)")
        threads.execute("CREATE TABLE writes (thread_id, value)")
        threads.execute("INSERT INTO checkpoints VALUES ('user1-4', ?, ?)", (saved["checkpoint"], saved["metadata"]))
        threads.execute("INSERT INTO writes VALUES ('user1-4', ?)", (saved["write"],))
        threads.execute("INSERT INTO writes VALUES ('user10-5', ?)", (b"user10",))
    assert strangers_on_threads(tmp_path) == ["user1-4"]
