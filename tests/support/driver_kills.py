"""A run whose driver is killed with SIGKILL at random moments and resumed, compared with the reference run.

Afterwards both must have recorded the same, except times: no trial twice, none missing, and every row that was there
at a kill was right. At most one request per kill and task in flight may be repeated, and none may be new.

A kill counts if it hit a process that had sent a request. Some hit earlier, while a process starts or restores the
run. Each life of the run is a fork of one process that has done the imports, which take longer than the lives do.
"""

import multiprocessing
import os
import random
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from langgraph_reflexion.experiments.record import holds_run
from tests.support.demo_server import Request, demo_server, read_requests
from tests.support.reference_run import command, differences, new_or_repeated, recorded

PRELOADED = ["langgraph_reflexion.experiments.runner", "langgraph_reflexion.experiments.progress", "langchain_openai"]
EARLY = 0.1
"""Share of the processes that are killed before they have sent a request."""
ANSWER_SECONDS = 0.01
"""Mean seconds that the model takes to answer."""
LIFE_SECONDS = 180.0
"""Seconds that one process may last."""


@dataclass
class Outcome:
    """What the kills did: N processes killed at work, N trials recorded at each kill, and what must not happen."""

    kills: int = 0
    kept: list[int] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)


class DriverKills:
    """Runs, kills, resumes and compares.

    Args:
        folder: Where everything is written.
        tasks: N tasks.
        more: More options of the killed runs, such as `--workers 2`.
    """

    def __init__(self, folder: Path, *, tasks: int, more: tuple[str, ...] = ()) -> None:
        self.folder, self.more = folder, more
        self.size = {"tasks": tasks, "trials": 2, "concurrency": 4}
        self.random = random.Random(0)
        self.requests = folder / "requests.jsonl"
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(PRELOADED)
        self.outcome = Outcome()
        self._lives = 0

    def run(self, kills: int) -> Outcome:
        """Kill N processes at work, and compare what is left."""
        with demo_server(self.context, self.requests, ANSWER_SECONDS) as url:
            reference = self.folder / "reference"
            began = time.perf_counter()
            if not self._live("reference", command(url, str(reference), **self.size), killed=False):
                return self.outcome
            # So that a run ends after about as many lives as there are kills.
            self.longest = 1.5 * (time.perf_counter() - began) / kills
            self.reference = recorded(reference)
            runs = 0
            while self.outcome.kills < kills and not self.outcome.violations:
                runs += 1
                self._killed(self.folder / f"killed-{runs}", url, kills)
        return self.outcome

    def _killed(self, folder: Path, url: str, kills: int) -> None:
        """Kill one run until enough kills are done, and then let it finish."""
        first, before, done = self._lives + 1, self.outcome.kills, False
        while not done and not self.outcome.violations:
            self._lives += 1
            again = holds_run(folder) and self.random.random() < 0.5
            arguments = ["resume", str(folder)] if again else [*command(url, str(folder), **self.size), *self.more]
            done = self._live(f"life {self._lives}", arguments, killed=self.outcome.kills < kills)
            if not done and holds_run(folder):
                rows = recorded(folder)
                self.outcome.kept.append(len(rows))
                wrong = [key for key, row in rows.items() if row != self.reference.get(key)]
                self.outcome.violations += [f"at a kill, {key} differs" for key in wrong]
        if not self.outcome.violations:
            self.outcome.violations += differences(folder, self.folder / "reference")
            asked = self._asked(*(f"life {number}" for number in range(first, self._lives + 1)))
            most = (self.outcome.kills - before) * self.size["concurrency"]
            self.outcome.violations += new_or_repeated(asked, self._asked("reference"), most)

    def _live(self, life: str, arguments: list[str], *, killed: bool) -> bool:
        """Run one process. Returns whether it finished."""
        log = self.folder / "output.log"
        process = self.context.Process(target=_command_line, args=(arguments, life, str(log)))
        seen = self.requests.stat().st_size
        process.start()
        if killed and self.random.random() < EARLY:
            process.join(self.random.uniform(0, 0.3))
            process.kill()
        elif killed:
            while process.is_alive() and self.requests.stat().st_size == seen:
                process.join(0.002)
            process.join(self.random.uniform(0, self.longest))
            process.kill()
        process.join(LIFE_SECONDS)
        if process.exitcode is None:
            process.kill()
            process.join()
            self.outcome.violations.append(f"{life} hung: {' '.join(arguments)}")
        elif process.exitcode > 0:
            last = log.read_text(encoding="utf-8", errors="replace").splitlines()[-3:]
            self.outcome.violations.append(f"{life} ended with status {process.exitcode}: {' / '.join(last)}")
        elif process.exitcode < 0:
            self.outcome.kills += bool(self._asked(life))
        return process.exitcode == 0

    def _asked(self, *lives: str) -> list[Request]:
        return [request for request in read_requests(self.requests) if request.life in lives]


def _command_line(arguments: list[str], life: str, log: str) -> None:
    from langgraph_reflexion.cli import main

    # The client sends it with every request, so that the server knows which life it came from.
    os.environ["OPENAI_PROJECT_ID"] = life
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for descriptor in (1, 2):
        os.dup2(output, descriptor)
    sys.argv = ["langgraph-reflexion", *arguments]
    main()
