"""Is anything lost when a run is killed? It is, with SIGKILL at random moments, and goes on each time.

    python -m tests.crash.kill_test [--kills 100] [--tasks 20] [--postgres] [--json]

A run of ALFWorld tasks under `reflexion`, whose model is behind a loopback server that records every request, is
done twice: in peace, and killed again and again, gone on with by `resume DIR` or the same `run ... --out DIR`.
Afterwards both must have recorded the same, times apart: no trial twice, none missing, and at every kill all rows
that were there were right.
Of the requests at most one per kill and task in flight may have been repeated, and none may be new.

A kill counts when it hit a process that had asked the model something. Now and then one is killed while it is still
starting or taking the run up again, and these are counted beside. Exit status 1 means that something was lost. Runs
where processes can be forked (not on Windows): each life of the run is a fork of one process that has done the
imports, which take longer than the lives do.
"""

import argparse
import json
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path

from langgraph_reflexion.experiments.record import holds_run, read_run
from langgraph_reflexion.experiments.rows import key_of
from tests.crash.demo_server import Request, demo_server, read_requests
from tests.crash.postgres_server import postgres_server
from tests.crash.reference_run import command, differences, recorded, timeless
from tests.crash.request_log import check_requests, tasks_by_seed

PRELOADED = [
    "langgraph_reflexion.experiments.runner",
    "langgraph_reflexion.experiments.terminal",
    "langchain_openai",
    "langchain",
]
AT_START_UP = 0.1
"""How often a process is killed before it has asked the model anything."""
PATIENCE = 120.0
"""How many seconds a life may last."""


@dataclass
class Outcome:
    """What was seen.

    Attributes:
        kills: How often a run at work was killed.
        start_up_kills: How often one was killed before it had asked anything.
        runs: How many runs that took.
        tasks: How many tasks each of them had.
        trials: How many trials.
        requests: How many requests the server got of the killed runs.
        repeated: How many of these had been sent before.
        repeated_tasks: Of how many tasks at most a request was repeated after one kill.
        kept_trials: How many trials were recorded at the kills, on average.
        seconds: How long it all took.
        violations: What must not be.
    """

    kills: int = 0
    start_up_kills: int = 0
    runs: int = 0
    tasks: int = 0
    trials: int = 0
    requests: int = 0
    repeated: int = 0
    repeated_tasks: int = 0
    kept_trials: float = 0.0
    seconds: float = 0.0
    violations: list[str] = field(default_factory=list)


