"""The wall time of a run beside a bare loop's over LangChain's plain `ChatOpenAI`.

    python -m tests.support.throughput [--at-once 16 --at-once 64]

A run has four times as many tasks as are in flight, one trial of 20 steps each, and its checkpoints in SQLite. The
bare loop sends as many requests, and has neither graph nor checkpoint nor record. The model is a server on loopback,
in a process of its own, that answers after half a second. Compare the ratios of one run: machines differ.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import tempfile
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Annotated

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI
from openai import DefaultAsyncHttpxClient
from pydantic import SecretStr

from langgraph_reflexion import Environment, Episode, StepResult, Task, action
from langgraph_reflexion.experiments.record import read_run
from langgraph_reflexion.experiments.runner import run
from langgraph_reflexion.settings import RunSettings

STEPS, SECONDS = 20, 0.5
TEXT = "You see a shelf, and on the shelf a cup, a plate and a candle. " * 8
REPLY = f"Thought: {TEXT}\nAction: walk 1"


class Walk(Episode):
    """An episode that ends after `STEPS` steps."""

    observation = TEXT
    left = STEPS

    @action("walk {steps}")
    def walk(self, steps: Annotated[int, "how far"]) -> StepResult:
        """Walk."""
        self.left -= 1
        return StepResult(f"{self.left} steps to go. {TEXT}", 0.0, terminated=self.left == 0)


class Hall(Environment):
    """Walks of the same length."""

    name = "hall"
    splits = ("all",)
    episode = Walk
    blocking = False

    def tasks(self, split: str | None = None, limit: int | None = None) -> Sequence[Task]:
        return [Task(id=f"walk-{number}", instruction="Walk.") for number in range(limit or 1)]

    def start(self, task: Task) -> Walk:
        return Walk()


def serve(port: Connection) -> None:
    """Answer every request with the same completion."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": REPLY}}
    usage = {"prompt_tokens": 1500, "completion_tokens": 10, "total_tokens": 1510}
    body = json.dumps(
        {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": usage}
    )
    reply = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while header := await reader.readuntil(b"\r\n\r\n"):
                if header.startswith(b"GET"):  # a question about the server, not a call
                    writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
                    continue
                length = next(line for line in header.lower().split(b"\r\n") if line.startswith(b"content-length:"))
                await reader.readexactly(int(length.split(b":")[1]))
                await asyncio.sleep(SECONDS)
                writer.write(reply)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def main() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=512)
        port.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(main())


def recorded_run(url: str, tasks: int, at_once: int) -> float:
    """Return the seconds of a run."""
    with tempfile.TemporaryDirectory() as folder:
        settings = RunSettings(
            environment="tests.support.throughput:Hall",
            model="openai:m",
            base_url=url,
            limit=tasks,
            max_trials=1,
            strategy="retry",
            concurrency=at_once,
        )
        began = time.perf_counter()
        run(settings, Path(folder) / "run")
        seconds = time.perf_counter() - began
        assert [row["stop_reason"] for row in read_run(Path(folder) / "run").trials] == ["terminated"] * tasks
    return seconds


def bare_loop(url: str, tasks: int, at_once: int) -> float:
    """Return the seconds of a loop that only calls the model."""
    async def all_tasks() -> None:
        # A client of its own: the default one is shared by all event loops of a process.
        http = DefaultAsyncHttpxClient()
        client = ChatOpenAI(model="m", base_url=url, api_key=SecretStr("none"), http_async_client=http)
        slots = asyncio.Semaphore(at_once)

        async def task() -> None:
            async with slots:
                messages: list[BaseMessage] = [SystemMessage(TEXT), HumanMessage(TEXT)]
                for _ in range(STEPS):
                    await client.ainvoke(messages)
                    messages += [AIMessage(REPLY), HumanMessage(TEXT)]

        await asyncio.gather(*(task() for _ in range(tasks)))
        await http.aclose()

    began = time.perf_counter()
    asyncio.run(all_tasks())
    return time.perf_counter() - began


def main() -> None:
    """Measure both in turns, and print a line for each number of tasks at once."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--at-once", type=int, action="append")
    options = parser.parse_args()
    os.environ |= {"LANGSMITH_TRACING": "false", "OPENAI_API_KEY": "none"}
    here, there = multiprocessing.get_context("spawn").Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(there,), daemon=True)
    server.start()
    url = f"http://127.0.0.1:{here.recv()}/v1"
    for at_once in options.at_once or [16, 64]:
        ideal = STEPS * SECONDS * 4
        ours, bare = (way(url, 4 * at_once, at_once) for way in (recorded_run, bare_loop))
        print(f"{at_once} at once: run {ours / ideal:.3f}, bare loop {bare / ideal:.3f}, ratio {ours / bare:.2f}")
    server.terminate()


if __name__ == "__main__":
    main()
