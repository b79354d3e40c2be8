"""Runs whose driver or workers are killed with SIGKILL at random moments, compared with a reference run.

They record the same, except times. No request is new, and at most one is repeated per kill and task in flight.
"""

import atexit
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from langgraph_reflexion.experiments.record import TRIALS, holds_run, read_run
from langgraph_reflexion.experiments.rows import Key, key_of
from langgraph_reflexion.testing import ModelRequest, ModelServer
from tests.support.cli import KEY, start

SECONDS = 240.0
"""Seconds that one process may last."""


@cache
def reference() -> tuple[Path, "Counter[tuple[int, str]]"]:
    """Return the folder of a run that nobody kills, and its requests; the same for all runs to kill."""
    folder = Path(tempfile.mkdtemp(prefix="reference-"))
    atexit.register(shutil.rmtree, folder)
    whole = Kills(folder)
    with whole.server:
        whole._end(whole._start(whole.killed))
    return whole.killed, Counter(map(_asked, whole.server.requests))


class Kills:
    """A run to kill.

    Args:
        folder: Where everything is written.
        more: More options of the killed run, such as `--workers 2`.
        environment: More variables of the processes' environment.
    """

    concurrency = 4

    def __init__(self, folder: Path, *more: str, environment: Mapping[str, str] = {}) -> None:
        self.killed, self.more, self.environment = folder / "killed", more, environment
        self.random = random.Random(0)
        self.server = ModelServer(faults=lambda _: time.sleep(random.uniform(0.01, 0.03)))

    def kill_drivers(self, kills: int) -> None:
        """Kill the run's process and start it again, N times; a resumed run is right at every kill."""
        self._run([self._kill_driver] * kills)

    def kill_worker_and_drivers(self, kills: int) -> None:
        """Kill one of the two workers of a run, and then the run's process, N times."""
        self._run([self._kill_worker, *[self._kill_driver] * kills])

    def _kill_driver(self, process: "subprocess.Popen[str]", wait: Callable[[], None]) -> "subprocess.Popen[str]":
        if self.random.random() < 0.9:
            wait()
        else:
            time.sleep(self.random.uniform(0, 3))  # while it starts, or restores the run
        assert process.poll() is None
        process.kill()
        process.communicate(timeout=SECONDS)
        if not holds_run(self.killed):
            return self._start(self.killed, *self.more)
        rows, expected = recorded(self.killed), recorded(reference()[0])
        assert rows == {key: expected[key] for key in rows}
        if self.random.random() < 0.5:
            return self._start(self.killed, *self.more)
        # The record has no password of the database.
        at = self.more.index("--database") if "--database" in self.more else len(self.more)
        return self._live(self.killed, "resume", ".", *self.more[at : at + 2])

    def _kill_worker(self, process: "subprocess.Popen[str]", wait: Callable[[], None]) -> "subprocess.Popen[str]":
        wait()
        while not (found := workers_in(self.killed)):
            time.sleep(0.005)
        os.kill(self.random.choice(found), signal.SIGKILL)
        return process

    def _run(self, kills: Sequence[Callable[..., "subprocess.Popen[str]"]]) -> None:
        whole, expected = reference()
        with self.server:
            sent = expected.total()
            process = self._start(self.killed, *self.more)
            for number, kill in enumerate(kills):
                low, high = (int(sent * each / (len(kills) + 1)) for each in (number, number + 1))
                moment = self.random.randint(low + 1, high)
                process = kill(process, partial(self._wait, process, moment))
            self._end(process)
            asked = Counter(map(_asked, self.server.requests))
        assert recorded(self.killed) == recorded(whole)
        lines, others = ((each / TRIALS).read_bytes().splitlines() for each in (self.killed, whole))
        assert len(lines) == len(others)
        assert set(asked) == set(expected)
        assert asked.total() - len(asked) <= len(kills) * self.concurrency

    def _wait(self, process: "subprocess.Popen[str]", requests: int) -> None:
        deadline = time.monotonic() + SECONDS
        while len(self.server.requests) < requests:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.005)

    def _start(self, home: Path, *more: str) -> "subprocess.Popen[str]":
        options = ["--option", "engine=native", "--limit", "8", "--max-trials", "2", *more]
        model = ["--model", "openai:demo", "--base-url", self.server.url]
        concurrency = ["--strategy", "reflexion", "--concurrency", str(self.concurrency)]
        return self._live(home, "run", "alfworld", *options, *model, *concurrency, "--out", ".")

    def _live(self, home: Path, *arguments: str) -> "subprocess.Popen[str]":
        home.mkdir(exist_ok=True)
        return start(home, *arguments, key=KEY, environment=self.environment)

    def _end(self, process: "subprocess.Popen[str]") -> None:
        _, errors = process.communicate(timeout=SECONDS)
        assert process.returncode == 0, errors


def recorded(folder: Path) -> dict[Key, dict[str, Any]]:
    """Return the rows of a run by task and trial, without times."""
    return {key_of(row): {**row, "seconds": 0} for row in read_run(folder).trials}


def _asked(request: ModelRequest) -> tuple[int, str]:
    return request.body["seed"], json.dumps(request.body["messages"])


def workers_in(home: Path) -> list[int]:
    """Return the process ids of the workers of the run that was started in this folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "cmdline").read_bytes().startswith(b"ray::Worker") and (entry / "cwd").readlink() == home:
                found.append(int(entry.name))
        except OSError:  # it has just ended, or belongs to another user
            continue
    return found
