"""What checkpoints cost: bytes in the store and CPU, per agent step, by the length of a trial.

    python -m tests.performance.checkpoint_cost [--steps 30 100 300 1000] [--games 134] [--json]

`latest` is `LatestSaver`, and `history` a stock `AsyncSqliteSaver`, which keeps the whole trajectory in every
checkpoint. A step of this trial is some 330 bytes of JSON. The CPU of one `ChatOpenAI` call is measured in the same
run; compare the ratios of one run.

With `--games N`, the demo model plays N generated household games under `reflexion` instead, without a checkpointer
and with each kind.
"""

import argparse
import asyncio
import json
import os
import statistics
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from langgraph_reflexion import Task, create_reflexion, load_environment
from langgraph_reflexion.checkpoints import Checkpoints, open_checkpointer
from langgraph_reflexion.demo import DemoChatModel
from tests.performance.graph_cost import cpu, model_calls, model_server, through_graph

KINDS: tuple[Checkpoints, ...] = ("latest", "history")


async def one_trial(kind: Checkpoints, steps: int, path: Path) -> float:
    """Return the CPU milliseconds per step of a trial, in a database of its own."""
    async with open_checkpointer(kind, path) as saver:
        return await cpu(through_graph(saver, steps), steps)


async def measure(lengths: list[int], port: int, folder: Path, repeats: int = 3) -> dict[str, Any]:
    """The medians, by kind and length, and the CPU of a call."""
    calls = model_calls(port, 30)
    await calls()
    result: dict[str, Any] = {kind: {} for kind in KINDS}
    call_samples = []
    for length in lengths:
        samples: dict[Checkpoints, list[tuple[float, float]]] = {kind: [] for kind in KINDS}
        for repeat in range(repeats):
            call_samples.append(await cpu(calls, 30))
            for kind in KINDS:
                path = folder / f"{kind}-{length}-{repeat}.db"
                milliseconds = await one_trial(kind, length, path)
                size = os.path.getsize(path)  # noqa: ASYNC240 - nothing else runs
                samples[kind].append((milliseconds, size / length))
        for kind, each in samples.items():
            result[kind][length] = {
                "ms": statistics.median(milliseconds for milliseconds, _ in each),
                "bytes": statistics.median(size for _, size in each),
            }
    return {"call_ms": statistics.median(call_samples), "kinds": result}


async def play(games: int, kind: Checkpoints | None, folder: Path) -> dict[str, float]:
    """CPU seconds and store bytes of so many tasks, eight at a time, up to 12 trials each."""
    environment = load_environment("alfworld")
    tasks = environment.tasks(limit=games)
    path = folder / f"games-{kind}.db"
    async with AsyncExitStack() as stack:
        saver = await stack.enter_async_context(open_checkpointer(kind, path)) if kind else None
        graph = create_reflexion(DemoChatModel(), environment).compile(checkpointer=saver)
        slots = asyncio.Semaphore(8)

        async def one(task: Task) -> dict[str, Any]:
            async with slots:
                return await graph.ainvoke({"task": task}, {"configurable": {"thread_id": task["id"]}})

        begin = time.process_time()
        finals = await asyncio.gather(*(one(task) for task in tasks))
        seconds = time.process_time() - begin
    environment.close()
    size = os.path.getsize(path) if kind else 0  # noqa: ASYNC240 - nothing else runs
    return {"seconds": seconds, "bytes": size, "solved": sum(final["status"] == "solved" for final in finals)}


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, nargs="+", default=[30, 100, 300, 1000])
    parser.add_argument("--games", type=int)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.games:
        with tempfile.TemporaryDirectory() as folder:
            played = {kind or "none": asyncio.run(play(options.games, kind, Path(folder))) for kind in (None, *KINDS)}
        print(json.dumps(played, indent=None if options.json else 2))
        return
    with model_server() as port, tempfile.TemporaryDirectory() as folder:
        result = asyncio.run(measure(options.steps, port, Path(folder)))
    if options.json:
        print(json.dumps(result))
        return
    print(f"one ChatOpenAI call: {result['call_ms']:.2f} ms of CPU\n")
    print(f"{'':10}{'steps':>7}{'bytes/step':>12}{'ms/step':>9}{'of a call':>11}")
    for kind, lengths in result["kinds"].items():
        for length, cost in lengths.items():
            ratio = cost["ms"] / result["call_ms"]
            print(f"{kind:10}{length:>7}{cost['bytes']:>12,.0f}{cost['ms']:>9.2f}{ratio:>11.2f}")


if __name__ == "__main__":
    main()
