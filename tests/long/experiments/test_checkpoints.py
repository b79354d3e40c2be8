"""Checkpoints on a real Postgres server, beside those in SQLite: clocks, copies, and text that Postgres refuses."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from langgraph_reflexion import StepResult, action
from langgraph_reflexion.errors import ConfigurationError, EnvironmentFault, ModelFault
from tests.faces.experiments.test_resume import SETTINGS, Interrupted, RefusedError, drive_all, think_first, timeless
from tests.support.game import Guess
from tests.support.guessing import Guessing, Watch, rows
from tests.support.poison import poisons
from tests.support.postgres_server import postgres_server

ROOT = Path(__file__).parent.parent.parent.parent
KINDS = ("latest", "history")

pytestmark = pytest.mark.needs("PostgreSQL")


@pytest.fixture(scope="module")
def database():
    pytest.importorskip("psycopg", reason="needs the extra postgres")
    with postgres_server() as address:
        yield address


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    drive_all(folder, think_first, **SETTINGS)
    return timeless(folder)


AHEAD = """
import sys, time
from pathlib import Path
now = time.time_ns
time.time_ns = lambda: now() + 3 * 3600 * 10**9
from tests.faces.experiments.test_resume import SETTINGS, Interrupted, ModelFault, RefusedError, drive_all
for kind in ("latest", "history"):
    for database in sys.argv[1:]:
        name, model = f"{kind}-{bool(database)}", Interrupted(5, RefusedError("no"))
        try:
            drive_all(Path(name), model, checkpoints=kind, database=database or None, **SETTINGS)
        except ModelFault:
            print(name)
"""


def test_a_run_continues_on_a_machine_whose_clock_is_behind(database, whole, tmp_path):
    paths = [*filter(None, [os.environ.get("PYTHONPATH")]), str(ROOT)]
    environment = {"PYTHONPATH": os.pathsep.join(paths)}
    program = [sys.executable, "-c", AHEAD, "", database]
    begun = subprocess.run(program, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert begun.stdout.split() == ["latest-False", "latest-True", "history-False", "history-True"], begun.stderr
    for kind in KINDS:
        for where in (None, database):
            folder = tmp_path / f"{kind}-{bool(where)}"
            drive_all(folder, think_first, checkpoints=kind, database=where, **SETTINGS)
            assert timeless(folder) == whole, folder.name


class Overtaken(Watch):
    """After the first trial, another process ends the run in a copy of its folder."""

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        super().__init__()
        self.folder, self.settings = folder, settings

    def on_trial(self, *args):
        if not self.seen:
            other = Thread(target=drive_all, args=(self.folder, think_first), kwargs=self.settings)
            other.start()
            other.join()
        super().on_trial(*args)


@pytest.mark.parametrize("kind", KINDS)
def test_a_record_with_gaps_is_an_error(kind, database, whole, tmp_path):
    folder, copy = tmp_path / "run", tmp_path / "copy"
    settings = SETTINGS | {"checkpoints": kind, "database": database}
    with pytest.raises(ModelFault):
        drive_all(folder, Interrupted(2, RefusedError("no")), **settings)
    shutil.copytree(folder, copy)
    with pytest.raises(ConfigurationError, match=r"lacks trial 1 of g3: .* append the copy's trials.jsonl to"):
        drive_all(folder, think_first, observer=Overtaken(copy, settings), **settings)
    assert timeless(copy) == whole
    with (folder / "trials.jsonl").open("ab") as file:
        file.write((copy / "trials.jsonl").read_bytes())
    _, model = drive_all(folder, think_first, **settings)
    assert (timeless(folder), model.prompts) == (whole, [])


class Binary(Guess):
    """Answers with a NUL, and the first time in trial 2 with a fault that quotes one."""

    broken = True

    @action("say {number}")
    def say(self, number: int) -> StepResult:
        """Say a number."""
        if Binary.broken and number == 2:
            Binary.broken = False
            raise EnvironmentFault("the game sent \0", transient=False)
        return StepResult("\0", float(number == self.number), terminated=True)


class BinaryGuessing(Guessing):
    episode = Binary

    def start(self, task):
        return Binary(task["data"]["number"])


class OverloadedError(Exception):
    status_code = 503


@pytest.mark.parametrize("kind", KINDS)
def test_nuls_reach_no_database(kind, database, tmp_path):
    overloaded = [OverloadedError("the server sent \0")]

    def reply(messages):
        message = think_first(messages)
        if message.text.startswith("Wrong") and overloaded:
            return overloaded.pop()
        return message.model_copy(update={"content": message.text.replace(".", "\0.")})

    Binary.broken = True
    settings = SETTINGS | {"checkpoints": kind, "database": database, "environment": BinaryGuessing(numbers=[2])}
    causes = [" ".join(drive_all(tmp_path, reply, **settings)[0].faults) for _ in range(3)]
    for cause, says in zip(causes, ("the server sent \ufffd", "the game sent \ufffd", ""), strict=True):
        assert says in cause if says else not cause
    assert [row["success"] for row in rows(tmp_path)] == [False, True]
    assert "\\u0000" not in (tmp_path / "trials.jsonl").read_text()


@pytest.mark.parametrize("table", ["checkpoint_blobs", "checkpoint_writes"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_value_of_somebody_else_in_the_database_runs_nothing(kind, table, database, tmp_path):
    import psycopg

    made = tmp_path / "made by a stored value"
    settings = SETTINGS | {"checkpoints": kind, "database": database}
    with pytest.raises(ModelFault):
        drive_all(tmp_path / "run", Interrupted(4, RefusedError("no")), **settings)
    with psycopg.connect(database) as connection:
        poisoned = connection.execute(f"UPDATE {table} SET type = %s, blob = %s", poisons(made)["one argument"])
        assert poisoned.rowcount > 0
    with pytest.raises(ConfigurationError, match=r"the checkpoints in postgresql://.* hold .* os\.mkdir"):
        drive_all(tmp_path / "run", think_first, **settings)
    assert not made.exists()
    with psycopg.connect(database) as connection:
        connection.execute(f"DELETE FROM {table}")
