"""The wall time of a run beside the bare loop's, at several concurrencies, in one process and on Ray workers.

    python -m tests.performance.throughput [--case 16 --case 64 --case 256x2] [--repeats 3]

A case is a number of tasks in flight, and of processes that share them. Each is a run of four times as many tasks, at
least 64, with one trial of 20 steps and checkpoints in SQLite. The model is a loopback server in another process that
takes half a second for each reply. A time is that of all tasks over the latency of all calls divided by the
concurrency.

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
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from langgraph_reflexion import Environment, Episode, StepResult, Task, action
from langgraph_reflexion.experiments.rows import TrialRow
from langgraph_reflexion.experiments.runner import run
from langgraph_reflexion.experiments.scheduler import Observer
from langgraph_reflexion.settings import RunSettings
from tests.support.demo_server import served

TEXT = ("You see a shelf, and on the shelf a cup, a plate and a candle. " * 9)[:500]
REPLY = f"Thought: {TEXT[:-30]}\nAction: walk 1"


class Treadmill(Episode):
    """An episode that ends after N steps."""

    observation = TEXT

    def __init__(self, steps: int) -> None:
        self.left = steps

    @action("walk {steps}")
    def walk(self, steps: Annotated[int, "how far"]) -> StepResult:
        """Walk."""
        self.left -= 1
        return StepResult(f"{self.left} steps to go. {TEXT}", reward=0.0, terminated=self.left == 0)


class Hall(Environment):
    """A hall of treadmills."""

    name = "treadmill"
    splits = ("own",)
    episode = Treadmill
    blocking = False

    def __init__(self, steps: int = 10) -> None:
        self.steps = steps

    def tasks(self, split: str | None = None, limit: int | None = None) -> Sequence[Task]:
        return [Task(id=f"walk-{number}", instruction="Walk.") for number in range(limit or 1)]

    def start(self, task: Task) -> Episode:
        return Treadmill(self.steps)


def completion(content: str) -> bytes:
    """A completion as OpenAI's servers write it."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
    usage = {"prompt_tokens": 1500, "completion_tokens": 10, "total_tokens": 1510}
    whole = {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": usage}
    return json.dumps(whole).encode()


def serve(port: Any, content: str, seconds: float) -> None:
    """Answer every request with the same completion after so many seconds, cheaply."""
    reply = completion(content)
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(reply)}\r\n\r\n"

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                header = await reader.readuntil(b"\r\n\r\n")
                length = next(line for line in header.lower().split(b"\r\n") if line.startswith(b"content-length:"))
                await reader.readexactly(int(length.split(b":")[1]))
                if seconds:
                    await asyncio.sleep(seconds)
                writer.write(head.encode() + reply)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def main() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=512)
        port.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(main())


@contextmanager
def model_server(content: str = "Action: walk 1", seconds: float = 0.0) -> Iterator[int]:
    """A model server in another process; its port.

    Args:
        content: What it always answers.
        seconds: After how long.
    """
    os.environ["LANGSMITH_TRACING"] = "false"
    with served(get_context("spawn"), serve, content, seconds) as port:
        yield port


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


class Clock(Observer):
    """Notes when a run began, and when its last trial ended."""

    def on_start(self, folder: Path, tasks: int, trials: int, played_by: str) -> None:
        self.began = time.time()

    def on_trial(self, row: TrialRow, finished: bool) -> None:
        if row["stop_reason"] != "terminated":
            raise RuntimeError(f"{row['task_id']} did not run to its end: {row['stop_reason']} {row['fault']}")
        self.ended = time.time()


def recorded_run(case: Case, url: str, steps: int) -> float:
    """Return the seconds of a run."""
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        settings = RunSettings(
            environment="tests.performance.throughput:Hall",
            options={"steps": steps},
            model="openai:m",
            base_url=url,
            limit=case.tasks,
            max_trials=1,
            strategy="retry",
            concurrency=case.concurrency,
            workers=case.workers,
        )
        run(settings, Path(folder) / "run", clock)
    return clock.ended - clock.began


def bare_loop(url: str, tasks: int, concurrency: int, steps: int) -> tuple[float, float]:
    """Return the start and the end of a loop that only calls the model."""
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
    from langchain_openai import ChatOpenAI
    from pydantic import SecretStr

    client = ChatOpenAI(model="m", base_url=url, api_key=SecretStr("none"))

    async def all_tasks() -> tuple[float, float]:
        slots = asyncio.Semaphore(concurrency)

        async def task() -> None:
            async with slots:
                messages: list[BaseMessage] = [SystemMessage(TEXT), HumanMessage(TEXT)]
                for _ in range(steps):
                    await client.ainvoke(messages, seed=1)
                    messages += [AIMessage(REPLY), HumanMessage(TEXT)]

        began = time.time()
        await asyncio.gather(*(task() for _ in range(tasks)))
        return began, time.time()

    return asyncio.run(all_tasks())


def bare_loops(case: Case, url: str, steps: int) -> float:
    """Return the seconds of bare loops that share the tasks of a case."""
    shares = case.tasks // case.workers, case.concurrency // case.workers
    with ProcessPoolExecutor(case.workers, mp_context=get_context("spawn")) as pool:
        parts = [pool.submit(bare_loop, url, *shares, steps) for _ in range(case.workers)]
        times = [part.result() for part in parts]
    return max(ended for _, ended in times) - min(began for began, _ in times)


def main() -> None:
    """Measure, and print a line for each case: the medians both ways, in turns."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", type=Case.parse, action="append", metavar="CONCURRENCY[xWORKERS]")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--latency", type=float, default=0.5)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    os.environ |= {"LANGSMITH_TRACING": "false", "OPENAI_API_KEY": "none"}
    with model_server(REPLY, options.latency) as port:
        url = f"http://127.0.0.1:{port}/v1"
        for case in options.case or [Case(16, 1), Case(64, 1), Case(256, 2)]:
            ideal = options.steps * options.latency * case.tasks / case.concurrency
            both = [
                [way(case, url, options.steps) for way in (recorded_run, bare_loops)] for _ in range(options.repeats)
            ]
            ours, bare = (statistics.median(times) / ideal for times in zip(*both, strict=True))
            print(f"{case.concurrency}x{case.workers}  run {ours:.3f}  bare {bare:.3f}  ratio {ours / bare:.2f}")


if __name__ == "__main__":
    main()
