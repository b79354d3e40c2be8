"""The wall time of a run beside those of a plain LangGraph graph and of a bare loop, over LangChain's `ChatOpenAI`.

    python -m tests.support.throughput [--at-once 16 --at-once 64]

A run has four times as many tasks as are in flight, one trial of 20 steps each, and its checkpoints in SQLite. The
plain graph has two nodes, a list of messages and LangGraph's own saver for SQLite, and records nothing. The bare loop
sends as many requests, and has neither graph nor checkpoint. The model is a server on loopback, in a process of its
own, that answers after half a second. Compare the ratios of one run: machines differ.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Annotated

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
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


def plain_graph(url: str, tasks: int, at_once: int) -> float:
    """Return the seconds of a graph of two nodes over a list of messages."""

    async def walks(client: ChatOpenAI, folder: str) -> None:
        async def act(state: MessagesState) -> dict[str, list[AIMessage]]:
            return {"messages": [await client.ainvoke(state["messages"])]}

        def observe(state: MessagesState) -> dict[str, list[HumanMessage]]:
            return {"messages": [HumanMessage(TEXT)]}

        def following(state: MessagesState) -> str:
            return "act" if len(state["messages"]) < 2 + 2 * STEPS else END

        builder = StateGraph(MessagesState).add_node("act", act).add_node("observe", observe)
        builder.add_edge(START, "act").add_edge("act", "observe").add_conditional_edges("observe", following)
        async with AsyncSqliteSaver.from_conn_string(f"{folder}/checkpoints.db") as saver:
            graph = builder.compile(checkpointer=saver)

            async def walk(number: int) -> None:
                config = RunnableConfig(configurable={"thread_id": str(number)}, recursion_limit=100)
                await graph.ainvoke({"messages": [SystemMessage(TEXT), HumanMessage(TEXT)]}, config)

            await in_flight(walk, tasks, at_once)

    with tempfile.TemporaryDirectory() as folder:
        return timed(url, lambda client: walks(client, folder))


def bare_loop(url: str, tasks: int, at_once: int) -> float:
    """Return the seconds of a loop that only calls the model."""

    async def walks(client: ChatOpenAI) -> None:
        async def walk(number: int) -> None:
            messages: list[BaseMessage] = [SystemMessage(TEXT), HumanMessage(TEXT)]
            for _ in range(STEPS):
                await client.ainvoke(messages)
                messages.extend([AIMessage(REPLY), HumanMessage(TEXT)])

        await in_flight(walk, tasks, at_once)

    return timed(url, walks)


async def in_flight(walk: Callable[[int], Awaitable[None]], tasks: int, at_once: int) -> None:
    """Walk every task, `at_once` at a time."""
    slots = asyncio.Semaphore(at_once)

    async def task(number: int) -> None:
        async with slots:
            await walk(number)

    await asyncio.gather(*(task(number) for number in range(tasks)))


def timed(url: str, walks: Callable[[ChatOpenAI], Awaitable[None]]) -> float:
    """Return the seconds of all walks."""

    async def connected() -> None:
        # A client of its own: the default one is shared by all event loops of a process.
        async with DefaultAsyncHttpxClient() as http:
            await walks(ChatOpenAI(model="m", base_url=url, api_key=SecretStr("none"), http_async_client=http))

    began = time.perf_counter()
    asyncio.run(connected())
    return time.perf_counter() - began


def main() -> None:
    """Measure all three in turns, and print two lines for each number of tasks at once."""
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
        ways = (recorded_run, plain_graph, bare_loop)
        run_, graph, bare = (way(url, 4 * at_once, at_once) / ideal for way in ways)
        print(f"{at_once} at once, in waits for the model: run {run_:.3f}, plain graph {graph:.3f}, bare {bare:.3f};")
        print(f"    run beside plain graph {run_ / graph:.2f}, run beside bare loop {run_ / bare:.2f}")
    server.terminate()


if __name__ == "__main__":
    main()
