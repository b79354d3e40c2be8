"""What a run makes of a model's time: how long tasks take beside their calls, and CPU per step.

    python -m tests.performance.throughput [--case 16 --case 64 --case 256x2] [--repeats 3] [--json]

A case is a number of tasks that are advanced at once, and of processes that share them. Each is a run of four times
as many tasks, at least 64, with one trial of 20 steps: the real thing, checkpoints in SQLite and all. The model
is a loopback server in another process that takes half a second for each answer; a prompt always has 12 messages of
about 500 characters. A task's ideal is the latency of its calls together. What is printed is the mean wall time of a
task beside it; `whole` is the wall time of the run, beside the latency of all calls over the concurrency.

In turns with it, as many tasks at once send such requests in a bare loop over LangChain's plain `ChatOpenAI`, which
has neither graph nor checkpoint nor record. Compare the ratios of one run, since machines differ and are noisy.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Coroutine, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from openai import DefaultAsyncHttpxClient

from langgraph_reflexion.actors.react import STOP
from langgraph_reflexion.experiments.lock import locked
from langgraph_reflexion.experiments.rows import TrialRow
from langgraph_reflexion.experiments.runner import run_setup
from langgraph_reflexion.experiments.scheduler import NullObserver
from tests.performance.graph_cost import model_server
from tests.performance.treadmill import CONVERSATION, REPLY, Hall, walking


class Case(NamedTuple):
    """What is measured."""

    concurrency: int
    """How many tasks at once, in all processes together."""
    workers: int

    @classmethod
    def parse(cls, text: str) -> "Case":
        """Read a case such as `64` or `256x2`."""
        concurrency, _, workers = text.partition("x")
        case = cls(int(concurrency), int(workers or 1))
        if not 1 <= case.workers <= case.concurrency:
            raise ValueError(text)
        return case

    @property
    def tasks(self) -> int:
        """How many tasks there are."""
        return max(64, 4 * self.concurrency)

    def __str__(self) -> str:
        return f"{self.concurrency}x{self.workers}"


class Share(NamedTuple):
    """What one process has of it."""

    port: int
    tasks: int
    first: int
    """The number of its first task."""
    concurrency: int
    steps: int


class Seen(NamedTuple):
    """What one process saw."""

    walls: list[float]
    """The wall time of each run, in seconds."""
    cpu: float
    """Its CPU time, in seconds."""
    seconds: float
    """From its first run's beginning to its last one's end."""


class Watch(NullObserver):
    """Writes down when each run ended."""

    def __init__(self) -> None:
        self.ended: dict[str, float] = {}

    def on_trial(self, row: TrialRow, finished: bool) -> None:
        """A run has one trial."""
        if row["stop_reason"] != "terminated":
            raise RuntimeError(f"{row['task_id']} did not run to its end: {row['stop_reason']} {row['fault']}")
        self.ended[row["task_id"]] = time.perf_counter()


async def recorded_run(share: Share) -> list[float]:
    """The wall times of a run's tasks."""
    watch = Watch()
    hall = Hall(share.steps, share.first)
    url = f"http://127.0.0.1:{share.port}/v1"
    async with DefaultAsyncHttpxClient() as connections:
        settings, setup = walking(url, hall, share.tasks, share.concurrency, connections)
        with tempfile.TemporaryDirectory() as folder, locked(Path(folder) / "run") as lock:
            await run_setup(settings, setup, Path(folder) / "run", watch, lock)
    return [ended - hall.began[task] for task, ended in watch.ended.items()]


async def bare_loop(share: Share) -> list[float]:
    """The wall times of tasks that do nothing but call."""
    from langchain_openai import ChatOpenAI
    from pydantic import SecretStr

    client = ChatOpenAI(model="m", base_url=f"http://127.0.0.1:{share.port}/v1", api_key=SecretStr("none"))
    slots = asyncio.Semaphore(share.concurrency)

    async def run() -> float:
        async with slots:
            began = time.perf_counter()
            for _ in range(share.steps):
                await client.ainvoke(CONVERSATION, stop=STOP, seed=1)
            return time.perf_counter() - began

    return await asyncio.gather(*(run() for _ in range(share.tasks)))


