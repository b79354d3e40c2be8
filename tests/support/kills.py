"""Runs whose driver or workers are killed with SIGKILL at random moments, compared with a reference run.

They record the same, except times, even where each process continues in a folder of another name. No request is new,
and at most one is repeated per kill and task in flight.
"""

import json
import os
import random
import signal
import time
from collections import Counter
from functools import partial
from pathlib import Path

from langgraph_reflexion.lab.experiments.rows import key_of
from langgraph_reflexion.lab.experiments.run_files import SENT, TRIALS
from langgraph_reflexion.lab.experiments.runs import holds_run, read_run
from tests.support.cli import KEY, start
from tests.support.model_server import ModelServer

SECONDS, CONCURRENCY = 240.0, 4
"""Seconds that one process may last, and tasks in flight."""


class Kills:
    """A run to kill, with more options such as `--workers 2`, and the same run, which nobody kills."""

    def __init__(self, folder, *more, reference=None, environment=None):
        self.folder, self.more, self.environment = folder / "run", more, environment
        self.whole = reference or self
        self.random = random.Random(0)
        self.server = ModelServer(faults=lambda _: time.sleep(random.uniform(0.01, 0.03)))

    def kill_drivers(self, kills):
        """Kill the run's process and start it again, N times; a resumed run is right at every kill."""
        self.run([self._kill_driver] * kills)

    def kill_worker_and_drivers(self, kills):
        """Kill one of the two workers of a run, and then the run's process, N times."""
        self.run([self._kill_worker, *[self._kill_driver] * kills])

    def run(self, kills=()):
        """Run to the end, with these kills, and compare with the reference."""
        self.folder.mkdir()
        with self.server:
            process = self._start()
            for number, kill in enumerate(kills):
                sent = len(self.whole.server.requests)
                low, high = (int(sent * each / (len(kills) + 1)) for each in (number, number + 1))
                moment = self.random.randint(low + 1, high)
                process = kill(process, partial(self._wait, process, moment))
            _, errors = process.communicate(timeout=SECONDS)
            assert process.returncode == 0, errors
        assert recorded(self.folder) == recorded(self.whole.folder)
        for file in (TRIALS, SENT):
            lines, others = ((each.folder / file).read_bytes().splitlines() for each in (self, self.whole))
            assert len(lines) == len(others) > 0
        asked, expected = (Counter(map(_asked, each.server.requests)) for each in (self, self.whole))
        assert set(asked) == set(expected)
        assert asked.total() - len(asked) <= len(kills) * CONCURRENCY

    def _kill_driver(self, process, wait):
        if self.random.random() < 0.9:
            wait()
        else:
            time.sleep(self.random.uniform(0, 3))  # while it starts, or restores the run
        assert process.poll() is None
        process.kill()
        process.communicate(timeout=SECONDS)
        if "--workers" not in self.more:  # which end a little later
            self.folder = self.folder.rename(self.folder.with_name(f"{self.folder.name}-moved"))
        if not holds_run(self.folder):
            return self._start()
        rows, expected = recorded(self.folder), recorded(self.whole.folder)
        assert rows == {key: expected[key] for key in rows}
        if self.random.random() < 0.5:
            return self._start()
        # The record has no password of the database.
        at = self.more.index("--database") if "--database" in self.more else len(self.more)
        return self._live("resume", ".", *self.more[at : at + 2])

    def _kill_worker(self, process, wait):
        wait()
        while not (found := workers_in(self.folder)):
            time.sleep(0.005)
        os.kill(self.random.choice(found), signal.SIGKILL)
        return process

    def _wait(self, process, requests):
        deadline = time.monotonic() + SECONDS
        while len(self.server.requests) < requests:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.005)

    def _start(self):
        options = ["--option", "engine=native", "--limit", "8", "--max-trials", "2", "--strategy", "reflexion"]
        model = ["--model", "openai:demo", "--base-url", self.server.url, "--concurrency", str(CONCURRENCY)]
        return self._live("run", "alfworld", *options, *self.more, *model, "--out", ".")

    def _live(self, *arguments):
        return start(self.folder, *arguments, key=KEY, environment=self.environment)


def recorded(folder):
    """Return the rows of a run by task and trial, without times and with the model calls."""
    run = read_run(folder)
    rows = [row for task in run.tasks for row in run.whole_trials(task)]
    return {key_of(row): {**row, "seconds": 0, "sent": run.calls(key_of(row))} for row in rows}


def _asked(request):
    return request.body["seed"], json.dumps(request.body["messages"])


def workers_in(home):
    """Return the process ids of the workers of the run that was started in this folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "cmdline").read_bytes().startswith(b"ray::Worker") and (entry / "cwd").readlink() == home:
                found.append(int(entry.name))
        except OSError:  # it has just ended, or belongs to another user
            continue
    return found
