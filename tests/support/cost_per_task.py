"""CPU time of a task of a trivial agent: in a run, and in a bare `asyncio.gather`.

python -m tests.support.cost_per_task --tasks 1000 --at-once 64
"""

import argparse
import asyncio
import contextlib
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.graph import MessagesState, StateGraph

from langgraph_reflexion.experiments import run
from langgraph_reflexion.settings import RunSettings


def _answer(state: MessagesState) -> dict[str, Any]:
    return {"messages": [AIMessage("Paris")]}


async def function(task: str) -> str:
    return "Paris"


graph = StateGraph(MessagesState).add_node("answer", _answer).set_entry_point("answer").compile()


async def bare(call: Callable[[str], Any], tasks: list[str], at_once: int) -> None:
    slots = asyncio.Semaphore(at_once)

    async def one(task: str) -> None:
        async with slots:
            await call(task)

    await asyncio.gather(*map(one, tasks))


def cost(work: Callable[[], Any], tasks: int) -> float:
    began = time.process_time()
    work()
    return (time.process_time() - began) / tasks * 1000


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--at-once", type=int, default=64)
    given = parser.parse_args()
    tasks = [f"The capital of France, for the {number}th time?" for number in range(given.tasks)]
    calls = {"function": function, "graph": lambda task: graph.ainvoke({"messages": [("user", task)]})}
    with tempfile.TemporaryDirectory() as home, contextlib.chdir(home):
        Path("tasks.jsonl").write_text(
            "".join(json.dumps({"task": each, "answer": "Paris"}) + "\n" for each in tasks)
        )
        for name, call in calls.items():
            settings = RunSettings(
                environment=f"{__spec__.name}:{name}",
                options={"tasks": "tasks.jsonl"},
                evaluator="exact",
                strategy="retry",
                concurrency=given.at_once,
            )
            run(settings.model_copy(update={"limit": 1}), f"first-{name}")  # loads what a run imports
            in_run = cost(lambda settings=settings, name=name: run(settings, name), given.tasks)  # type: ignore[misc]
            alone = cost(lambda call=call: asyncio.run(bare(call, tasks, given.at_once)), given.tasks)  # type: ignore[misc]
            size = sum(each.stat().st_size for each in os.scandir(name)) / given.tasks / 1000
            print(f"{name}: {in_run:.2f} ms in a run, {alone:.2f} ms alone; {size:.1f} kB on disk")


if __name__ == "__main__":
    main()