class KillTest:
    """Does the runs and compares them.

    Args:
        folder: Where everything is written.
        tasks: How many tasks.
        trials: At most so many trials per task.
        concurrency: How many tasks at once.
        seconds: How long the model takes to answer, on average.
        seed: Draws the moments of the kills.
        more: More options of the run, such as `--database URL`.
    """

    def __init__(
        self,
        folder: Path,
        *,
        tasks: int = 20,
        trials: int = 4,
        concurrency: int = 4,
        seconds: float = 0.02,
        seed: int = 0,
        more: list[str] | None = None,
    ) -> None:
        self.folder = folder
        self.tasks, self.trials, self.concurrency, self.seconds = tasks, trials, concurrency, seconds
        self.more = more or []
        self.random = random.Random(seed)
        self.requests = folder / "requests.jsonl"
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(PRELOADED)
        self.outcome = Outcome()
        self._kept: list[int] = []
        self._lives = 0
        self._at_work = 0.0  # how long the last life has lasted from its first request on

    def run(self, kills: int) -> Outcome:
        """Kill so often, and see what is left.

        Args:
            kills: How many processes at work are killed, in all.
        """
        started = time.perf_counter()
        with demo_server(self.context, self.requests, self.seconds) as url:
            peace = self.folder / "peace"
            if not self._live("peace", self._command(peace, url), None):
                return self.outcome
            self.reference = recorded(peace)
            # So that a run gets done in about as many lives as there are kills, half of them to spare.
            self.longest = 1.5 * self._at_work / max(kills, 1)
            self.outcome.trials = len(self.reference)
            self.outcome.tasks = len(read_run(peace).info["tasks"])
            self._calls = tasks_by_seed(read_run(peace).info["tasks"], self.trials)
            self._expect_requests([each for each in self._asked() if each.life == "peace"], "peace")
            while self.outcome.kills < kills and not self.outcome.violations:
                self.outcome.runs += 1
                self._killed(self.folder / f"killed-{self.outcome.runs}", url, kills)
        self.outcome.kept_trials = round(sum(self._kept) / len(self._kept), 1) if self._kept else 0.0
        self.outcome.seconds = round(time.perf_counter() - started, 1)
        return self.outcome

    def _killed(self, folder: Path, url: str, kills: int) -> None:
        """Kill one run until enough kills are done, and then let it come to its end."""
        first = self._lives + 1
        done = False
        while not done and not self.outcome.violations:
            self._lives += 1
            again = holds_run(folder) and self.random.random() < 0.5
            arguments = ["resume", str(folder)] if again else self._command(folder, url)
            done = self._live(f"life {self._lives}", arguments, kills)
            if not done and holds_run(folder):
                self._expect_kept(folder)
        if self.outcome.violations:
            return
        self.outcome.violations += [f"{folder.name}: {what}" for what in differences(folder, self.folder / "peace")]
        names = [f"life {number}" for number in range(first, self._lives + 1)]
        self._expect_requests([each for each in self._asked() if each.life in names], folder.name)

    def _command(self, folder: Path, url: str) -> list[str]:
        amounts = {"tasks": self.tasks, "trials": self.trials, "concurrency": self.concurrency}
        return [*command(url, str(folder), **amounts), *self.more]

    def _live(self, life: str, arguments: list[str], kills: int | None) -> bool:
        """One process, which is killed as long as there are kills to do. Returns whether it came to its end."""
        log = self.folder / "output.log"
        process = self.context.Process(target=_command_line, args=(arguments, life, str(log)))
        process.start()
        deadline = time.perf_counter() + PATIENCE
        early = self.random.random() < AT_START_UP
        killed = kills is not None and self.outcome.kills < kills
        if killed and early:
            process.join(self.random.uniform(0, 0.3))
        else:
            seen = self.requests.stat().st_size
            while process.is_alive() and self.requests.stat().st_size == seen and time.perf_counter() < deadline:
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
            self._violation(f"{life} hung: {' '.join(arguments)}")
        elif process.exitcode > 0:
            last = log.read_text(encoding="utf-8", errors="replace").splitlines()[-3:]
            told = f"{' '.join(arguments)}: {' / '.join(last)}"
            self._violation(f"{life} ended with status {process.exitcode}: {told}")
        elif process.exitcode < 0:
            at_work = any(request.life == life for request in self._asked())
            self.outcome.kills += at_work
            self.outcome.start_up_kills += not at_work
        return process.exitcode == 0

    def _expect_kept(self, folder: Path) -> None:
        """Every row that is there when a process has been killed is one of the run in peace."""
        rows = read_run(folder).trials
        self._kept.append(len(rows))
        for row in rows:
            if timeless(row) != self.reference.get(key_of(row)):
                self._violation(f"at kill {self.outcome.kills}, trial {row['trial']} of {row['task_id']} differs")

    def _expect_requests(self, requests: list[Request], name: str) -> None:
        peace = [request for request in self._asked() if request.life == "peace"]
        check = check_requests(requests, peace, self._calls, self.concurrency)
        self.outcome.violations += [f"{name}: {what}" for what in check.violations]
        self.outcome.repeated += check.repeated
        self.outcome.repeated_tasks = max(self.outcome.repeated_tasks, check.repeated_tasks)
        if name != "peace":
            self.outcome.requests += len(requests)

    def _asked(self) -> Iterator[Request]:
        yield from read_requests(self.requests)

    def _violation(self, what: str) -> None:
        self.outcome.violations.append(what)


def _command_line(arguments: list[str], life: str, log: str) -> None:
    """A process of the run: the command line, its output to a file."""
    from langgraph_reflexion.cli import main

    # The client sends it with every request: so the server knows which life it came from.
    os.environ["OPENAI_PROJECT_ID"] = life
    os.environ["LANGSMITH_TRACING"] = "false"
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for descriptor in (1, 2):
        os.dup2(output, descriptor)
    sys.argv = ["langgraph-reflexion", *arguments]
    main()


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n\n")[0])
    parser.add_argument("--kills", type=int, default=100, help="of processes at work (100)")
    parser.add_argument("--tasks", type=int, default=20, help="of the run (20)")
    parser.add_argument("--trials", type=int, default=4, help="at most so many per task (4)")
    parser.add_argument("--concurrency", type=int, default=4, help="so many tasks at once (4)")
    parser.add_argument("--workers", type=int, default=1, help="so many processes, which die with their driver (1)")
    parser.add_argument("--milliseconds", type=float, default=20.0, help="that the model takes to answer (20)")
    parser.add_argument("--seed", type=int, default=0, help="draws the moments of the kills (0)")
    parser.add_argument("--checkpoints", default="latest", help="latest or history (latest)")
    parser.add_argument("--database", metavar="URL", help="Postgres instead of a file of the run folder")
    parser.add_argument("--postgres", action="store_true", help="the same, on a server that is started for it")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        database = stack.enter_context(postgres_server()) if args.postgres else args.database
        outcome = KillTest(
            Path(folder),
            tasks=args.tasks,
            trials=args.trials,
            concurrency=args.concurrency,
            seconds=args.milliseconds / 1000,
            seed=args.seed,
            more=[
                *("--checkpoints", args.checkpoints, "--workers", str(args.workers)),
                *(["--database", database] if database else []),
            ],
        ).run(args.kills)
    for name, value in asdict(outcome).items():
        if not args.json and name != "violations":
            print(f"{name.replace('_', ' '):16}{value}")
    print(json.dumps(asdict(outcome), indent=2) if args.json else "\n".join(outcome.violations) or "nothing lost")
    sys.exit(1 if outcome.violations else 0)


if __name__ == "__main__":
    main()
