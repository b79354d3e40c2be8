"""How long recalling lessons takes, from a SQLite store of so many.

    python -m tests.performance.recall_speed [--lessons 100 1000 10000] [--recalls 100] [--json]

The lessons are generated, with words as frequent as in running text (Zipf's law), each taught by one task and told to
one. Recalls are those of a store in which nothing has changed, and of one in which another process has written since,
so that all of it is read again and the index is built anew. Times are wall time, medians and 95th percentiles; memory
is what Python has allocated for the lessons and their index, without the arrays of numbers, which are counted beside.
"""

import argparse
import asyncio
import gc
import importlib
import json
import time
import tracemalloc
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from random import Random
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import Any

from langgraph_reflexion.memory.bank import Bank
from langgraph_reflexion.memory.items import LessonItem, Part, item_key
from langgraph_reflexion.memory.opening import open_lessons
from tests.performance.corpus_speed import vocabulary

WORDS = 20_000
"""How many words there are."""
DATE = "2026-01-01T00:00:00.000000+00:00"


class Writer:
    """Writes tasks, and lessons from them: the same every time."""

    def __init__(self) -> None:
        self.random = Random("recall speed")
        self.words = vocabulary(Random("recall speed"))[:WORDS]
        self.frequency = list(accumulate(1 / rank for rank in range(1, WORDS + 1)))

    def text(self, words: int) -> str:
        """So many words."""
        return " ".join(self.random.choices(self.words, cum_weights=self.frequency, k=words))

    def task(self) -> dict[str, str]:
        """A task as it is recalled for."""
        return {"kind": self.words[self.random.randrange(6)], "instruction": self.text(12)}

    def items(self, lessons: int) -> Iterator[tuple[Part, dict[str, Any]]]:
        """So many lessons, each with a source and a use."""
        for number in range(lessons):
            text, task = self.text(45), self.task()
            about = f"{task['kind']}\n{task['instruction']}\n{text}"
            lesson = LessonItem(text=text, about=about)
            name = item_key("lessons", lesson)
            yield "lessons", dict(lesson)
            ran: dict[str, Any] = {"task": f"t{number}", "trial": 1, "run": "generated", "date": DATE}
            made = {"profile": "paper", "model": "none", "step": 1, "evidence": self.text(15)}
            seen = {"observation": self.text(25), "outcome": "failure"}
            yield "sources", {"lesson": name, "text": text, **task, **ran, **made, **seen}
            told = self.random.random() < 0.5
            yield "uses", {"lessons": [name], "success": told, "kind": task["kind"], **ran, "task": f"u{number}"}


async def measure(lessons: int, recalls: int) -> dict[str, float]:
    """Everything about a store of so many lessons, by name."""
    writer = Writer()
    # What is imported late is no lesson's.
    importlib.import_module("langgraph_reflexion.memory.index")
    with TemporaryDirectory() as folder:
        path = Path(folder, "lessons.db")
        async with open_lessons(path) as store:
            begin = time.perf_counter()
            await Bank(store, "speed").add(writer.items(lessons))
            result = {"lessons": float(lessons), "written, s": time.perf_counter() - begin}
            bank = Bank(store, "speed")
            gc.collect()
            tracemalloc.start()
            await _recall(bank, writer)
            gc.collect()
            result["memory, MB"] = tracemalloc.get_traced_memory()[0] / 1e6
            tracemalloc.stop()
            spent = [await _recall(bank, writer) for _ in range(recalls)]
            result |= {"recall, ms": median(spent), "recall, ms (95 %)": quantiles(spent, n=20)[-1]}
            other, spent = Bank(store, "speed"), []
            for number in range(5):
                source = {"date": DATE, "run": "other", "task": f"o{number}", "trial": 1, "step": 0, "evidence": ""}
                source |= {**writer.task(), "observation": "", "outcome": "success", "profile": "", "model": ""}
                await other.learn(writer.text(45), source, f"other {number}")
                spent.append(await _recall(bank, writer))
            result["recall after a change, ms"] = median(spent)
    return result


async def _recall(bank: Bank, writer: Writer) -> float:
    """How many milliseconds it takes to recall something for another task."""
    task, observation = writer.task(), writer.text(25)
    begin = time.perf_counter()
    found = await bank.recall(task, observation, 3, lambda lesson: False)
    spent = time.perf_counter() - begin
    assert len(found) == 3
    return spent * 1000


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lessons", type=int, nargs="+", default=[100, 1000, 10_000])
    parser.add_argument("--recalls", type=int, default=100)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    results = [asyncio.run(measure(lessons, options.recalls)) for lessons in options.lessons]
    if options.json:
        print(json.dumps(results))
        return
    for name in results[0]:
        print(f"{name:<28}" + "".join(f"{each[name]:>12,.{0 if name == 'lessons' else 2}f}" for each in results))


if __name__ == "__main__":
    main()
