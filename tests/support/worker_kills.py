"""A run whose workers are killed with SIGKILL at random moments, compared with the reference run.

It must record the same, except times. No request may be new, and at most one per kill and task that the worker was
working on may be repeated.
"""

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.demo_server import demo_server, read_requests
from tests.support.reference_run import command, differences, new_or_repeated

ROUND_SECONDS = 240.0
"""Seconds that one run may last."""
TITLE = b"ray::Worker"


@dataclass
class Outcome:
    """N workers killed, and what must not happen."""

    kills: int = 0
    violations: list[str] = field(default_factory=list)


class WorkerKills:
    """Runs, kills and compares.

    Args:
        folder: Where everything is written.
        more: More options of the runs with workers, such as `--ray-address`.
        environment: More variables of their environment.
    """

    tasks, trials, concurrency, workers = 6, 2, 6, 2

    def __init__(self, folder: Path, more: tuple[str, ...] = (), environment: Mapping[str, str] = {}) -> None:
        self.folder, self.more, self.environment = folder, more, environment
        self.random = random.Random(0)
        self.requests = folder / "requests.jsonl"
        self.outcome = Outcome()

    def run(self, rounds: int) -> Outcome:
        """Do the reference run, and then rounds of runs in each of which a worker is killed."""
        with demo_server(multiprocessing.get_context("spawn"), self.requests, 0.02) as url:
            if self._end("reference", self._start("reference", url)):
                self.reference = read_requests(self.requests)
                for number in range(1, rounds + 1):
                    self._round(f"round-{number}", url)
        return self.outcome

    def _round(self, name: str, url: str) -> None:
        before = len(read_requests(self.requests))
        process = self._start(name, url, "--workers", str(self.workers), *self.more)
        # After a random number of the requests that the run takes.
        moment = self.random.randrange(1, int(0.9 * len(self.reference)))
        deadline = time.monotonic() + ROUND_SECONDS
        while process.poll() is None and time.monotonic() < deadline:
            found = workers_in(self.folder / name)
            if found and len(read_requests(self.requests)) - before >= moment:
                os.kill(self.random.choice(found), signal.SIGKILL)
                self.outcome.kills += 1
                break
            time.sleep(0.005)
        if not self._end(name, process):
            return
        self.outcome.violations += differences(self.folder / name, self.folder / "reference")
        asked, most = read_requests(self.requests)[before:], -(-self.concurrency // self.workers)
        self.outcome.violations += [f"{name}: {each}" for each in new_or_repeated(asked, self.reference, most)]

    def _start(self, name: str, url: str, *more: str) -> "subprocess.Popen[str]":
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
        """Wait for a run. Returns whether it ended well."""
        try:
            _, errors = process.communicate(timeout=ROUND_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            _, errors = process.communicate()
            self.outcome.violations.append(f"{name} hung")
        if process.returncode != 0:
            last = " / ".join(errors.splitlines()[-3:])
            self.outcome.violations.append(f"{name} ended with status {process.returncode}: {last}")
        return process.returncode == 0


def workers_in(home: Path) -> list[int]:
    """Return the process ids of the workers of the run that was started in this folder."""
    return [pid for pid, command, where in _processes() if where == home and command.startswith(TITLE)]


def _processes() -> Iterator[tuple[int, bytes, Path]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                yield int(entry.name), (entry / "cmdline").read_bytes(), (entry / "cwd").readlink()
            except OSError:  # it has just ended, or belongs to another user
                continue
