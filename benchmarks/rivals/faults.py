"""Show what becomes of three faults under each rival: a bug in the check, a failing server, and a kill.

    python -m benchmarks.rivals.faults --out runs/rivals-faults

The model is a script that errs once, and then is right, so the faults need no model and are the same each time. Each
rival plays in a process of its own. It is killed once it has failed and a tool's result is being sent to the model,
and started again with whatever the package offers to survive that. A rival that trains is disturbed in its training.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.rivals.protocol import WHERE, Job, Model, Move, Rival, World, load_rival, load_world
from benchmarks.rivals.run import MOST_WORDS, SETTINGS, quiet
from benchmarks.rivals.scripted import ScriptedServer
from benchmarks.rivals.wire import Row, Wire, way_to

WORLD = "sql-changes"
HARMLESS = Move(tool="run_sql", args={"statement": "SELECT 1"})
"""The script's wrong move: it changes nothing, so that rivals that reset nothing can go on, too."""

CALLS = 200
"""Calls that are allowed: enough for every rival, so that only a fault can stop it."""

TRAINING_ATTEMPTS = 45
"""Attempts after which a training ends by itself, those before a kill included."""

ATTEMPTS = 6
TRAINED_TASKS = 4
SECONDS = 300.0
"""Longest time that a rival may take."""

FAILING = (1, 2)
"""The requests that the server fails."""

EARLIEST = 4
EARLIEST_IN_TRAINING = 60
"""The first request at which a rival may be killed: after an attempt, or after some rounds of a training."""


class Played(NamedTuple):
    """What a process wrote at its end; nothing of one that was killed."""

    ended: str = ""
    solved: bool = False
    checks: int = 0


# The process of a rival


def play(name: str, url: str, folder: Path, *, bug: bool) -> Played:
    """Let a rival solve the first task, or train, with its state kept in a folder."""
    rival = load_rival(name)
    world = load_world(WORLD)
    count = 1
    if rival.train:
        count = TRAINED_TASKS
    jobs = open_jobs(world, url, folder, count)
    for job in jobs:
        job.bug = bug
    ended = "returned"
    try:
        with quiet():
            disturbed(rival, jobs, folder)
    except Exception as error:
        ended = f"{type(error).__name__}: {error}"[:MOST_WORDS]
    # A training is done when it has returned, whatever has become of its tasks.
    solved = ended == "returned"
    if not rival.train:
        solved = jobs[0].world.verdict("").accepted
    return Played(ended, solved, sum(len(job.checks) for job in jobs))


def open_jobs(world: World, url: str, folder: Path, count: int) -> list[Job]:
    """Return the jobs of the first tasks, whose surroundings are those that an earlier process has left."""
    jobs = []
    for task in world.tasks("train")[:count]:
        place = folder / task.name
        place.mkdir(parents=True, exist_ok=True)
        jobs.append(Job(world.open(task, place), Model(url), ATTEMPTS, world.steps))
    return jobs


def disturbed(rival: Rival, jobs: list[Job], folder: Path) -> None:
    """Let a rival do what is disturbed."""
    if rival.train:
        rival.train(jobs, lambda: TRAINING_ATTEMPTS, folder)
        return
    if rival.solve_kept:
        rival.solve_kept(jobs[0], folder)
        return
    rival.solve(jobs[0])


# The process that disturbs it


class Process:
    """A rival in a process of its own."""

    def __init__(self, name: str, wire: Wire, folder: Path, *, bug: bool = False) -> None:
        self.result = folder / "result.json"
        self.result.unlink(missing_ok=True)
        command = [sys.executable, "-W", "ignore", "-m", "benchmarks.rivals.faults", "--child", name]
        command += ["--url", wire.url, "--out", str(folder)]
        if bug:
            command.append("--bug")
        with (folder / "output.txt").open("w", encoding="utf-8") as output:
            self.started = subprocess.Popen(command, stdout=output, stderr=output)

    def kill(self) -> None:
        """Kill it as `kill -9` does."""
        with suppress(ProcessLookupError):
            os.kill(self.started.pid, signal.SIGKILL)

    def wait(self) -> Played:
        """Wait for its end, and return what it wrote."""
        try:
            self.started.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            self.started.wait()
            return Played(f"no end within {SECONDS:g} seconds")
        if not self.result.exists():
            return Played()
        return Played(**json.loads(self.result.read_text(encoding="utf-8")))


def whole(name: str, folder: Path, *, bug: bool = False, failing: Collection[int] = ()) -> Row:
    """Let a rival play once, and return its end and the requests that it made."""
    folder.mkdir(parents=True, exist_ok=True)
    with (
        ScriptedServer(load_world(WORLD), wrong=HARMLESS) as server,
        way_to(server.url, CALLS, failing=failing) as wire,
    ):
        played = Process(name, wire, folder, bug=bug).wait()
        return {**played._asdict(), **wire.row()}


