"""What a run costs: its time beside a plain LangGraph graph and a bare loop, and CPU time without a model.

    python -m tests.support.throughput [--at-once 64 --at-once 256] [--repeats 5] [--rounds 4] [--workers 2]

A run has four times as many tasks as are in flight, one trial of 20 steps each, and checkpoints in SQLite. The plain
graph has two nodes, a list of messages and LangGraph's own saver for SQLite, and records nothing; the bare loop only
sends as many requests. Both are one process. The model is a server on loopback, in a process of its own, that answers
after half a second. The three take turns, five times, and what is printed last is the median of each: the wall time,
in waits for the model, and the CPU time of this process for a step, which counts no worker's. CPU time depends less
on what else the machine does, and `--rounds 1` is enough for it. Then 1,000 tasks are answered at once by a function,
and by a graph of one node. Compare the ratios of one run: machines differ.
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
from statistics import median
from typing import Annotated, Any, NamedTuple

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


class Cost(NamedTuple):
    """What a piece of work has taken."""

    wall: float
    """Seconds."""
    cpu: float
    """Seconds of all threads of this process."""


def cost(work: Callable[..., Any], *given: Any) -> Cost:
    """Return what a piece of work takes, in a folder of its own."""
    with tempfile.TemporaryDirectory() as home, contextlib.chdir(home):
        lines = [json.dumps({"task": f"The capital of France, the {n}th?", "answer": "Paris"}) for n in range(TASKS)]
        Path("tasks.jsonl").write_text("\n".join(lines))
        began, worked = time.perf_counter(), time.process_time()
        work(*given)
        return Cost(time.perf_counter() - began, time.process_time() - worked)


def with_model(url: str, at_once: int, options: argparse.Namespace) -> None:
    """Print what the run, the plain graph and the bare loop cost, in turn, and the median of each."""
    tasks = options.rounds * at_once
    waits = options.rounds * STEPS * SECONDS
    ways: dict[str, Callable[[], Cost]] = {
        "bare": lambda: cost(bare_loop, url, tasks, at_once),
        "plain": lambda: cost(plain_graph, url, tasks, at_once),
        "run": lambda: cost(recorded_run, url, tasks, at_once, options.workers),
    }
    costs: dict[str, list[Cost]] = {way: [] for way in ways}
    print(f"{at_once} at once: wall time in waits for the model, and ms of CPU a step")
    for number in range(1, options.repeats + 1):
        for way, measure in ways.items():
            took = measure()
            costs[way].append(Cost(took.wall / waits, took.cpu / tasks / STEPS * 1000))
        print(f"    {number}: {_in_words({way: each[-1] for way, each in costs.items()})}", flush=True)
    middle = {way: _median(each) for way, each in costs.items()}
    print(f"    median: {_in_words(middle)}")
    for other in ("plain", "bare"):
        # Of neighbours, as the machine may have become slower meanwhile.
        ratios = [
            Cost(mine.wall / theirs.wall, mine.cpu / theirs.cpu)
            for mine, theirs in zip(costs["run"], costs[other], strict=True)
        ]
        ratio = _median(ratios)
        print(f"    run beside {other}, median of the ratios: wall {ratio.wall:.2f}, CPU {ratio.cpu:.2f}", flush=True)


def _median(costs: Sequence[Cost]) -> Cost:
    return Cost(median(each.wall for each in costs), median(each.cpu for each in costs))


def _in_words(costs: dict[str, Cost]) -> str:
    return ", ".join(f"{way} {each.wall:.3f} and {each.cpu:.2f} ms" for way, each in costs.items())


def without_model(repeats: int) -> None:
    """Print the CPU time of tasks that ask no model, in a run and alone."""
    calls = {"function": function, "graph": lambda task: graph.ainvoke({"messages": [("user", task)]})}
    for name, call in calls.items():
        environment = {"environment": f"tests.support.throughput:{name}", "options": {"tasks": "tasks.jsonl"}}
        settings = RunSettings(**environment, evaluator="exact", strategy="retry", concurrency=64)
        cost(run, settings.model_copy(update={"limit": 1}), "run")  # loads what a run imports
        in_run = [cost(run, settings, "run").cpu / TASKS for _ in range(repeats)]
        alone = cost(lambda call=call: asyncio.run(in_flight(call, ["Paris?"] * TASKS))).cpu / TASKS
        print(f"{name}: {median(in_run) * 1000:.2f} ms of CPU a task in a run, {alone * 1000:.2f} ms alone")


def main() -> None:
    """Print what a run costs with a model, and without one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--at-once", type=int, action="append", help="tasks in flight (16 and 64)")
    parser.add_argument("--repeats", type=int, default=5, help="how often each is measured (%(default)s)")
    parser.add_argument("--rounds", type=int, default=4, help="tasks for each in flight (%(default)s)")
    parser.add_argument("--workers", type=int, default=1, help="processes of the run (%(default)s)")
    options = parser.parse_args()
    os.environ |= {"LANGSMITH_TRACING": "false", "OPENAI_API_KEY": "none"}
    here, there = multiprocessing.get_context("spawn").Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(there,), daemon=True)
    server.start()
    url = f"http://127.0.0.1:{here.recv()}/v1"
    for work in (bare_loop, plain_graph):
        cost(work, url, 1, 1)  # loads what it imports
    cost(recorded_run, url, 1, 1, 1)
    for at_once in options.at_once or [16, 64]:
        with_model(url, at_once, options)
    server.terminate()
    if not options.at_once:
        without_model(options.repeats)


if __name__ == "__main__":
    main()
