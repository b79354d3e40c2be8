"""Run the rivals, and write a row for each task.

    python -m benchmarks.rivals.run --base-url http://127.0.0.1:8080/v1 --out runs/rivals

Every row goes to `rows.jsonl` in the folder `--out` as soon as it is there, and rows that are there are not run
again: a run that was stopped continues. `--replies FILE` keeps the model's replies, so that a repeated run in another
folder asks it nothing, and gives the same rows. `--scripted` takes a script in place of a model, as a rehearsal.
"""

import argparse
import contextlib
import io
import json
import logging
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx

from benchmarks.rivals.protocol import (
    WHERE,
    WORLDS,
    Job,
    Model,
    Rival,
    Task,
    Verdict,
    World,
    load_rival,
    load_world,
)
from benchmarks.rivals.scripted import ScriptedServer
from benchmarks.rivals.wire import Wire, way_to

Row = dict[str, Any]

SETTINGS = {
    # LiteLLM, a client of DSPy's, would ask the network for prices.
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    # Strands and LangChain may send traces.
    "OTEL_SDK_DISABLED": "true",
    "LANGSMITH_TRACING": "false",
}
"""Environment variables that keep the packages off the network, but for the model."""

TRAINING = "(training)"
"""What stands for the task in the row of a training."""

USED_UP = "calls used up"
"""How a rival has ended whose requests were refused."""

SECONDS_TO_ASK = 60.0
"""Time in which a server that is at work still answers."""

MOST_WORDS = 300
"""Characters of an error in a row."""


@dataclass(frozen=True)
class Settings:
    """What all rows of a run have in common.

    Attributes:
        server: The model's address, which ends in `/v1`.
        model: Its name and options; the address is another for each job.
        calls: Calls of the model that each task is allowed; what the world says if None.
        tasks: Tasks of each half, spread evenly; all of them if None.
        replies: A file in which replies are kept.
        sample: Tells samples apart: other rows, and other kept replies.
    """

    server: str
    model: Model
    calls: int | None = None
    tasks: int | None = None
    replies: Path | None = None
    sample: int = 1

    def allowed(self, world: World) -> int:
        """Return the calls that each task of a world is allowed."""
        return self.calls or world.calls