def killed(name: str, folder: Path) -> Row:
    """Let a rival play, kill it after its first attempt, start it again, and return how it began again."""
    folder.mkdir(parents=True, exist_ok=True)
    bodies: list[Row] = []
    at: list[int] = []
    running: list[Process] = []
    begun = threading.Event()
    earliest = EARLIEST
    if load_rival(name).train:
        earliest = EARLIEST_IN_TRAINING

    def kill_once(number: int, body: Row) -> None:
        bodies.append(body)
        if at or number < earliest or not is_second_half(body):
            return
        begun.wait()
        running[0].kill()
        at.append(number)

    with (
        ScriptedServer(load_world(WORLD), wrong=HARMLESS) as server,
        way_to(server.url, CALLS, before=kill_once) as wire,
    ):
        running.append(Process(name, wire, folder))
        begun.set()
        first = running[0].wait()
        if not at:
            return {**first._asdict(), "began_again": "was not killed", **wire.row()}
        second = Process(name, wire, folder).wait()
        row = {**second._asdict(), "killed_at": at[0], **wire.row()}
    row["began_again"] = began_again(bodies, at[0])
    return row


def is_second_half(body: Row) -> bool:
    """Return whether a request reports what a tool has said."""
    last = body["messages"][-1]
    return last["role"] == "tool" or "observation_0" in json.dumps(last)


def began_again(bodies: list[Row], at: int) -> str:
    """Return how a rival began again after it was killed at the request with this number."""
    if len(bodies) == at:
        return "asks nothing more"
    first = bodies[at]["messages"]
    if first == bodies[at - 1]["messages"]:
        return "with the call that was lost"
    if first == bodies[0]["messages"]:
        return "with its very first call"
    if len(first) > len(bodies[at - 1]["messages"]):
        return "with the conversation, and the task once more"
    return "between the two"


def row_of(name: str, folder: Path) -> Row:
    """Return what becomes of all faults under a rival."""
    return {
        "rival": name,
        "version": load_rival(name).version,
        "trains": load_rival(name).train is not None,
        "undisturbed": whole(name, folder / "undisturbed"),
        "bug": whole(name, folder / "bug", bug=True),
        "failing": whole(name, folder / "failing", failing=FAILING),
        "killed": killed(name, folder / "killed"),
    }


# The table


def table(rows: list[Row]) -> list[str]:
    """Return the lines of the table."""
    lines = [
        "| rival | a bug in the check | the server fails twice | killed, and started again "
        "| calls, undisturbed and killed |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        calls = f"{row['undisturbed']['calls']} and {row['killed']['calls']}"
        done = "solved"
        if row["trains"]:
            done = "trained"
        begins = f"begins {row['killed']['began_again']}; {end_of(row['killed'], done)}"
        cells = [f"`{row['rival']}`", bug_words(row["bug"]), end_of(row["failing"], done), begins, calls]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def bug_words(row: Row) -> str:
    """Return in words what became of a bug in the check."""
    spent = f"{counted(row['checks'], 'check')} and {counted(row['calls'], 'call')}"
    if "KeyError" in row["ended"]:
        return f"is raised after {spent}"
    if row["ended"] == "returned":
        return f"is not raised: the answer comes after {spent}"
    return f"{row['ended']} after {spent}"


def counted(count: int, name: str) -> str:
    """Return a count with a name in the singular or plural, such as `1 call` or `2 calls`."""
    if count == 1:
        return f"1 {name}"
    return f"{count} {name}s"


def end_of(row: Row, done: str) -> str:
    """Return in words how a rival has ended, with a word for a good end."""
    if row["ended"] != "returned":
        return row["ended"] or "no end"
    if row["solved"]:
        return f"{done} after {row['requests']} requests"
    return f"not {done} after {row['requests']} requests"


def read_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Show what becomes of three faults under each rival.")
    parser.add_argument("--out", type=Path, default=Path("runs/rivals-faults"), help="the folder of the rows")
    parser.add_argument("--rivals", nargs="+", choices=WHERE, default=list(WHERE))
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    parser.add_argument("--bug", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    """Disturb each rival that has no row yet, and print the table."""
    os.environ.update(SETTINGS)
    given = read_arguments()
    if given.child:
        played = play(given.child, given.url, given.out, bug=given.bug)
        (given.out / "result.json").write_text(json.dumps(played._asdict()), encoding="utf-8")
        return
    given.out.mkdir(parents=True, exist_ok=True)
    file = given.out / "faults.jsonl"
    rows: list[dict[str, Any]] = []
    if file.exists():
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    done = {row["rival"] for row in rows}
    for name in given.rivals:
        if name in done:
            continue
        try:
            row = row_of(name, given.out.resolve() / name)
        except ImportError as error:
            print(f"{name}: left out, as its package is missing ({error})")
            continue
        with file.open("a", encoding="utf-8") as opened:
            opened.write(json.dumps(row) + "\n")
        rows.append(row)
        print(f"{name} is done", flush=True)
    print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
