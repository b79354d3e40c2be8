"""What a run costs: its wall time beside a plain LangGraph graph and a bare loop, and CPU time without a model.

    python -m tests.support.throughput [--at-once 256 --workers 2]

For the wall time, a run has four times as many tasks as are in flight, one trial of 20 steps each, and checkpoints
in SQLite. The plain graph has two nodes, a list of messages and LangGraph's own saver for SQLite, and records
nothing; the bare loop only sends as many requests. Both are one process. The model is a server on loopback, in a
process of its own, that answers after half a second. For the CPU time, 1,000 tasks are answered at once by a
function, and by a graph of one node. Compare the ratios of one run: machines differ.
"""

import argparse
import asyncio
import contextlib
import json
import multiprocessing
import os
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Annotated, Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from openai import DefaultAsyncHttpxClient
from pydantic import SecretStr

from langgraph_reflexion import Environment, Episode, StepResult, Task, action
from langgraph_reflexion.lab.experiments.runner import run
from langgraph_reflexion.lab.experiments.runs import read_run
from langgraph_reflexion.lab.run_settings import RunSettings

STEPS, SECONDS, TASKS = 20, 0.5, 1000
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


def _answer(state: MessagesState) -> dict[str, Any]:
    return {"messages": [AIMessage("Paris")]}


async def function(task: str) -> str:
    return "Paris"


graph = StateGraph(MessagesState).add_node("answer", _answer).set_entry_point("answer").compile()


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


def recorded_run(url: str, tasks: int, at_once: int, workers: int) -> None:
    """Walk in a run."""
    environment, model = "tests.support.throughput:Hall", {"model": "openai:m", "base_url": url}
    settings = RunSettings(environment=environment, limit=tasks, max_trials=1, strategy="retry", **model)
    run(settings.model_copy(update={"concurrency": at_once, "workers": workers}), "run")
    assert [row["stop_reason"] for row in read_run(Path("run")).trials] == ["terminated"] * tasks


def plain_graph(url: str, tasks: int, at_once: int) -> None:
    """Walk in a graph of two nodes over a list of messages."""

    async def walks() -> None:
        async with client_of(url) as client, AsyncSqliteSaver.from_conn_string("plain.db") as saver:

            async def act(state: MessagesState) -> dict[str, list[AIMessage]]:
                return {"messages": [await client.ainvoke(state["messages"])]}

            def observe(state: MessagesState) -> dict[str, list[HumanMessage]]:
                return {"messages": [HumanMessage(TEXT)]}

            def following(state: MessagesState) -> str:
                return "act" if len(state["messages"]) < 2 + 2 * STEPS else END

            builder = StateGraph(MessagesState).add_node("act", act).add_node("observe", observe)
            builder.add_edge(START, "act").add_edge("act", "observe").add_conditional_edges("observe", following)
            compiled = builder.compile(checkpointer=saver)

            async def walk(number: int) -> None:
                config = RunnableConfig(configurable={"thread_id": str(number)}, recursion_limit=100)
                await compiled.ainvoke({"messages": [SystemMessage(TEXT), HumanMessage(TEXT)]}, config)

            await in_flight(walk, range(tasks), at_once)

    asyncio.run(walks())


def bare_loop(url: str, tasks: int, at_once: int) -> None:
    """Call the model as often, with neither graph nor checkpoint."""

    async def walks() -> None:
        async with client_of(url) as client:

            async def walk(number: int) -> None:
                messages: list[BaseMessage] = [SystemMessage(TEXT), HumanMessage(TEXT)]
                for _ in range(STEPS):
                    await client.ainvoke(messages)
                    messages.extend([AIMessage(REPLY), HumanMessage(TEXT)])

            await in_flight(walk, range(tasks), at_once)

    asyncio.run(walks())


@contextlib.asynccontextmanager
async def client_of(url: str) -> AsyncIterator[ChatOpenAI]:
    """Return a client with connections of its own: all event loops of a process share the default ones."""
    async with DefaultAsyncHttpxClient() as http:
        yield ChatOpenAI(model="m", base_url=url, api_key=SecretStr("none"), http_async_client=http)


async def in_flight(call: Callable[[Any], Any], tasks: Sequence[Any], at_once: int = 64) -> None:
    """Call a function for every task, `at_once` at a time."""
    slots = asyncio.Semaphore(at_once)

    async def one(task: Any) -> None:
        async with slots:
            await call(task)

    await asyncio.gather(*map(one, tasks))


def cost(clock: Callable[[], float], work: Callable[..., Any], *given: Any) -> float:
    """Return the seconds of a clock for a piece of work, in a folder of its own."""
    with tempfile.TemporaryDirectory() as home, contextlib.chdir(home):
        lines = [json.dumps({"task": f"The capital of France, the {n}th?", "answer": "Paris"}) for n in range(TASKS)]
        Path("tasks.jsonl").write_text("\n".join(lines))
        began = clock()
        work(*given)
        return clock() - began


def main() -> None:
    """Print the wall times as multiples of the waits for the model, and the CPU times per task."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--at-once", type=int, action="append")
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    os.environ |= {"LANGSMITH_TRACING": "false", "OPENAI_API_KEY": "none"}
    here, there = multiprocessing.get_context("spawn").Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(there,), daemon=True)
    server.start()
    url = f"http://127.0.0.1:{here.recv()}/v1"
    for at_once in options.at_once or [16, 64]:
        given = (url, 4 * at_once, at_once)
        run_ = cost(time.perf_counter, recorded_run, *given, options.workers) / (STEPS * SECONDS * 4)
        plain, bare = (
            cost(time.perf_counter, way, *given) / (STEPS * SECONDS * 4) for way in (plain_graph, bare_loop)
        )
        print(f"{at_once} at once, in waits for the model: run {run_:.3f}, plain graph {plain:.3f}, bare {bare:.3f};")
        print(f"    run beside plain graph {run_ / plain:.2f}, run beside bare loop {run_ / bare:.2f}", flush=True)
    server.terminate()
    if options.at_once:
        return
    calls = {"function": function, "graph": lambda task: graph.ainvoke({"messages": [("user", task)]})}
    for name, call in calls.items():
        environment = {"environment": f"tests.support.throughput:{name}", "options": {"tasks": "tasks.jsonl"}}
        settings = RunSettings(**environment, evaluator="exact", strategy="retry", concurrency=64)
        cost(time.process_time, run, settings.model_copy(update={"limit": 1}), "run")  # loads what a run imports
        in_run = cost(time.process_time, run, settings, "run") / TASKS
        alone = cost(time.process_time, lambda call=call: asyncio.run(in_flight(call, ["Paris?"] * TASKS))) / TASKS
        print(f"{name}: {in_run * 1000:.2f} ms of CPU per task in a run, {alone * 1000:.2f} ms alone")


if __name__ == "__main__":
    main()
