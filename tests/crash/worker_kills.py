"""Is anything lost when a run's workers are killed? They are, with SIGKILL at random moments, while it goes on.

    python -m tests.crash.worker_kills [--executor process|ray] [--rounds 5] [--kills 1] [--json]

A run of ALFWorld tasks under `reflexion`, whose model is behind a loopback server that records every request, is
done by one process, in peace, and then in rounds by several workers, some of which are killed. Each round must record
the same, times apart: every task, each trial once. No request may be new, and at most one per kill and task that the
worker had in hand may be repeated. With `--executor ray` a Postgres server and a Ray cluster are started for it. Exit
status 1 means that something was lost. Runs on Linux.
"""

import argparse
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.crash.demo_server import demo_server, read_requests
from tests.crash.postgres_server import postgres_server
from tests.crash.ray_cluster import ray_cluster
from tests.crash.reference_run import command, differences, recorded

PATIENCE = 180.0
"""How many seconds a round may last."""
WORKERS = (b"ray::RayWorker", b"langgraph_reflexion.experiments.processes")
"""What the command line of a worker has in it."""


@dataclass
class Outcome:
    """What was seen.

    Attributes:
        rounds: How many runs with killed workers there were.
        kills: How many workers were killed in them.
        tasks: How many tasks each run had.
        trials: How many trials.
        requests: How many requests the server got in the rounds.
        repeated: How many of these had been sent before in the same round.
        seconds: How long the rounds took, on average.
        peace_seconds: How long one process took.
        violations: What must not be.
    """

    rounds: int = 0
    kills: int = 0
    tasks: int = 0
    trials: int = 0
    requests: int = 0
    repeated: int = 0
    seconds: float = 0.0
    peace_seconds: float = 0.0
    violations: list[str] = field(default_factory=list)


