"""How long recalling lessons takes, from a SQLite store of N lessons.

    python -m tests.performance.recall_speed [--lessons 100 1000 10000] [--recalls 20] [--json]

The lessons are generated, with words as frequent as in running text (Zipf's law), each with one source and one use.
A recall reads all records and builds the search index. Times are CPU times of the process: medians, 95th percentiles.
"""

import argparse
import asyncio
import json
import time
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from random import Random
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import Any

from langgraph_reflexion.memory.records import LessonSource, LessonText, LessonUse, Record
from langgraph_reflexion.memory.store import LessonStore, open_lessons
from tests.performance.corpus_speed import vocabulary

WORDS = 20_000
"""Words of the vocabulary."""
DATE = "2026-01-01T00:00:00.000000+00:00"


class Writer:
    """Generates tasks, and lessons from them: the same every time."""

    def __init__(self) -> None:
        self.random = Random("recall speed")
        self.words = vocabulary(Random("recall speed"))[:WORDS]
        self.frequency = list(accumulate(1 / rank for rank in range(1, WORDS + 1)))

    def text(self, words: int) -> str:
        """Generate a text."""
        return " ".join(self.random.choices(self.words, cum_weights=self.frequency, k=words))

    def task(self) -> dict[str, str]:
        """Generate a task."""
        return {"kind": self.words[self.random.randrange(6)], "instruction": self.text(12)}

    def records(self, lessons: int) -> Iterator[Record]:
        """Generate lessons, each with a source and a use."""
        for number in range(lessons):
            text, task = self.text(45), self.task()
            lesson = LessonText(text=text, about=f"{task['kind']}\n{task['instruction']}\n{text}")
            yield lesson
            yield self.source(text, task, f"t{number}").model_copy(update={"lesson": lesson.key()})
            used: dict[str, Any] = {"kind": task["kind"], "task": f"u{number}", "trial": 1, "run": "", "date": DATE}
            yield LessonUse(lessons=[lesson.key()], success=self.random.random() < 0.5, **used)

    def source(self, text: str, task: dict[str, str], name: str) -> LessonSource:
        """Generate the source of a lesson."""
        shown = {"observation": self.text(25), "evidence": self.text(15), "date": DATE}
        return LessonSource(text=text, outcome="failure", task=name, trial=1, step=1, **task, **shown)


async def measure(lessons: int, recalls: int) -> dict[str, float]:
    """Return the times of a store by name."""
    writer = Writer()
    with TemporaryDirectory() as folder:
        async with open_lessons(Path(folder, "lessons.db")) as opened:
            store = LessonStore(opened, "speed")
            begin = time.process_time()
            await store.add(writer.records(lessons))
            result = {"lessons": float(lessons), "written, s": time.process_time() - begin}
            await _recall(store, writer)  # imports
            spent = [await _recall(store, writer) for _ in range(recalls)]
            result |= {"recall, ms": median(spent), "recall, ms (95 %)": quantiles(spent, n=20)[-1]}
            begin = time.process_time()
            await store.learn(writer.source(writer.text(45), writer.task(), "new"))
            result["learn, ms"] = 1000 * (time.process_time() - begin)
    return result


async def _recall(store: LessonStore, writer: Writer) -> float:
    """Return the milliseconds of a recall for another task."""
    task, observation = writer.task(), writer.text(25)
    begin = time.process_time()
    found = await store.recall(task, observation, 3, lambda lesson: False)
    spent = time.process_time() - begin
    assert len(found) == 3
    return spent * 1000


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lessons", type=int, nargs="+", default=[100, 1000, 10_000])
    parser.add_argument("--recalls", type=int, default=20)
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
