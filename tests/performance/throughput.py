"""The wall time of a run beside the bare loop's, at several concurrencies, in one process and on Ray workers.

    python -m tests.performance.throughput [--case 16 --case 64 --case 256x2] [--repeats 3] [--json]

A case is a number of tasks in flight, and of processes that share them. Each is a run of four times as many tasks, at
least 64, with one trial of 20 steps and checkpoints in SQLite. The model is a loopback server in another process that
takes half a second for each reply. `task` is the mean wall time of a task over the latency of its calls; `whole` is
the time from the first task's start to the last one's end over the latency of all calls divided by the concurrency.

In turns with it, as many tasks in as many processes send such requests in a bare loop over LangChain's plain
`ChatOpenAI`, which has neither graph nor checkpoint nor record. Compare the ratios of one run: machines differ.
"""

import argparse
import asyncio
import json
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from langgraph_reflexion import Environment, Episode, StepResult, Task, action
from langgraph_reflexion.experiments.rows import TrialRow
from langgraph_reflexion.experiments.runner import run
from langgraph_reflexion.experiments.scheduler import Observer
from langgraph_reflexion.settings import RunSettings
from tests.performance.graph_cost import model_server

LENGTH = 500
"""Characters of each message, about."""


def text_of(begins: str) -> str:
    """Return a text of the usual length."""
    return (begins + " You see a shelf, and on the shelf a cup, a plate and a candle." * LENGTH)[:LENGTH]


REPLY = f"Thought: {text_of('Nothing is of use here.')[:-30]}\nAction: walk 1"


class Treadmill(Episode):
    """An episode that ends after N steps."""

    def __init__(self, steps: int) -> None:
        self.observation = text_of("You stand on a treadmill.")
        self.left = steps

    @action("walk {steps}")
    def walk(self, steps: Annotated[int, "how far"]) -> StepResult:
        """Walk."""
        self.left -= 1
        return StepResult(text_of(f"There are {self.left} steps to go."), reward=0.0, terminated=self.left == 0)


class Hall(Environment):
    """A hall of treadmills. Each trial adds a line to `log` when it starts: its task and the time."""

    name = "treadmill"
    splits = ("own",)
    episode = Treadmill
    blocking = False

    def __init__(self, log: str, steps: int = 10) -> None:
        self.steps, self.log = steps, Path(log)

    def tasks(self, split: str | None = None, limit: int | None = None) -> Sequence[Task]:
        return [Task(id=f"walk-{number}", instruction="Walk.") for number in range(limit or 1)]

    def start(self, task: Task) -> Episode:
        with self.log.open("a") as file:
            file.write(f"{task['id']} {time.time()}\n")
        return Treadmill(self.steps)


class Case(NamedTuple):
    """N tasks in flight over N processes."""

    concurrency: int
    workers: int

    @classmethod
    def parse(cls, text: str) -> "Case":
        """Read a case such as `64` or `256x2`."""
        concurrency, _, workers = text.partition("x")
        return cls(int(concurrency), int(workers or 1))

    @property
    def tasks(self) -> int:
        """N tasks of the run."""
        return max(64, 4 * self.concurrency)


class Times(NamedTuple):
    """Wall times over the ideal."""

    task: float
    whole: float


class Clock(Observer):
    """Notes when each task ended."""

    def __init__(self) -> None:
        self.ended: dict[str, float] = {}

    def on_trial(self, row: TrialRow, finished: bool) -> None:
        if row["stop_reason"] != "terminated":
            raise RuntimeError(f"{row['task_id']} did not run to its end: {row['stop_reason']} {row['fault']}")
        self.ended[row["task_id"]] = time.time()


def recorded_run(case: Case, url: str, steps: int) -> list[tuple[float, float]]:
    """Return the start and the end of each task of a run."""
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "starts"
        settings = RunSettings(
            environment="tests.performance.throughput:Hall",
            options={"steps": steps, "log": str(log)},
            model="openai:m",
            base_url=url,
            limit=case.tasks,
            max_trials=1,
            strategy="retry",
            concurrency=case.concurrency,
            workers=case.workers,
        )
        run(settings, Path(folder) / "run", clock)
        starts = dict(line.split() for line in log.read_text().splitlines())
    return [(float(starts[task]), ended) for task, ended in clock.ended.items()]


def bare_loop(url: str, tasks: int, concurrency: int, steps: int) -> list[tuple[float, float]]:
    """Return the start and the end of each task of a loop that only calls the model."""
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
    from langchain_openai import ChatOpenAI
    from pydantic import SecretStr

    client = ChatOpenAI(model="m", base_url=url, api_key=SecretStr("none"))

    async def all_tasks() -> list[tuple[float, float]]:
        slots = asyncio.Semaphore(concurrency)

        async def task() -> tuple[float, float]:
            async with slots:
                began = time.time()
                messages: list[BaseMessage] = [SystemMessage(text_of("You walk.")), HumanMessage(text_of("Walk."))]
                for _ in range(steps):
                    await client.ainvoke(messages, seed=1)
                    messages += [AIMessage(REPLY), HumanMessage(text_of("Observation: some steps to go."))]
                return began, time.time()

        return await asyncio.gather(*(task() for _ in range(tasks)))

    return asyncio.run(all_tasks())


def bare_loops(case: Case, url: str, steps: int) -> list[tuple[float, float]]:
    """Return the times of bare loops that share the tasks of a case."""
    shares = case.tasks // case.workers, case.concurrency // case.workers
    with ProcessPoolExecutor(case.workers, mp_context=get_context("spawn")) as pool:
        parts = [pool.submit(bare_loop, url, *shares, steps) for _ in range(case.workers)]
        return [each for part in parts for each in part.result()]


def measure(case: Case, port: int, steps: int, latency: float, repeats: int) -> dict[str, Times]:
    """Return the medians of a case both ways, in turns."""
    url, ideal = f"http://127.0.0.1:{port}/v1", steps * latency
    seen: dict[str, list[Times]] = {"run": [], "bare": []}
    for _ in range(repeats):
        for name, way in (("run", recorded_run), ("bare", bare_loops)):
            times = way(case, url, steps)
            whole = max(ended for _, ended in times) - min(began for began, _ in times)
            task = statistics.mean(ended - began for began, ended in times)
            seen[name].append(Times(task / ideal, whole / (ideal * len(times) / case.concurrency)))
    return {name: Times._make(map(statistics.median, zip(*each, strict=True))) for name, each in seen.items()}


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", type=Case.parse, action="append", metavar="CONCURRENCY[xWORKERS]")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--latency", type=float, default=0.5)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    os.environ |= {"LANGSMITH_TRACING": "false", "OPENAI_API_KEY": "none"}
    results: dict[str, Any] = {}
    with model_server(REPLY, options.latency) as port:
        for case in options.case or [Case(16, 1), Case(64, 1), Case(256, 2)]:
            found = measure(case, port, options.steps, options.latency, options.repeats)
            ratio = found["run"].whole / found["bare"].whole
            name = f"{case.concurrency}x{case.workers}"
            results[name] = {way: times._asdict() for way, times in found.items()} | {"ratio": ratio}
            if not options.json:
                columns = [f"{way}: task {each.task:.3f}, whole {each.whole:.3f}" for way, each in found.items()]
                print(f"{name:<8}{'   '.join(columns)}   ratio {ratio:.2f}", flush=True)
    if options.json:
        print(json.dumps(results))


if __name__ == "__main__":
    main()