class WorkerKills:
    """Does the runs and compares them.

    Args:
        folder: Where everything is written.
        tasks: How many tasks.
        trials: At most so many trials per task.
        concurrency: How many tasks at once.
        workers: How many workers.
        seconds: How long the model takes to answer, on average.
        seed: Draws the moments of the kills.
        more: More options of the runs with workers, such as `--executor ray`.
        environment: More variables of their environment, such as `RAY_ADDRESS`.
    """

    def __init__(
        self,
        folder: Path,
        *,
        tasks: int = 20,
        trials: int = 3,
        concurrency: int = 8,
        workers: int = 2,
        seconds: float = 0.02,
        seed: int = 0,
        more: list[str] | None = None,
        environment: dict[str, str] | None = None,
    ) -> None:
        self.folder = folder
        self.tasks, self.trials, self.concurrency, self.workers = tasks, trials, concurrency, workers
        self.seconds = seconds
        self.more = more or []
        self.environment = environment or {}
        self.random = random.Random(seed)
        self.requests = folder / "requests.jsonl"
        self.outcome = Outcome()

    def run(self, rounds: int, kills: int = 1) -> Outcome:
        """Do a run in peace, and then this many rounds.

        Args:
            rounds: How many.
            kills: How many workers are killed in each of them.
        """
        with demo_server(multiprocessing.get_context("spawn"), self.requests, self.seconds) as url:
            began = time.perf_counter()
            if not self._end("peace", self._start("peace", url, [])):
                return self.outcome
            self.outcome.peace_seconds = round(time.perf_counter() - began, 1)
            reference = recorded(self.folder / "peace")
            self.outcome.trials = len(reference)
            self.outcome.tasks = len({task for task, _ in reference})
            self.peace = {request[1:] for request in read_requests(self.requests)}
            began = time.perf_counter()
            for number in range(1, rounds + 1):
                self._round(f"round-{number}", url, kills)
            self.outcome.seconds = round((time.perf_counter() - began) / rounds, 1)
        return self.outcome

    def _round(self, name: str, url: str, kills: int) -> None:
        before = len(read_requests(self.requests))
        process = self._start(name, url, ["--workers", str(self.workers), *self.more])
        # Somewhere on the way: after so many of the requests that it takes.
        moments = sorted(self.random.randrange(1, max(2, int(0.9 * len(self.peace)))) for _ in range(kills))
        deadline = time.monotonic() + PATIENCE
        for moment in moments:
            while process.poll() is None and time.monotonic() < deadline:
                if len(read_requests(self.requests)) - before >= moment and (found := workers_in(self.folder / name)):
                    os.kill(self.random.choice(found), signal.SIGKILL)
                    self.outcome.kills += 1
                    break
                time.sleep(0.005)
        self.outcome.rounds += 1
        if not self._end(name, process):
            return
        told = differences(self.folder / name, self.folder / "peace")
        self.outcome.violations += [f"{name}: {what}" for what in told]
        asked = [request[1:] for request in read_requests(self.requests)[before:]]
        repeated = sum(times - 1 for times in Counter(asked).values())
        self.outcome.requests += len(asked)
        self.outcome.repeated += repeated
        if set(asked) != self.peace:
            new, missing = len(set(asked) - self.peace), len(self.peace - set(asked))
            self.outcome.violations.append(f"{name}: {new} new requests, {missing} missing ones")
        if repeated > kills * -(-self.concurrency // self.workers):
            self.outcome.violations.append(f"{name}: {repeated} requests repeated after {kills} kills")

    def _start(self, name: str, url: str, more: list[str]) -> "subprocess.Popen[str]":
        home = self.folder / name
        home.mkdir()
        arguments = command(url, ".", tasks=self.tasks, trials=self.trials, concurrency=self.concurrency)
        return subprocess.Popen(
            [sys.executable, "-m", "langgraph_reflexion", *arguments, *more],
            cwd=home,
            env={**os.environ, "LANGSMITH_TRACING": "false", **self.environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def _end(self, name: str, process: "subprocess.Popen[str]") -> bool:
        """Wait for a run. Returns whether it came to a good end."""
        try:
            _, said = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            _, said = process.communicate()
            self.outcome.violations.append(f"{name} hung")
        if process.returncode != 0:
            last = " / ".join(said.splitlines()[-3:])
            self.outcome.violations.append(f"{name} ended with status {process.returncode}: {last}")
        return process.returncode == 0


def workers_in(home: Path) -> list[int]:
    """The workers of the run that was started in this folder, by their process numbers."""
    return [pid for pid, command, where in _processes() if where == home and any(word in command for word in WORKERS)]


def _processes() -> Iterator[tuple[int, bytes, Path]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                yield int(entry.name), (entry / "cmdline").read_bytes(), (entry / "cwd").readlink()
            except OSError:  # it has just ended, or is somebody else's
                continue


@contextmanager
def parts_of(executor: str, workers: int) -> Iterator[tuple[list[str], dict[str, str]]]:
    """Start what an executor needs; yield the options and the environment of a run that uses it."""
    with ExitStack() as stack:
        if executor == "process":
            yield [], {}
        else:
            database = stack.enter_context(postgres_server())
            yield ["--executor", executor, "--database", database], stack.enter_context(ray_cluster(workers))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n\n")[0])
    parser.add_argument("--executor", choices=("process", "ray"), default="process", help="where the workers are")
    parser.add_argument("--rounds", type=int, default=5, help="how many runs (5)")
    parser.add_argument("--kills", type=int, default=1, help="workers killed in each (1)")
    parser.add_argument("--tasks", type=int, default=20, help="of a run (20)")
    parser.add_argument("--trials", type=int, default=3, help="at most so many per task (3)")
    parser.add_argument("--concurrency", type=int, default=8, help="so many tasks at once (8)")
    parser.add_argument("--workers", type=int, default=2, help="so many workers (2)")
    parser.add_argument("--milliseconds", type=float, default=20.0, help="that the model takes to answer (20)")
    parser.add_argument("--seed", type=int, default=0, help="draws the moments of the kills (0)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, parts_of(args.executor, args.workers) as (more, environment):
        outcome = WorkerKills(
            Path(folder).resolve(),
            tasks=args.tasks,
            trials=args.trials,
            concurrency=args.concurrency,
            workers=args.workers,
            seconds=args.milliseconds / 1000,
            seed=args.seed,
            more=more,
            environment=environment,
        ).run(args.rounds, args.kills)
    if args.json:
        print(json.dumps(asdict(outcome), indent=2))
    else:
        for name, value in asdict(outcome).items():
            print(f"{name}: {value}")
    sys.exit(1 if outcome.violations else 0)


if __name__ == "__main__":
    main()
