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

from langgraph_reflexion.experiments.record import holds_run, read_run
from langgraph_reflexion.experiments.rows import key_of
from tests.support.demo_server import Request, demo_server, read_requests
from tests.support.reference_run import command, differences, recorded, timeless
from tests.support.request_log import check_requests, tasks_by_seed

PRELOADED = [
    "langgraph_reflexion.experiments.runner",
    "langgraph_reflexion.experiments.terminal",
    "langchain_openai",
    "langchain",
]
EARLY = 0.1
"""Share of the processes that are killed before they have sent a request."""
LIFE_SECONDS = 180.0
"""Seconds that one process may last."""


@dataclass
class Outcome:
    """What the kills did.

    Attributes:
        kills: N processes killed at work.
        kept: N trials recorded at each kill.
        repeated: N requests that were sent again.
        violations: What must not happen.
    """

    kills: int = 0
    kept: list[int] = field(default_factory=list)
    repeated: int = 0
    violations: list[str] = field(default_factory=list)


class DriverKills:
    """Runs, kills, resumes and compares.

    Args:
        folder: Where everything is written.
        tasks: N tasks.
        trials: N trials that a task may have.
        concurrency: N tasks in flight.
        seconds: Mean seconds that the model takes to answer.
        more: More options of the killed runs, such as `--workers 2`.
    """

    def __init__(
        self,
        folder: Path,
        *,
        tasks: int = 20,
        trials: int = 3,
        concurrency: int = 4,
        seconds: float = 0.005,
        more: tuple[str, ...] = (),
    ) -> None:
        self.folder, self.more = folder, more
        self.tasks, self.trials, self.concurrency, self.seconds = tasks, trials, concurrency, seconds
        self.random = random.Random(0)
        self.requests = folder / "requests.jsonl"
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(PRELOADED)
        self.outcome = Outcome()
        self._lives = 0
        self._at_work = 0.0  # seconds from the last life's first request on

    def run(self, kills: int) -> Outcome:
        """Kill N processes at work, and compare what is left."""
        with demo_server(self.context, self.requests, self.seconds) as url:
            reference = self.folder / "reference"
            if not self._live("reference", self._command(reference, url), killed=False):
                return self.outcome
            self.reference = recorded(reference)
            # So that a run ends after about as many lives as there are kills.
            self.longest = 1.5 * self._at_work / kills
            self._task_of = tasks_by_seed(read_run(reference).info["tasks"], self.trials)
            self._check_requests(["reference"])
            runs = 0
            while self.outcome.kills < kills and not self.outcome.violations:
                runs += 1
                self._killed(self.folder / f"killed-{runs}", url, kills)
        return self.outcome

    def _killed(self, folder: Path, url: str, kills: int) -> None:
        """Kill one run until enough kills are done, and then let it finish."""
        first, done = self._lives + 1, False
        while not done and not self.outcome.violations:
            self._lives += 1
            again = holds_run(folder) and self.random.random() < 0.5
            arguments = ["resume", str(folder)] if again else [*self._command(folder, url), *self.more]
            done = self._live(f"life {self._lives}", arguments, killed=self.outcome.kills < kills)
            if not done and holds_run(folder):
                self._check_rows(folder)
        if not self.outcome.violations:
            self.outcome.violations += differences(folder, self.folder / "reference")
            self._check_requests([f"life {number}" for number in range(first, self._lives + 1)])

    def _command(self, folder: Path, url: str) -> list[str]:
        return command(url, str(folder), tasks=self.tasks, trials=self.trials, concurrency=self.concurrency)

    def _live(self, life: str, arguments: list[str], *, killed: bool) -> bool:
        """Run one process. Returns whether it finished."""
        log = self.folder / "output.log"
        process = self.context.Process(target=_command_line, args=(arguments, life, str(log)))
        seen = self.requests.stat().st_size
        process.start()
        deadline = time.perf_counter() + LIFE_SECONDS
        early = killed and self.random.random() < EARLY
        if early:
            process.join(self.random.uniform(0, 0.3))
        while not early and process.is_alive() and self.requests.stat().st_size == seen:
            process.join(0.002)
        began = time.perf_counter()
        if killed:
            process.join(0 if early else self.random.uniform(0, self.longest))
            process.kill()
        process.join(max(deadline - time.perf_counter(), 1))
        self._at_work = time.perf_counter() - began
        if process.exitcode is None:
            process.kill()
            process.join()
            self.outcome.violations.append(f"{life} hung: {' '.join(arguments)}")
        elif process.exitcode > 0:
            last = log.read_text(encoding="utf-8", errors="replace").splitlines()[-3:]
            self.outcome.violations.append(f"{life} ended with status {process.exitcode}: {' / '.join(last)}")
        elif process.exitcode < 0:
            self.outcome.kills += bool(self._asked([life]))
        return process.exitcode == 0

    def _check_rows(self, folder: Path) -> None:
        rows = read_run(folder).trials
        self.outcome.kept.append(len(rows))
        for row in rows:
            if timeless(row) != self.reference.get(key_of(row)):
                self.outcome.violations.append(f"at a kill, trial {row['trial']} of {row['task_id']} differs")

    def _check_requests(self, lives: list[str]) -> None:
        check = check_requests(self._asked(lives), self._asked(["reference"]), self._task_of, self.concurrency)
        self.outcome.violations += check.violations
        self.outcome.repeated += check.repeated

    def _asked(self, lives: list[str]) -> list[Request]:
        return [request for request in read_requests(self.requests) if request.life in lives]


def _command_line(arguments: list[str], life: str, log: str) -> None:
    from langgraph_reflexion.cli import main

    # The client sends it with every request, so that the server knows which life it came from.
    os.environ["OPENAI_PROJECT_ID"] = life
    os.environ["LANGSMITH_TRACING"] = "false"
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for descriptor in (1, 2):
        os.dup2(output, descriptor)
    sys.argv = ["langgraph-reflexion", *arguments]
    main()