WAYS: dict[str, Callable[[Share], Coroutine[Any, Any, list[float]]]] = {"recorded": recorded_run, "bare": bare_loop}


def work(pipe: Connection, share: Share) -> None:
    """A process: does what it is told, once everything is loaded and connected a first time."""

    async def obey() -> None:
        for way in WAYS.values():
            await way(share._replace(tasks=2, concurrency=2, steps=2))
        pipe.send(None)
        while (name := pipe.recv()) is not None:  # nothing else goes on while it waits
            cpu, began = time.process_time(), time.perf_counter()
            walls = await WAYS[name](share)
            pipe.send(Seen(walls, time.process_time() - cpu, time.perf_counter() - began))

    # One event loop for all of it: LangChain's clients share their connections, which belong to a loop.
    asyncio.run(obey())


class Measured(NamedTuple):
    """What came of a case one way."""

    task: float
    """A task's mean wall time over its ideal."""
    whole: float
    """The wall time of all over the ideal: the latency of all calls over the concurrency."""
    cpu: float
    """CPU milliseconds per step."""


def measure(case: Case, port: int, steps: int, latency: float, repeats: int) -> dict[str, Measured]:
    """A case measured each way, in turns; the medians."""
    context = multiprocessing.get_context("spawn")
    tasks, concurrency = case.tasks // case.workers, case.concurrency // case.workers
    pipes, processes = [], []
    try:
        for number in range(case.workers):
            ours, theirs = context.Pipe()
            share = Share(port, tasks, number * tasks, concurrency, steps)
            processes.append(context.Process(target=work, args=(theirs, share), daemon=True))
            processes[-1].start()
            theirs.close()
            pipes.append(ours)
        for pipe in pipes:
            pipe.recv()
        seen: dict[str, list[Measured]] = {way: [] for way in WAYS}
        for _ in range(repeats):
            for way in WAYS:
                for pipe in pipes:
                    pipe.send(way)
                seen[way].append(summed([pipe.recv() for pipe in pipes], steps, latency, case))
        for pipe, process in zip(pipes, processes, strict=True):
            pipe.send(None)
            process.join()
        return {way: Measured._make(map(statistics.median, zip(*each, strict=True))) for way, each in seen.items()}
    finally:
        for process in processes:
            process.kill()


def summed(parts: Sequence[Seen], steps: int, latency: float, case: Case) -> Measured:
    """What all processes saw together."""
    walls = [wall for part in parts for wall in part.walls]
    ideal = steps * latency
    return Measured(
        statistics.mean(walls) / ideal,
        max(part.seconds for part in parts) / (ideal * len(walls) / case.concurrency),
        sum(part.cpu for part in parts) * 1000 / (steps * len(walls)),
    )


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", type=Case.parse, action="append", metavar="CONCURRENCY[xWORKERS]")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--latency", type=float, default=0.5)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    os.environ["LANGSMITH_TRACING"] = "false"
    results = {}
    if not options.json:
        print(f"{'':<21}{'run':<27}{'bare loop':<20}CPU of run")
        columns = f"{'task':<8}{'whole':<8}{'CPU ms':<11}{'task':<8}{'CPU ms':<12}"
        print(f"{'at once x processes':<21}{columns}over bare")
    with model_server(REPLY, options.latency) as port:
        for case in options.case or [Case(16, 1), Case(64, 1), Case(256, 2)]:
            found = measure(case, port, options.steps, options.latency, options.repeats)
            ours, bare = found["recorded"], found["bare"]
            ratio = ours.cpu / bare.cpu
            results[str(case)] = {**{way: each._asdict() for way, each in found.items()}, "cpu_ratio": ratio}
            if not options.json:
                columns = f"{ours.task:<8.3f}{ours.whole:<8.3f}{ours.cpu:<11.2f}{bare.task:<8.3f}{bare.cpu:<12.2f}"
                print(f"{case!s:<21}{columns}{ratio:.2f}", flush=True)
    if options.json:
        print(json.dumps(results))


if __name__ == "__main__":
    main()
