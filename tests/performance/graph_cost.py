"""What the graph itself costs: CPU per agent step, beside a bare loop and one call of a real model client.

    python -m tests.performance.graph_cost [--steps 30] [--repeats 7] [--json]

A step is act, observe and heuristic_check, prompt building and reply parsing included; the model answers at once and
the environment does nothing. The call beside it is `ChatOpenAI.ainvoke` with 12 messages (6 KB) to a server in
another process. All variants run in turns, repeatedly, and the median of each is taken: compare the ratios of one
run, since machines differ and are noisy.
"""

import argparse
import asyncio
import gc
import json
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from langgraph_reflexion import Environment, Episode, StepResult, Task, action, create_reflexion
from langgraph_reflexion.checkpoints import LatestSaver
from tests.support.demo_server import served

OBSERVATION = "On the shelf you see a cup, a plate and a candle. " * 2
THOUGHT = "There is nothing of use here, so I go on to the next place. " * 2
CALL = [HumanMessage("x" * 512) for _ in range(12)]


class Treadmill(Episode):
    """An episode in which nothing comes of anything."""

    observation = OBSERVATION

    @action("walk {steps}")
    def walk(self, steps: Annotated[int, "how far"]) -> StepResult:
        """Walk."""
        return StepResult(f"{OBSERVATION}{steps}", reward=0.0)


class Gym(Environment):
    """The environment of the treadmill."""

    name = "treadmill"
    splits = ("own",)
    episode = Treadmill
    blocking = False

    def tasks(self, split: str | None = None, limit: int | None = None) -> Sequence[Task]:
        """One task."""
        return [Task(id="walk", instruction="Walk.")]

    def start(self, task: Task) -> Episode:
        """Step on."""
        return Treadmill()


class Instant(Runnable[Any, AIMessage]):
    """A model that costs nothing and never says the same twice."""

    count = 0

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AIMessage:
        """Answer at once."""
        self.count += 1
        return AIMessage(f"Thought: {THOUGHT}\nAction: walk {self.count}")

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AIMessage:
        """Answer at once."""
        return self.invoke(input)


async def bare_loop(steps: int) -> None:
    """The same steps without a graph: what a person would write in ten lines."""
    model, episode = Instant(), Treadmill()
    trajectory: list[dict[str, str]] = []
    for _ in range(steps):
        reply = (await model.ainvoke(CALL)).text
        thought, _, act = reply.partition("\nAction: ")
        result = episode.walk(int(act.split()[1]))
        trajectory.append({"thought": thought, "action": act, "observation": result.observation})


def through_graph(saver: Any, steps: int) -> Callable[[], Awaitable[None]]:
    """One trial of so many steps through the graph."""
    environment = Gym()
    graph = create_reflexion(
        Instant(),  # type: ignore[arg-type]
        environment,
        max_trials=1,
        heuristic=lambda trajectory: "end" if len(trajectory) >= steps else None,
    ).compile(checkpointer=saver)
    threads = iter(range(1_000_000))

    async def run() -> None:
        config = RunnableConfig(recursion_limit=10 * steps + 50)
        if saver is not None:
            config["configurable"] = {"thread_id": (thread := str(next(threads)))}
        await graph.ainvoke({"task": environment.tasks()[0]}, config)
        if isinstance(saver, InMemorySaver):
            # What it keeps would slow down the garbage collector in every other variant.
            saver.delete_thread(thread)

    return run


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
    with served(multiprocessing.get_context("spawn"), serve, content, seconds) as port:
        yield port


def model_calls(port: int, number: int) -> Callable[[], Awaitable[None]]:
    """So many calls of a model client, one after the other: what a step is measured against."""
    from langchain_openai import ChatOpenAI
    from pydantic import SecretStr

    client = ChatOpenAI(model="m", base_url=f"http://127.0.0.1:{port}/v1", api_key=SecretStr("none"))

    async def calls() -> None:
        for _ in range(number):
            await client.ainvoke(CALL)

    return calls


async def cpu(run: Callable[[], Awaitable[Any]], steps: int) -> float:
    """CPU milliseconds per step."""
    gc.collect()
    begin = time.process_time()
    await run()
    return (time.process_time() - begin) * 1000 / steps


async def measure(steps: int, repeats: int, port: int, folder: Path) -> dict[str, float]:
    """The median CPU time per step of every variant."""
    async with AsyncExitStack() as stack:
        naive = await stack.enter_async_context(AsyncSqliteSaver.from_conn_string(str(folder / "naive.db")))
        latest = stack.enter_context(LatestSaver.open(folder / "latest.db"))
        variants: dict[str, Callable[[], Awaitable[Any]]] = {
            "ChatOpenAI call": model_calls(port, steps),
            "bare loop": lambda: bare_loop(steps),
        }
        savers = {
            "no checkpointer": None,
            "in memory": InMemorySaver(),
            "SQLite, latest": latest,
            "SQLite, stock": naive,
        }
        for name, saver in savers.items():
            variants[f"graph, {name}"] = through_graph(saver, steps)
        for run in variants.values():
            await run()
        samples: dict[str, list[float]] = {name: [] for name in variants}
        for _ in range(repeats):
            for name, run in variants.items():
                samples[name].append(await cpu(run, steps))
    return {name: statistics.median(each) for name, each in samples.items()}


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with model_server() as port, tempfile.TemporaryDirectory() as folder:
        result = asyncio.run(measure(options.steps, options.repeats, port, Path(folder)))
    reference = result["ChatOpenAI call"]
    if options.json:
        print(json.dumps({name: {"ms": ms, "ratio": ms / reference} for name, ms in result.items()}))
        return
    print(f"{'CPU per step':<26}{'ms':>8}{'of a call':>11}")
    for name, ms in result.items():
        print(f"{name:<26}{ms:>8.3f}{ms / reference:>11.2f}")


if __name__ == "__main__":
    main()