def spread(tasks: Sequence[Task], count: int | None) -> list[Task]:
    """Return a number of tasks, spread evenly over all."""
    if count is None or count >= len(tasks):
        return list(tasks)
    return [tasks[place * len(tasks) // count] for place in range(count)]


def job_of(world: World, task: Task, folder: Path, wire: Wire, settings: Settings) -> Job:
    """Return a task as a rival gets it."""
    folder.mkdir(parents=True, exist_ok=True)
    model = replace(settings.model, url=wire.url)
    return Job(world.open(task, folder), model, settings.allowed(world), world.steps, spent=wire.spent)


def solve(rival: Rival, world: World, task: Task, settings: Settings, trained: Row) -> Row:
    """Let a rival solve a task, and return what came of it.

    What it leaves behind is judged once more when it has ended, whatever it says itself, and when its calls are used
    up: one package ends there, and another one takes the refusal for a failed attempt, and resets the world.
    """
    began = time.monotonic()
    way = way_to(settings.server, settings.allowed(world), replies=settings.replies, label=str(settings.sample))
    with TemporaryDirectory() as name, way as wire:
        job = job_of(world, task, Path(name), wire, settings)
        job.trained = trained
        at_limit: list[Verdict] = []
        wire.when_used_up = lambda: at_limit.append(job.world.verdict(""))
        answer = ""
        ended = "returned"
        try:
            with quiet():
                answer = rival.solve(job)
        except Exception as error:
            ended = f"{type(error).__name__}: {error}"[:MOST_WORDS]
            if job.checks:
                answer = job.checks[-1].answer
        if wire.lost_requests:
            expect_server(settings.server)
        if wire.refused:
            # Whatever a package makes of a refusal: an exception, or another failed attempt.
            ended = USED_UP
        verdict = job.world.verdict(answer)
        if at_limit and at_limit[0].accepted:
            verdict = at_limit[0]
        return {
            "solved": verdict.accepted,
            "words": verdict.words,
            "answer": answer,
            "ended": ended,
            "checks": [check._asdict() for check in job.checks],
            "seconds": round(time.monotonic() - began, 2),
            **wire.row(),
        }


def train(rival: Rival, world: World, settings: Settings) -> Row:
    """Let a rival train on the train half, with as many calls as the others are allowed for the whole test half."""
    assert rival.train
    began = time.monotonic()
    tasks = spread(world.tasks("train"), settings.tasks)
    measured = spread(world.tasks("test"), settings.tasks)
    most = settings.allowed(world) * len(measured)
    way = way_to(settings.server, most, replies=settings.replies, label=str(settings.sample))
    with TemporaryDirectory() as name, way as wire:
        jobs = [job_of(world, task, Path(name) / task.name, wire, settings) for task in tasks]
        ended = "returned"
        trained: Row = {}
        try:
            with quiet():
                trained = rival.train(jobs, wire.left, Path(name))
        except Exception as error:
            ended = f"{type(error).__name__}: {error}"[:MOST_WORDS]
        if wire.lost_requests:
            expect_server(settings.server)
        return {"trained": trained, "ended": ended, "seconds": round(time.monotonic() - began, 2), **wire.row()}


def expect_server(server: str) -> None:
    """Stop the run if the model's server is gone, which is no failure of the rival's."""
    try:
        httpx.get(f"{server}/models", timeout=SECONDS_TO_ASK)
    except httpx.TransportError as error:
        raise SystemExit(
            f"the model's server at {server} does not answer ({error}): start it, and run the same command again; "
            "the task has no row yet"
        ) from error


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep what packages print and log out of the terminal."""
    logging.disable(logging.CRITICAL)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        logging.disable(logging.NOTSET)


# The rows


class Rows:
    """The rows of a run in a file, each with its rival, world, task and sample."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.file = folder / "rows.jsonl"
        if self.file.exists() and not self.file.read_text(encoding="utf-8").endswith("\n"):
            # A kill has broken the last line off, and the next row begins a new one.
            with self.file.open("a", encoding="utf-8") as file:
                file.write("\n")
        self.found = {key_of(row): row for row in read_rows(self.file)}

    def write(self, row: Row) -> None:
        """Append a row."""
        with self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
        self.found[key_of(row)] = row


def key_of(row: Row) -> tuple[str, str, str, int]:
    """Return what a row is about."""
    return row["rival"], row["world"], row["task"], row["sample"]


def read_rows(file: Path) -> list[Row]:
    """Return the rows of a file; none if it does not exist.

    A line that breaks off, as a kill may leave it, is left out.
    """
    if not file.exists():
        return []
    rows = []
    for line in file.read_text(encoding="utf-8").splitlines():
        try:
            rows.append(json.loads(line))
        except ValueError:
            continue
    return rows


def play(name: str, world: World, settings: Settings, rows: Rows) -> None:
    """Let a rival solve the tasks of the test half that have no row yet."""
    rival = load_rival(name)
    if rival.in_changing_worlds and not world.changes:
        print(f"{name} in {world.name}: left out, as its attempts leave nothing behind there")
        return
    head = {
        "rival": name,
        "version": rival.version,
        "world": world.name,
        "sample": settings.sample,
        "model": settings.model.name,
        "calls_allowed": settings.allowed(world),
    }
    trained: Row = {}
    if rival.train:
        trained = trained_for(name, rival, world, settings, rows, head)
        if not trained:
            return
    tasks = spread(world.tasks("test"), settings.tasks)
    for number, task in enumerate(tasks, 1):
        if (name, world.name, task.name, settings.sample) in rows.found:
            continue
        row = {**head, "task": task.name, **solve(rival, world, task, settings, trained)}
        rows.write(row)
        print(f"{name} in {world.name}, {number} of {len(tasks)}: {outcome(row)}", flush=True)


def trained_for(name: str, rival: Rival, world: World, settings: Settings, rows: Rows, head: Row) -> Row:
    """Return what a rival has learned in a world; empty if its training failed."""
    row = rows.found.get((name, world.name, TRAINING, settings.sample))
    if row is None:
        row = {**head, "task": TRAINING, **train(rival, world, settings)}
        rows.write(row)
        print(f"{name} in {world.name}: trained in {row['calls']} calls, {row['ended']}", flush=True)
    found: Row = row["trained"]
    return found


def outcome(row: Row) -> str:
    """Return a row's outcome in words."""
    solved = "not solved"
    if row["solved"]:
        solved = "solved"
    return f"{row['task']} {solved} in {row['calls']} calls, {row['ended']}"


def read_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Run the rivals, and write a row for each task.")
    parser.add_argument("--base-url", default="http://127.0.0.1:8080/v1", help="the model's address, ends in /v1")
    parser.add_argument("--model", default="qwen2.5-coder-1.5b", help="the model's name")
    parser.add_argument("--out", type=Path, default=Path("runs/rivals"), help="the folder of the rows")
    parser.add_argument("--rivals", nargs="+", choices=WHERE, default=list(WHERE))
    parser.add_argument("--worlds", nargs="+", choices=WORLDS, default=list(WORLDS))
    parser.add_argument("--tasks", type=int, help="tasks of each half, spread evenly; all unless given")
    parser.add_argument(
        "--calls", type=int, help="calls of the model that each task is allowed; the world's unless given"
    )
    parser.add_argument("--sample", type=int, default=1, help="another number is another sample of the same rows")
    parser.add_argument("--replies", type=Path, help="a file in which the model's replies are kept")
    parser.add_argument("--scripted", action="store_true", help="a script in place of the model: a rehearsal")
    return parser.parse_args()


def main() -> None:
    """Run all rivals in all worlds; a rival whose package is missing is named, and left out."""
    os.environ.update(SETTINGS)
    given = read_arguments()
    rows = Rows(given.out)
    for world_name in given.worlds:
        world = load_world(world_name)
        for name in given.rivals:
            try:
                play_with(given, name, world, rows)
            except ImportError as error:
                print(f"{name}: left out, as its package is missing ({error})")


def play_with(given: argparse.Namespace, name: str, world: World, rows: Rows) -> None:
    """Let a rival play as the command line says."""
    with contextlib.ExitStack() as stack:
        server = given.base_url
        if given.scripted:
            # A script of its own for each rival: it counts the attempts that it has let go wrong.
            server = stack.enter_context(ScriptedServer(world)).url
        model = Model(server, given.model)
        settings = Settings(server, model, given.calls, given.tasks, given.replies, given.sample)
        play(name, world, settings, rows)


if __name__ == "__main__":
    main()
